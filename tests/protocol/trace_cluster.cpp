#include "tests/protocol/trace_cluster.hpp"

#include "tests/protocol/hand_off_samples.hpp"

namespace baton::tests {

using namespace protocol;

namespace {

template <class State, class Event>
struct part {
  std::string node;
  std::string label;
  std::string machine;
  State state;
};

using pool_part = part<pool::state, pool::event>;
using reservation_part = part<reservation::state, reservation::event>;
using hold_part = part<source_hold::state, source_hold::event>;
using lane_part = part<lane::state, lane::event>;
using feed_part = part<feed::state, feed::event>;
using attempt_part = part<attempt::state, attempt::event>;
using request_part = part<request::state, request::event>;
using group_part = part<rank_group::state, rank_group::event>;
using router_part = part<membership::state, membership::event>;

constexpr std::uint32_t ranks = 2;

/// Everything that belongs to one request.
struct run {
  request_id id;
  request_part request;
  attempt_part attempt;
  reservation_part reservation;
  hold_part hold;
  sequence_id hold_sequence;
  std::map<lane_id, lane_part> lanes;
  std::map<lane_id, feed_part> feeds;
  std::map<std::uint16_t, source_ready> ready; ///< what each source rank has computed so far
};

class cluster {
public:
  explicit cluster(const cluster_script& script) : script_(script) {
    for (const char* node : {"router", "D0.0", "D0.1", "P0.0", "P0.1", "client"})
      add_section(node);
    form();
    for (std::uint32_t n = 1; n <= script_.requests; ++n)
      submit(n);
  }

  memory_trace take() {
    trace_.index();
    return std::move(trace_);
  }

private:
  // -- recording ----------------------------------------------------------------------------------

  void add_section(const std::string& node) {
    trace_section s;
    s.file = node + ".trace.jsonl";
    s.header = {trace_version, {node}, {9, trace_.all_sections.size() + 1}, "little", 0};
    s.end = section_end::closed;
    trace_.all_sections.push_back(std::move(s));
  }

  std::uint32_t section(const std::string& node) const {
    for (std::uint32_t i = 0; i < trace_.all_sections.size(); ++i)
      if (trace_.all_sections[i].header.node.value == node)
        return i;
    return 0;
  }
  incarnation life(const std::string& node) const {
    return trace_.all_sections[section(node)].header.life;
  }

  message_header next_header() { return {++messages_, cause_, sender_, now_ns_}; }

  void keep(trace_record r, const std::string& node) {
    if (current_ != nullptr) {
      r.request = current_->id;
      r.attempt = 1;
    }
    r.end_ns = r.begin_ns + 100;
    trace_.records.push_back(std::move(r));
    trace_.section_of.push_back(section(node));
  }

  /// A message that no machine handles.
  template <class T>
  void note(const std::string& node, const std::string& actor, const T& message) {
    trace_record r;
    r.header = next_header();
    r.actor = actor;
    r.message = T::type;
    r.event = to_json(message);
    r.begin_ns = now_ns_ += 1000;
    keep(std::move(r), node);
  }

  template <class State, class Event, class T>
  void tell(part<State, Event>& to, T message) {
    queue_.push_back([this, &to, header = next_header(), message = std::move(message)]() mutable {
      handle(to, header, Event{std::move(message)});
    });
  }

  template <class State, class Event>
  void handle(part<State, Event>& to, const message_header& header, const Event& event) {
    trace_record r;
    r.header = header;
    r.actor = to.label;
    r.machine = to.machine;
    r.before = name_of(to.state);
    r.begin_ns = now_ns_ += 1000;
    std::visit(
      [&](const auto& e) {
        r.message = e.type;
        r.event = to_json(e);
      },
      event);
    auto result = step(std::move(to.state), event, instant{r.begin_ns});
    to.state = std::move(result.state);
    r.after = name_of(to.state);
    for (const auto& effect : result.effects)
      r.effects.push_back(std::visit([](const auto& e) { return std::string(e.type); }, effect));
    keep(std::move(r), to.node);
    cause_ = header.id;
    sender_ = to.node + ":" + to.label;
    for (const auto& effect : result.effects)
      std::visit([&](const auto& e) { run_effect(to, e); }, effect);
    cause_ = 0;
  }

  void settle() {
    while (!queue_.empty()) {
      auto next = std::move(queue_.front());
      queue_.pop_front();
      next();
    }
  }

  // -- the cluster --------------------------------------------------------------------------------

  std::string source_group() const { return script_.in_place ? "D0" : "P0"; }
  pool_part& source_pool() { return script_.in_place ? d_pool_ : p_pool_; }
  group_part& source_leader() { return script_.in_place ? d_group_ : p_group_; }

  void form() {
    router_ = {"router", "router", "membership", {}};
    expect_cluster expect;
    if (script_.in_place)
      expect.groups = {{{"D0"}, group_role::mixed, ranks}};
    else
      expect.groups
        = {{{"D0"}, group_role::decode, ranks}, {{"P0"}, group_role::prefill, ranks}};
    expect.tenants = {{{"tenant-1"}, 8, 1000}};
    expect.requests_open_max = 8;
    tell(router_, expect);
    form_group_of("D0", d_pool_, d_group_, 6);
    if (!script_.in_place)
      form_group_of("P0", p_pool_, p_group_, 4);
    settle();
  }

  void form_group_of(const std::string& name, pool_part& pool, group_part& group,
                     std::uint32_t blocks) {
    pool = {name + ".0", "pool/" + name, "pool", {}};
    form_pool formed = sample_pool(name == "D0" ? "D3" : "P7", blocks, ranks);
    formed.group = {name};
    formed.owner = life(name + ".0");
    tell(pool, formed);
    group = {name + ".0", "rank_group/" + name, "rank_group", {}};
    tell(group, form_group{{name}, ranks, sample_block_tokens, 2});
    for (std::uint16_t rank = 0; rank < ranks; ++rank) {
      const std::string node = name + "." + std::to_string(rank);
      tell(group, rank_joined{{rank}, life(node)});
      tell(router_, node_joined{{node}, {name}, {rank}, life(node)});
    }
  }

  void submit(std::uint32_t n) {
    current_ = &runs_.emplace_back();
    current_->id = {77, n};
    request_spec spec = sample_spec();
    spec.external = {"req-" + std::to_string(n)};
    sender_ = "client:client";
    note("router", "router", submit_request{spec, {}, sample_prompt()});
    tell(router_, request_arrived{current_->id, spec});
    spec_ = spec;
    settle();
  }

  // -- effects: what each actor's shell does ------------------------------------------------------

  template <class Part, class Effect>
  void run_effect(Part&, const Effect&) {} // timers, and words that nobody here waits for

  void run_effect(router_part&, const request_admitted& e) {
    current_->request = {"router", "request/" + e.external.value, "request", {}};
    tell(current_->request, open_request{e.request, spec_, {1}});
  }
  void run_effect(router_part&, const attempt_placed& e) { tell(current_->attempt, e); }

  void run_effect(request_part&, const start_attempt& e) {
    current_->attempt = {"router", "attempt/" + spec_.external.value, "attempt", {}};
    tell(current_->attempt, e);
  }
  void run_effect(request_part&, const commit_claimed& e) { tell(current_->attempt, e); }
  void run_effect(request_part&, const frame_forwarded& e) { note("client", "client", e); }
  void run_effect(request_part&, const request_ended& e) { note("client", "client", e); }
  void run_effect(request_part&, const end_actor&) {
    tell(router_, request_gone{current_->id});
  }

  void run_effect(attempt_part&, const place_attempt& e) { tell(router_, e); }
  void run_effect(attempt_part&, reserve_request e) {
    e.prompt = sample_prompt();
    tell(d_pool_, e);
  }
  void run_effect(attempt_part&, start_prefill e) {
    e.prompt = sample_prompt();
    tell(source_pool(), e);
  }
  void run_effect(attempt_part&, const claim_commit& e) { tell(current_->request, e); }
  void run_effect(attempt_part&, const phase_entered& e) { tell(current_->request, e); }
  void run_effect(attempt_part&, const commit& e) { tell(d_pool_, e); }
  void run_effect(attempt_part&, const revoke_reservation& e) { tell(d_pool_, e); }
  void run_effect(attempt_part&, const attempt_drained& e) {
    tell(current_->request, e);
    tell(router_, e);
  }

  void run_effect(pool_part& from, const open_reservation& e) {
    current_->reservation = {from.node, "reservation/" + number(e.granted.reservation),
                             "reservation", {}};
    tell(current_->reservation, begin_reservation{e, sample_model(), script_.lease_ms});
  }
  void run_effect(pool_part& from, const open_hold& e) {
    current_->hold_sequence = e.sequence;
    current_->hold = {from.node, "source_hold/" + number(e.hold), "source_hold", {}};
    tell(current_->hold, begin_hold{e, sample_model(), ranks, sample_block_tokens, 0});
  }
  void run_effect(pool_part&, const commit& e) { tell(current_->reservation, e); }
  void run_effect(pool_part&, const revoke_reservation& e) { tell(current_->reservation, e); }
  void run_effect(pool_part&, const manifest_offered& e) { tell(current_->reservation, e); }
  void run_effect(pool_part& from, const blocks_reclaimed& e) {
    const bool to_hold = &from == &p_pool_
                         || (script_.in_place && holds_.count(e.reservation.number) > 0);
    if (to_hold)
      tell(current_->hold, e);
    else
      tell(current_->reservation, e);
  }

  template <class E>
  void to_pool_of_hold(const E& e) {
    holds_[e.reservation.number] = true;
    tell(source_pool(), e);
  }
  void run_effect(hold_part&, const quarantine_blocks& e) { to_pool_of_hold(e); }
  void run_effect(hold_part&, const reclaim_blocks& e) { to_pool_of_hold(e); }
  void run_effect(hold_part&, const prefill_accepted& e) { tell(current_->attempt, e); }
  void run_effect(hold_part&, const prefill_finished& e) { tell(current_->attempt, e); }
  void run_effect(hold_part&, const source_released& e) { tell(current_->attempt, e); }
  void run_effect(hold_part&, const manifest_offered& e) { tell(d_pool_, e); }
  void run_effect(hold_part&, const lane_landed& e) { tell(current_->reservation, e); }
  void run_effect(hold_part&, const lane_stopped& e) { tell(current_->reservation, e); }
  void run_effect(hold_part&, submit_prefill e) {
    e.prompt = sample_prompt();
    tell(source_leader(), e);
  }
  void run_effect(hold_part&, const open_feed& e) {
    auto& feed = current_->feeds[e.lane];
    const std::string rank = std::to_string(e.lane.source.value);
    feed = {source_group() + "." + rank, "feed/" + key(e.lane), "feed", {}};
    opened_[feed.label] = e;
    tell(feed, e);
    if (const auto it = current_->ready.find(e.lane.source.value); it != current_->ready.end())
      tell(feed, it->second);
  }

  void run_effect(reservation_part&, const reserve_granted& e) { tell(current_->attempt, e); }
  void run_effect(reservation_part&, const transfer_completed& e) { tell(current_->attempt, e); }
  void run_effect(reservation_part&, const committed& e) { tell(current_->attempt, e); }
  void run_effect(reservation_part&, const decode_finished& e) { tell(current_->attempt, e); }
  void run_effect(reservation_part&, const reservation_reclaimed& e) {
    tell(current_->attempt, e);
  }
  void run_effect(reservation_part&, const transfer_opened& e) { tell(current_->hold, e); }
  void run_effect(reservation_part&, const mark_live& e) { tell(d_pool_, e); }
  void run_effect(reservation_part&, const quarantine_blocks& e) { tell(d_pool_, e); }
  void run_effect(reservation_part&, const reclaim_blocks& e) { tell(d_pool_, e); }
  void run_effect(reservation_part&, const activate_sequence& e) { tell(d_group_, e); }
  void run_effect(reservation_part&, const open_lane& e) {
    auto& lane = current_->lanes[e.lane];
    lane = {"D0." + std::to_string(e.lane.destination.value), "lane/" + key(e.lane), "lane", {}};
    tell(lane, e);
  }
  void run_effect(reservation_part&, const stop_lane& e) {
    const auto it = current_->lanes.find(e.lane);
    if (it != current_->lanes.end())
      tell(it->second, e);
    else
      tell(current_->hold, e); // in place
  }

  // The transfer devices: what is asked has happened.
  void run_effect(lane_part& from, const admit_lane& e) { tell(from, lane_admitted{e.lane}); }
  void run_effect(lane_part& from, const revoke_lane& e) { tell(from, receives_quiesced{e.lane}); }
  void run_effect(lane_part&, const send_receipt& e) {
    tell(current_->feeds.at(e.lane), receipt_arrived{e.lane});
  }
  void run_effect(lane_part&, const lane_opened& e) { tell(current_->reservation, e); }
  void run_effect(lane_part&, const lane_landed& e) { tell(current_->reservation, e); }
  void run_effect(lane_part&, const lane_stopped& e) { tell(current_->reservation, e); }
  void run_effect(feed_part& from, const offer_piece& e) {
    const block_ref block = opened_.at(from.label).destination_blocks.at(e.piece);
    tell(current_->lanes.at(e.lane), piece_landed{e.lane, e.piece, block, 64, 0});
  }
  void run_effect(feed_part&, const offer_resume& e) {
    const auto pieces = static_cast<std::uint32_t>(prompt_blocks());
    tell(current_->lanes.at(e.lane), piece_landed{e.lane, pieces, {}, 128, 42});
  }
  void run_effect(feed_part&, const feed_received& e) { tell(current_->hold, e); }

  static std::uint32_t prompt_blocks() {
    return (sample_prompt_tokens + sample_block_tokens - 1) / sample_block_tokens;
  }

  // The groups and their compute devices.
  void run_effect(group_part& leader, const run_step& e) {
    for (std::uint16_t rank = ranks; rank-- > 0;) {
      const std::string group = leader.node.substr(0, 2);
      note(group + "." + std::to_string(rank), "compute_device", e);
      step_completed done{{rank}, e.epoch, e.step, {}};
      for (const auto& slice : e.slices) {
        const bool samples = slice.kind == slice_kind::first_token
                             || slice.kind == slice_kind::decode;
        if (rank == 0)
          done.results.push_back({slice.sequence, {5}, samples, false, {}});
        if (!samples)
          tell_feeds(rank, slice);
      }
      tell(leader, done);
    }
  }
  void tell_feeds(std::uint16_t rank, const plan_slice& slice) {
    source_ready ready{slice.sequence, slice.start + slice.count, {}};
    if (slice.kind == slice_kind::last_prefill)
      ready.resume.values.assign(4, 1.0F);
    current_->ready[rank] = ready;
    for (auto& [id, feed] : current_->feeds)
      if (id.source.value == rank)
        tell(feed, ready);
  }
  void run_effect(group_part&, const prefill_computed& e) { tell(current_->hold, e); }
  void run_effect(group_part&, const token_emitted& e) { tell(current_->request, e); }
  void run_effect(group_part&, const sequence_finished& e) { tell(current_->reservation, e); }
  void run_effect(group_part& from, const sequence_quiesced& e) {
    const bool of_hold = &from == &source_leader() && e.sequence == current_->hold_sequence;
    if (of_hold)
      tell(current_->hold, e);
    else
      tell(current_->reservation, e);
  }

  static std::string number(const reservation_id& id) { return std::to_string(id.number); }
  static std::string key(const lane_id& id) {
    return number(id.reservation) + ":" + std::to_string(id.source.value) + "-"
           + std::to_string(id.destination.value);
  }

  const cluster_script script_;
  memory_trace trace_;
  std::deque<std::function<void()>> queue_;
  std::deque<run> runs_;
  run* current_ = nullptr;
  request_spec spec_;
  router_part router_;
  pool_part d_pool_;
  pool_part p_pool_;
  group_part d_group_;
  group_part p_group_;
  std::map<std::uint64_t, bool> holds_; ///< numbers of source holds, in place
  std::map<std::string, open_feed> opened_; ///< by the feed's label
  std::uint64_t messages_ = 1000;
  std::uint64_t cause_ = 0;
  std::string sender_ = "test:test";
  std::int64_t now_ns_ = 5'000'000;
};

} // namespace

memory_trace record_hand_offs(const cluster_script& script) { return cluster(script).take(); }

} // namespace baton::tests
