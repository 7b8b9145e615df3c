#include "actors/node_guard.hpp"

#include "actors/device_messages.hpp"
#include "actors/shell.hpp"
#include "actors/status_messages.hpp"
#include "protocol/membership.hpp"
#include "protocol/path_choice.hpp"
#include "protocol/rank_group.hpp"

#include <caf/io/middleman.hpp>
#include <map>
#include <set>
#include <sstream>
#include <utility>

namespace baton::actors {

namespace {

using namespace protocol;

const std::uint32_t message_version = hello{}.version;
constexpr std::int64_t connect_retry_ms = 50;     // while the cluster comes together
constexpr std::int64_t reconnect_retry_ms = 1000; // to a peer that was lost, or its channel
/// The kernel closes the connections of a process that ends just before it says that it is dead.
constexpr std::int64_t death_wait_ms = 200;

class node_guard_actor : public shell {
public:
  node_guard_actor(caf::actor_config& config, node_context& node, guard_setup setup,
                   bool use_network)
    : shell(config, node, "node_guard"), setup_(std::move(setup)), use_network_(use_network) {
    for (const auto& other : setup_.others)
      expected_[other.name] = other;
    for (const auto& each : nodes(node.cluster)) {
      if (each.name == node.name)
        break;
      before_.insert(each.name);
    }
  }

  caf::behavior make_behavior() override {
    setup_.own.node = self_handle();
    node().peers.set({node().name, node().life, setup_.own});
    set_down_handler([this](const caf::down_msg& down) { peer_down(down.source); });
    if (use_network_)
      for (const auto& name : before_)
        connect(name);
    send_later(node().cluster.heartbeat_ms, tick{});
    if (setup_.own.router)
      record_path();
    auto* self = this;
    return caf::behavior{
      [self](const message_header& header, hello& e, const std::vector<handle>& handles) {
        self->greet(header, e, handles);
      },
      handler<peer_found>(self), handler<connect_due>(self), handler<heartbeat>(self),
      handler<channel_ready>(self), handler<channel_failed>(self), handler<channel_due>(self),
      handler<ask_router>(self), handler<ask_status>(self),
      handler<join_heard>(self), handler<tick>(self), handler<end_node>(self),
      handler<process_died>(self), handler<process_reaped>(self), handler<watch_refused>(self),
      handler<connection_judged>(self)};
  }

  /// Handles name each other in circles; an actor that has ended holds none.
  void on_exit() override {
    setup_.own = {};
    met_.clear();
  }

  void on_message(const message_header&, const handle& guard, peer_found&) {
    send_hello(guard, false);
  }

  void on_message(const message_header&, const handle&, connect_due& e) { connect(e.node); }

  void on_message(const message_header&, const handle&, join_heard&) { join_ = join_phase::heard; }

  void on_message(const message_header&, const handle&, heartbeat& e) {
    const auto it = met_.find(e.node);
    if (it == met_.end() && expected_.count(e.node) > 0)
      send_hello(sender(), false); // it has met us, and thinks that we have met it
    if (it != met_.end() && it->second.life == e.life)
      it->second.seen = node().clock();
  }

  void on_message(const message_header&, const handle&, channel_ready& e) {
    if (e.error) {
      channel_lost(e.peer, e.error);
      return;
    }
    if (channels_said_.erase(e.peer) > 0)
      setup_.say(node().name.value + ": the channel to " + e.peer.value + " is up again");
    channels_[e.peer] = e.path;
    join_if_ready();
  }

  void on_message(const message_header&, const handle&, channel_failed& e) {
    channel_lost(e.peer, e.error);
  }

  void on_message(const message_header&, const handle&, channel_due& e) {
    const auto it = met_.find(e.node);
    if (it != met_.end() && it->second.life == e.life && channels_.count(e.node) == 0)
      prepare_channel(e.node, it->second);
  }

  void on_message(const message_header&, const handle&, ask_router&) {
    send_to(sender(), router_is{message_version, node().cluster.name, node().run_id},
            setup_.own.router);
  }

  /// The router's guard asks all; every node answers the asker itself.
  void on_message(const message_header&, const handle& asker, ask_status&) {
    if (setup_.own.router)
      for (const auto& [name, peer] : met_)
        send_to(peer.guard, ask_status{}, asker);
    if (node().trace)
      node().trace->flush();
    send_to(asker, status());
    send_to(setup_.own.pool, ask_status{}, asker);
  }

  void on_message(const message_header&, const handle&, tick&) {
    const instant t = node().clock();
    std::vector<std::pair<node_name, incarnation>> silent;
    for (const auto& [name, peer] : met_) {
      send_to(peer.guard, heartbeat{node().name, node().life});
      if (ms_between(peer.seen, t) > node().cluster.peer_timeout_ms)
        silent.emplace_back(name, peer.life);
    }
    for (const auto& [name, life] : silent)
      lose(name, life, "silent for " + std::to_string(node().cluster.peer_timeout_ms) + " ms");
    if (use_network_)
      for (const auto& name : before_)
        if (met_.count(name) == 0 && connecting_.count(name) == 0)
          connect(name);
    if (join_ == join_phase::said)
      say_joined();
    send_later(node().cluster.heartbeat_ms, tick{});
  }

  void on_message(const message_header& header, const handle&, process_died& e) {
    record_plain(header, e, {});
    send_to(setup_.own.transfer, e);
    const std::string how = "its process " + std::to_string(e.number) + " has died";
    lose(e.node, e.life, how);
    tell_group(e.node, how, true);
  }

  /// Proof for whoever waits for a writer of this life that had our memory mapped.
  void on_message(const message_header& header, const handle&, process_reaped& e) {
    record_plain(header, e, {});
    send_to(setup_.own.transfer, e);
  }

  void on_message(const message_header& header, const handle&, watch_refused& e) {
    record_plain(header, e, {});
    const auto it = met_.find(e.node);
    if (it != met_.end() && it->second.life == e.life)
      it->second.watched = false;
    if (refusals_said_.insert(e.why.text).second)
      setup_.say(node().name.value + ": of " + e.node.value + " and others like it only silence "
                 + "tells, not the end of a process: " + e.why.text);
  }

  void on_message(const message_header&, const handle&, connection_judged& e) {
    lose(e.node, e.life, "its connection was lost, its process has not ended");
  }

  void on_message(const message_header&, const handle&, end_node&) {
    for (const auto& own : {setup_.own.transfer, setup_.own.compute, setup_.own.pool,
                            setup_.own.group, setup_.own.router})
      send_to(own, end_node{});
    quit();
  }

private:
  /// Until every peer is met; until the router has heard of it.
  enum class join_phase : std::uint8_t { waiting, said, heard };

  struct met_peer {
    incarnation life;
    handle guard;
    instant seen;
    bool needs_channel = false;
    bool watched = false; ///< the end of its process will be said
    std::string descriptor = {}; ///< of its endpoint
  };

  /// Only to nodes that come before this one in the cluster: of two that connect to each other at
  /// once CAF keeps one connection on either side, perhaps not the same, and what is said on the
  /// other is lost without a word.
  void connect(const node_name& name) {
    const auto& other = expected_.at(name);
    connecting_.insert(name);
    const std::int64_t wait_ms
      = join_ == join_phase::waiting ? connect_retry_ms : reconnect_retry_ms;
    auto retry = [this, name, wait_ms] { send_later(wait_ms, connect_due{name}); };
    request(home_system().middleman().actor_handle(), std::chrono::seconds(3),
            caf::connect_atom::value, node().cluster.host, other.port)
      .then(
        [this, name, retry](const caf::node_id&, const handle& guard,
                            const std::set<std::string>&) {
          if (!guard)
            return retry();
          connecting_.erase(name);
          send_hello(guard, false);
        },
        [retry](const caf::error&) { retry(); });
  }

  void send_hello(const handle& guard, bool answer) {
    hello h;
    h.answer = answer;
    h.node = node().name;
    h.life = node().life;
    h.version = message_version;
    h.cluster = node().cluster.name;
    h.process = process_;
    if (setup_.endpoint != nullptr) {
      const auto bytes = setup_.endpoint->descriptor();
      h.descriptor.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    const auto& own = setup_.own;
    const message_header header{node().next_message_id(), 0, label(), 0};
    send(caf::actor_cast<caf::actor>(guard), header, std::move(h),
         std::vector<handle>{own.node, own.transfer, own.compute, own.pool, own.group, own.router});
  }

  void greet(const message_header&, const hello& e, const std::vector<handle>& handles) {
    if (e.version != message_version || e.cluster != node().cluster.name || handles.size() != 6) {
      setup_.say(node().name.value + ": refused a peer of cluster '" + e.cluster + "', version "
                 + std::to_string(e.version));
      return;
    }
    const auto expected = expected_.find(e.node);
    if (expected == expected_.end())
      return;
    if (!e.answer && handles[0])
      send_hello(handles[0], true);
    if (met_.count(e.node) > 0)
      return;
    met_peer peer{e.life, handles[0], node().clock(), needs_channel(expected->second)};
    peer.descriptor = e.descriptor;
    monitor(caf::actor_cast<caf::actor>(handles[0]));
    node().peers.set({e.node, e.life, {handles[0], handles[1], handles[2], handles[3], handles[4],
                                       handles[5]}});
    if (peer.needs_channel)
      prepare_channel(e.node, peer);
    if (setup_.own.group && expected->second.group == node().group->name)
      send_to(setup_.own.group, rank_joined{expected->second.rank, e.life});
    // Nodes of one process end together.
    peer.watched = setup_.watch != nullptr && !same_process(e.process, process_);
    if (peer.watched)
      setup_.watch->watch(e.node, e.life, e.process, self_handle());
    met_.emplace(e.node, std::move(peer));
    join_if_ready();
  }

  void prepare_channel(const node_name& name, const met_peer& peer) {
    send_to(setup_.own.transfer, connect_peer{name, peer.life, peer.descriptor});
  }

  /// While the peer itself is there the channel is prepared anew, as often as it takes: what waits
  /// for a word of the other end gets it then.
  void channel_lost(const node_name& name, const failure& why) {
    channels_.erase(name);
    if (channels_said_.insert(name).second)
      setup_.say(node().name.value + ": no channel to " + name.value + ": " + why.text);
    if (const auto it = met_.find(name); it != met_.end())
      send_later(reconnect_retry_ms, channel_due{name, it->second.life});
  }

  static bool same_process(const process_identity& a, const process_identity& b) {
    return a.host == b.host && a.number == b.number && a.start_ticks == b.start_ticks;
  }

  /// Payload moves between groups only.
  bool needs_channel(const cluster_node& other) const {
    return node().group != nullptr && other.group && *other.group != node().group->name;
  }

  void join_if_ready() {
    if (join_ != join_phase::waiting || met_.size() < expected_.size())
      return;
    for (const auto& [name, peer] : met_)
      if (peer.needs_channel && channels_.count(name) == 0)
        return;
    join_ = join_phase::said;
    if (node().group == nullptr)
      join_ = join_phase::heard;
    if (setup_.own.group)
      send_to(setup_.own.group, rank_joined{node().rank, node().life});
    if (join_ == join_phase::said)
      say_joined();
  }

  void record_path() {
    const cluster_config& cluster = node().cluster;
    path_chosen chosen{name_of(cluster.path, cluster.transport), {}};
    for (const path_cost& cost : cluster.path_costs)
      chosen.measured.push_back(to_text(cost));
    record_plain(message_header{node().next_message_id(), 0, label(), 0}, chosen, {});
  }

  void say_joined() {
    send_to(node().peers.find({"router"}).handles.router,
            node_joined{node().name, node().group->name, node().rank, node().life});
  }

  void peer_down(const caf::actor_addr& source) {
    for (const auto& [name, peer] : met_)
      if (peer.guard->address() == source) {
        const connection_judged judged{name, peer.life};
        if (peer.watched)
          send_later(death_wait_ms, judged);
        else
          lose(judged.node, judged.life, "its process ended or its connection was lost");
        return;
      }
  }

  /// Nothing, if that life is lost already.
  void lose(const node_name& name, const incarnation& life, const std::string& how) {
    const auto it = met_.find(name);
    if (it == met_.end() || it->second.life != life)
      return;
    met_.erase(it);
    channels_.erase(name);
    node().peers.erase(name);
    setup_.say(node().name.value + ": lost " + name.value + ": " + how);
    const failure why{reason::peer_lost, name.value + ": " + how};
    if (setup_.own.router)
      send_to(setup_.own.router, node_lost{name, life, why});
    tell_group(name, how, false);
  }

  /// Also of a rank whose loss has been told for its silence: its end is news.
  void tell_group(const node_name& name, const std::string& how, bool dead) {
    const auto& other = expected_.at(name);
    if (setup_.own.group && other.group == node().group->name)
      send_to(setup_.own.group,
              rank_lost{other.rank, {reason::peer_lost, name.value + ": " + how}, dead});
  }

  node_status status() const {
    node_status s;
    s.node = node().name;
    s.actors_open = node().counts.total();
    if (setup_.endpoint != nullptr) {
      const auto counters = setup_.endpoint->read_counters();
      s.bytes_landed = counters.bytes_landed;
      s.pieces_refused = counters.offers_refused;
      s.pieces_repeated = counters.duplicates;
    }
    std::ostringstream paths;
    for (const auto& [name, path] : channels_)
      paths << (paths.tellp() > 0 ? ", " : "") << name.value << " " << path;
    s.paths = paths.str();
    return s;
  }

  guard_setup setup_;
  bool use_network_;
  const process_identity process_ = own_process();
  join_phase join_ = join_phase::waiting;
  std::set<node_name> connecting_; ///< a request to the middleman, or its retry, is under way
  std::map<node_name, cluster_node> expected_;
  std::set<node_name> before_; ///< whom this node connects to; the others connect to it
  std::map<node_name, met_peer> met_;
  std::map<node_name, std::string> channels_; ///< path in use, by peer; those that are up
  std::set<node_name> channels_said_;         ///< to be down
  std::set<std::string> refusals_said_;       ///< watches that are refused alike are said once
};

} // namespace

handle spawn_node_guard(caf::actor_system& system, node_context& node, guard_setup setup,
                        bool use_network) {
  return caf::actor_cast<handle>(
    system.spawn<node_guard_actor>(node, std::move(setup), use_network));
}

} // namespace baton::actors
