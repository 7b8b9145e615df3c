// Owns the node's endpoint: starts the two kinds of lane ends, turns their commands into calls, and
// passes them what the endpoint says has happened. It decides nothing: whether a lane that it does
// not know may still begin is lane_floor's to say.
#include "actors/device_messages.hpp"
#include "actors/device_port.hpp"
#include "actors/interfaces.hpp"
#include "actors/link_rate.hpp"
#include "actors/shell.hpp"
#include "actors/status_messages.hpp"
#include "protocol/lane_floor.hpp"
#include "protocol/limits.hpp"
#include "protocol/mapped_lanes.hpp"
#include "protocol/path_choice.hpp"

#include <map>
#include <set>

namespace baton::actors {

namespace {

using namespace protocol;

class transfer_device_actor : public shell {
public:
  transfer_device_actor(caf::actor_config& config, node_context& node, handle compute,
                        transfer_setup setup)
    : shell(config, node, "transfer_device"), compute_(std::move(compute)),
      setup_(std::move(setup)) {}

  caf::behavior make_behavior() override {
    auto* self = this;
    return caf::behavior{
      handler<open_lane>(self),     handler<ask_lane>(self),       handler<stop_lane>(self),
      handler<lane_ended>(self),    handler<ask_feed>(self),       handler<admit_lane>(self),
      handler<revoke_lane>(self),   handler<send_receipt>(self),   handler<open_feed>(self),
      handler<withdraw_feed>(self), handler<offer_piece>(self),    handler<resume_offer>(self),
      handler<withdraw_offers>(self), handler<query_lane>(self),   handler<feed_ended>(self),
      handler<lane_admitted>(self), handler<piece_landed>(self),   handler<resume_landed>(self),
      handler<offer_refused>(self), handler<receives_quiesced>(self),
      handler<receipt_arrived>(self), handler<reader_stopped>(self),
      handler<offer_rejected>(self), handler<connect_peer>(self),  handler<channel_ready>(self),
      handler<channel_failed>(self), handler<ask_writer>(self),    handler<writer_stopped>(self),
      handler<sequence_ended>(self), handler<source_released>(self), handler<writing_ended>(self),
      handler<process_reaped>(self), handler<process_died>(self),  handler<writers_due>(self),
      handler<end_node>(self)};
  }

  /// Handles name each other in circles; an actor that has ended holds none.
  void on_exit() override {
    compute_ = guard_ = {};
    lanes_.clear();
    feeds_.clear();
  }

  // -- destination end
  // ------------------------------------------------------------------------------

  void on_message(const message_header&, const handle&, open_lane& e) {
    if (tell(lanes_, e.lane, e))
      return;
    if (const auto stopped = meet_absent(lane_floor_, e)) {
      send_to(sender(), *stopped);
      return;
    }
    const handle lane = spawn_lane(home_system(), node(), e, sender(), self_handle());
    lanes_[e.lane] = {e, lane};
    send_to(lane, e);
  }
  void on_message(const message_header&, const handle&, ask_lane& e) { tell(lanes_, e.lane, e); }
  void on_message(const message_header&, const handle&, stop_lane& e) {
    if (e.unread)
      written_.unread(e.lane);
    if (tell(lanes_, e.lane, e))
      return;
    send_to(sender(), meet_absent(lane_floor_, e));
  }
  void on_message(const message_header&, const handle&, lane_ended& e) {
    if (const auto rate = measured_.look(setup_.endpoint->read_counters()))
      send_to(node().leader_of(node().group->name).handles.pool,
              link_measured{node().rank, *rate});
    lanes_.erase(e.lane);
    written_.forget(e.lane);
  }
  void on_message(const message_header&, const handle&, admit_lane& e) {
    const open_lane& opened = lanes_.at(e.lane).opened;
    if (is_mapped(opened))
      if (failure why = written_.begin(opened)) {
        tell(lanes_, e.lane, offer_refused{e.lane, UINT32_MAX, why});
        return;
      }
    setup_.endpoint->admit(grant_of(opened));
  }
  void on_message(const message_header&, const handle&, revoke_lane& e) {
    setup_.endpoint->revoke(e.lane, lanes_.at(e.lane).opened.source_node);
  }
  void on_message(const message_header&, const handle&, send_receipt& e) {
    setup_.endpoint->send_receipt(e.lane, lanes_.at(e.lane).opened.source_node);
  }

  // -- source end
  // -----------------------------------------------------------------------------------

  void on_message(const message_header&, const handle&, open_feed& e) {
    if (tell(feeds_, e.lane, e))
      return;
    if (const auto ended = meet_absent(feed_floor_, e))
      return say(*ended);
    if (e.mapped)
      writers_.begin(e);
    const handle feed = spawn_feed(home_system(), node(), e, sender(), self_handle(), compute_);
    feeds_[e.lane] = {e, feed};
    send_to(feed, e);
  }
  void on_message(const message_header&, const handle&, ask_feed& e) {
    if (!tell(feeds_, e.lane, e))
      say(meet_absent(feed_floor_, e));
  }
  void on_message(const message_header&, const handle&, withdraw_feed& e) {
    if (!tell(feeds_, e.lane, e))
      say(meet_absent(feed_floor_, e));
  }
  void on_message(const message_header&, const handle&, offer_piece& e) {
    const open_feed& feed = feeds_.at(e.lane).opened;
    transport::piece_offer offer;
    offer.lane = e.lane;
    offer.piece = e.piece;
    offer.block = feed.destination_blocks.at(e.piece);
    offer.where = place(feed.source_blocks.at(e.piece).block, feed.heads);
    setup_.endpoint->offer(feed.destination_node, offer);
  }
  void on_message(const message_header&, const handle&, resume_offer& e) {
    const open_feed& feed = feeds_.at(e.lane).opened;
    const auto* bytes = reinterpret_cast<const std::byte*>(e.hidden.values.data());
    setup_.endpoint->offer_payload(
      feed.destination_node, e.lane, static_cast<std::uint32_t>(feed.destination_blocks.size()),
      {bytes, bytes + e.hidden.values.size() * sizeof(float)});
  }
  void on_message(const message_header&, const handle&, withdraw_offers& e) {
    setup_.endpoint->withdraw(e.lane, feeds_.at(e.lane).opened.destination_node);
  }
  void on_message(const message_header&, const handle&, query_lane& e) {
    setup_.endpoint->query(e.lane, feeds_.at(e.lane).opened.destination_node);
  }
  void on_message(const message_header&, const handle&, feed_ended& e) {
    const auto it = feeds_.find(e.lane);
    if (it == feeds_.end())
      return;
    if (e.received)
      feed_floor_.note_received(reader_of(e.lane), it->second.opened.source_blocks.front());
    feeds_.erase(it);
  }

  // -- what the endpoint says
  // -----------------------------------------------------------------------

  void on_message(const message_header&, const handle&, lane_admitted& e) {
    tell(lanes_, e.lane, e);
  }
  void on_message(const message_header&, const handle&, piece_landed& e) {
    tell(lanes_, e.lane, e);
  }
  void on_message(const message_header&, const handle&, resume_landed& e) {
    const auto it = lanes_.find(e.lane);
    if (it == lanes_.end())
      return;
    const auto& values = e.hidden.values;
    piece_landed landed{e.lane, e.piece, {}, values.size() * sizeof(float),
                        resume_digest(values.data(), values.size())};
    send_to(compute_, keep_resume{it->second.opened.attempt, std::move(e.hidden)});
    send_to(it->second.actor, std::move(landed));
  }
  void on_message(const message_header&, const handle&, offer_refused& e) {
    tell(lanes_, e.lane, e);
  }
  void on_message(const message_header&, const handle&, receives_quiesced& e) {
    if (written_.reader_ended(e.lane, node().clock()))
      tell(lanes_, e.lane, e);
    else
      ask_writers();
  }
  void on_message(const message_header&, const handle&, receipt_arrived& e) {
    tell(feeds_, e.lane, e);
  }
  void on_message(const message_header&, const handle&, reader_stopped& e) {
    tell(feeds_, e.lane, e);
  }
  void on_message(const message_header&, const handle&, offer_rejected& e) {
    tell(feeds_, e.lane, e);
  }

  // -- in place: the writers of lanes
  // ---------------------------------------------------------------

  void on_message(const message_header& header, const handle&, writer_stopped& e) {
    record_plain(header, e, {});
    stopped(written_.take(e));
  }
  void on_message(const message_header&, const handle&, process_reaped& e) {
    stopped(written_.process_ended(e.life, process_end::collected));
  }
  void on_message(const message_header&, const handle&, process_died& e) {
    stopped(written_.process_ended(e.life, process_end::died));
  }
  void on_message(const message_header&, const handle&, writers_due&) {
    asks_ = false;
    for (const lane_id& lane : written_.overdue(node().clock(), limits::writer_wait_ms_max))
      replace_pages(lane);
    ask_writers();
  }

  void on_message(const message_header&, const handle&, ask_writer& e) {
    if (writers_.ask(e, destination_of(e.lane)))
      send_to(node().leader_of(node().group->name).handles.pool, query_source{e.attempt, e.hold});
  }
  void on_message(const message_header&, const handle&, source_released& e) {
    if (writers_.hold_gone(e.hold))
      send_to(compute_, end_writing{e.attempt});
  }
  void on_message(const message_header&, const handle&, sequence_ended& e) {
    say_stopped(writers_.take(e));
  }
  void on_message(const message_header&, const handle&, writing_ended& e) {
    say_stopped(writers_.take(e));
  }

  // -- channels
  // -------------------------------------------------------------------------------------

  void on_message(const message_header&, const handle&, connect_peer& e) {
    const auto* bytes = reinterpret_cast<const std::byte*>(e.descriptor.data());
    guard_ = sender();
    if (failure why = map_memory_of(e)) {
      send_to(guard_, channel_ready{e.peer, why, {}});
      return;
    }
    setup_.endpoint->connect(e.peer, e.life, {bytes, bytes + e.descriptor.size()});
  }
  void on_message(const message_header& header, const handle&, channel_ready& e) {
    const std::string wrong = e.error ? "" : wrong_transport(node().cluster.transport, e.path);
    if (!wrong.empty())
      e.error = {reason::unsupported, wrong};
    record_plain(header, e, {});
    send_to(guard_, e);
  }
  void on_message(const message_header& header, const handle&, channel_failed& e) {
    record_plain(header, e, {});
    send_to(guard_, e);
  }
  void on_message(const message_header&, const handle&, end_node&) { quit(); }

private:
  template <class Opened>
  struct end {
    Opened opened;
    handle actor;
  };

  /// False when there is no such end.
  template <class Ends, class Message>
  bool tell(Ends& ends, const lane_id& lane, const Message& message) {
    const auto it = ends.find(lane);
    if (it == ends.end())
      return false;
    send_to(it->second.actor, message);
    return true;
  }

  void say(const feed_ending& ended) {
    std::visit([this](const auto& word) { send_to(sender(), word); }, ended);
  }

  // -- in place, destination end

  void stopped(const std::vector<lane_id>& all) {
    for (const lane_id& lane : all)
      tell(lanes_, lane, receives_quiesced{lane});
  }

  /// Asks now, and again for as long as anyone's word is missing.
  void ask_writers() {
    const auto questions = written_.questions();
    for (const auto& q : questions)
      send_to(node().peers.find(q.source).handles.transfer, q.ask);
    if (questions.empty() || asks_)
      return;
    asks_ = true;
    send_later(limits::evidence_wait_ms_max, writers_due{});
  }

  /// The lane takes no notices any more, and attention does not read it: nobody here is at these
  /// bytes.
  void replace_pages(const lane_id& lane) {
    const open_lane& opened = lanes_.at(lane).opened;
    pages_replaced done{lane, opened.writer, 0, {}};
    for (const auto& ref : opened.blocks) {
      done.error = setup_.memory->replace_pages(ref.block.value * setup_.block_bytes,
                                                setup_.block_bytes);
      if (done.error)
        break;
      done.bytes += setup_.block_bytes;
    }
    if (done.bytes > 0 || cannot_replace_.insert(lane).second)
      record_plain(message_header{node().next_message_id(), 0, label(), 0}, done, {});
    if (!done.error)
      stopped(written_.pages_replaced(lane));
  }

  // -- in place, source end

  node_name destination_of(const lane_id& lane) const {
    const group_config& first = node().cluster.groups.front();
    const group_config& decode
      = first.name == node().group->name ? node().cluster.groups.back() : first;
    return node_of(decode.name, lane.destination);
  }

  void say_stopped(const std::vector<lane_writers::said>& all) {
    for (const auto& s : all)
      send_to(node().peers.find(s.destination).handles.transfer,
              writer_stopped{s.lane, node().life});
  }

  /// None for a peer whose memory is not to be mapped.
  failure map_memory_of(const connect_peer& e) {
    if (!setup_.maps_peer || e.peer != destination_of({{}, node().rank, node().rank}))
      return {};
    const auto* bytes = reinterpret_cast<const std::byte*>(e.descriptor.data());
    const auto peer = transport::wire::decode_descriptor(bytes, e.descriptor.size());
    if (!peer)
      return peer.error();
    if (!peer.value().region)
      return {reason::unsupported, "connect: descriptor: no shared arena"};
    return setup_.memory->map_peer(*peer.value().region);
  }

  /// Where the lane's heads of a block lie in this rank's arena.
  transport::strided place(block_id block, const head_range& heads) const {
    const block_slice slice = slice_of(setup_.shape, setup_.tp_degree, node().rank, heads);
    return {block.value * setup_.block_bytes + slice.offset, slice.segment_bytes, slice.stride,
            slice.segments};
  }

  transport::lane_grant grant_of(const open_lane& opened) const {
    transport::lane_grant grant;
    grant.lane = opened.lane;
    grant.source = opened.source_life;
    grant.payload_bytes = opened.resume_bytes;
    grant.pieces.reserve(opened.blocks.size());
    for (const auto& ref : opened.blocks)
      grant.pieces.push_back({ref, place(ref.block, opened.heads)});
    return grant;
  }

  handle compute_;
  handle guard_;
  transfer_setup setup_;
  lane_floor lane_floor_;
  lane_floor feed_floor_;
  std::map<lane_id, end<open_lane>> lanes_;
  std::map<lane_id, end<open_feed>> feeds_;
  rank_link_rate measured_;
  written_lanes written_;
  lane_writers writers_;
  std::set<lane_id> cannot_replace_; ///< said so once
  bool asks_ = false; ///< the timer runs
};

} // namespace

handle spawn_transfer_device(caf::actor_system& system, node_context& node, handle compute,
                             transfer_setup setup) {
  return caf::actor_cast<handle>(
    system.spawn<transfer_device_actor>(node, std::move(compute), std::move(setup)));
}

} // namespace baton::actors
