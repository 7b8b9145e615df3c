#include "protocol/trace_path.hpp"

#include "tests/protocol/trace_cluster.hpp"

#include <doctest/doctest.h>

using namespace baton::protocol;
using namespace baton::tests;

namespace {

constexpr std::int64_t us = 1000;

/// The teaching timeline, microseconds after the submission.
struct timeline {
  std::int64_t queue_us = 0;              ///< the prefill group computes somebody else's prompt
  std::int64_t transfer_begin_us = 310'000; ///< after the prefill began
};
constexpr std::int64_t prefill_us = 310'000;
constexpr std::int64_t transfer_us = 107'400;
constexpr std::int64_t commit_us = 3'000;
constexpr std::int64_t first_step_us = 25'000;

/// Words of one request, each handled when it is sent and in no time: only devices take time.
class teaching_trace {
public:
  explicit teaching_trace(const timeline& t) : t_(t) {
    for (const char* node : {"client", "router", "P7.0", "D3.0"}) {
      trace_section s;
      s.header.node = {node};
      trace.all_sections.push_back(std::move(s));
    }
    place();
    prefill();
    hand_off();
    trace.index();
  }

  memory_trace trace;

private:
  /// Handled at `at_us`, said by the message `cause`.
  std::uint64_t say(std::uint32_t node, const std::string& actor, const std::string& message,
                    std::uint64_t cause, std::int64_t at_us, json event = json::object(),
                    std::vector<std::string> effects = {}) {
    trace_record r;
    r.header = {++words_, cause, "?", (origin_us + at_us) * us};
    r.actor = actor;
    r.machine = actor == "compute_device" || node == 0 ? "" : actor.substr(0, actor.find('/'));
    r.message = message;
    r.event = std::move(event);
    r.effects = std::move(effects);
    r.request = actor == "compute_device" || message == "step_completed" ? request_id{} : whose_;
    r.begin_ns = r.end_ns = r.header.sent_ns;
    trace.records.push_back(std::move(r));
    trace.section_of.push_back(node);
    return words_;
  }

  /// A plan's kernels; the group's leader hears of their end at `to_us`.
  std::uint64_t run_plan(std::uint32_t node, std::uint64_t cause, std::uint64_t step,
                         std::uint64_t sequence, slice_kind kind, std::int64_t from_us,
                         std::int64_t to_us) {
    run_step plan;
    plan.step = {step};
    plan.slices = {{{sequence}, kind, 0, 1, {}}};
    say(node, "compute_device", "run_step", cause, from_us, to_json(plan));
    ended_ = say(node, "compute_device", "plan_ended", 0, to_us,
                 {{"epoch", 0}, {"step", step}, {"compute_ns", (to_us - from_us) * us}});
    return say(node, "rank_group/G", "step_completed", ended_, to_us);
  }

  void place() {
    arrived_ = say(1, "router", "request_arrived", 0, 0);
    std::uint64_t last = say(1, "request/1", "open_request", arrived_, 0);
    last = say(1, "attempt/1", "start_attempt", last, 0);
    last = say(1, "router", "place_attempt", last, 0);
    last = say(1, "attempt/1", "attempt_placed", last, 0);
    last = say(3, "pool/D3", "reserve_request", last, 0);
    last = say(3, "reservation/1", "begin_reservation", last, 0);
    last = say(1, "attempt/1", "reserve_granted", last, 0);
    last = say(2, "pool/P7", "start_prefill", last, 0);
    hold_ = say(2, "source_hold/1", "begin_hold", last, 0);
  }

  void prefill() {
    const std::int64_t begin = t_.queue_us;
    std::uint64_t free = 0;
    if (t_.queue_us > 0) {
      whose_ = {7, 9};
      const auto other = say(2, "rank_group/G", "submit_prefill", 0, -5'000, {{"sequence", 9}});
      free = run_plan(2, other, 1, 9, slice_kind::last_prefill, -5'000, begin);
      whose_ = {7, 1};
    }
    const auto asked = say(2, "rank_group/G", "submit_prefill", hold_, 0, {{"sequence", 1}});
    const std::int64_t middle = begin + std::min(t_.transfer_begin_us, std::int64_t{240'000});
    const auto first = run_plan(2, free != 0 ? free : asked, 2, 1, slice_kind::prefill, begin,
                                middle);
    first_ended_ = ended_;
    run_plan(2, first, 3, 1, slice_kind::last_prefill, middle, begin + prefill_us);
    last_ended_ = ended_;
  }

  void hand_off() {
    const std::int64_t computed = t_.queue_us + prefill_us;
    const std::int64_t landed = t_.queue_us + t_.transfer_begin_us + transfer_us;
    if (t_.transfer_begin_us < prefill_us)
      say(2, "feed/1@d:0-0", "source_ready", first_ended_, t_.queue_us + t_.transfer_begin_us,
          json::object(), {"offer_piece", "offer_piece"});
    say(2, "feed/1@d:0-0", "source_ready", last_ended_, computed, json::object(),
        {"offer_piece", "offer_resume"});
    const std::int64_t pieces = t_.transfer_begin_us < prefill_us ? 4 : 2;
    std::uint64_t last = 0;
    for (std::int64_t p = 0; p < pieces; ++p) // the device keeps the cause to itself
      last = say(3, "lane/1@d:0-0", "piece_landed", 999'999,
                 landed - (pieces - 1 - p) * 1'000, {{"piece", p}});
    last = say(3, "reservation/1", "lane_landed", last, landed);
    last = say(1, "attempt/1", "transfer_completed", last, landed);
    last = say(1, "request/1", "claim_commit", last, landed);
    last = say(1, "attempt/1", "commit_claimed", last, landed);
    last = say(3, "reservation/1", "commit", last, landed + commit_us);
    trace.records.back().header.sent_ns = (origin_us + landed) * us; // it was on its way
    last = say(3, "rank_group/G", "activate_sequence", last, landed + commit_us,
               {{"sequence", 1}});
    last = run_plan(3, last, 1, 1, slice_kind::first_token, landed + commit_us,
                    landed + commit_us + first_step_us);
    last = say(1, "request/1", "token_emitted", last, landed + commit_us + first_step_us,
               {{"index", 0}}, {"frame_forwarded"});
    say(0, "client", "frame_forwarded", last, landed + commit_us + first_step_us, {{"index", 0}});
  }

  static constexpr std::int64_t origin_us = 1'000'000;
  timeline t_;
  request_id whose_{7, 1};
  std::uint64_t words_ = 0;
  std::uint64_t arrived_ = 0;
  std::uint64_t hold_ = 0;
  std::uint64_t ended_ = 0;
  std::uint64_t first_ended_ = 0;
  std::uint64_t last_ended_ = 0;
};

std::int64_t sum_us(const causal_path& path, path_kind kind) {
  std::int64_t sum = 0;
  for (const auto& s : path)
    sum += s.kind == kind ? s.length_ns() : 0;
  return sum / us;
}

/// Neither a gap nor an overlap.
void check_seamless(const causal_path& path) {
  REQUIRE_FALSE(path.empty());
  for (std::size_t i = 0; i < path.size(); ++i) {
    CHECK(path[i].from_ns < path[i].to_ns);
    if (i > 0)
      CHECK(path[i].from_ns == path[i - 1].to_ns);
  }
}

causal_path path_of(const timeline& t) {
  const teaching_trace played(t);
  const path_finder paths(played.trace);
  REQUIRE(paths.requests().size() == 1);
  causal_path path = paths.to_first_token(0);
  check_seamless(path);
  CHECK(unexplained_ns(path) == 0);
  return path;
}

} // namespace

TEST_CASE("the teaching timeline: one after the other it takes 445.4 ms") {
  const causal_path path = path_of({});
  CHECK(length_ns(path) == 445'400 * us);
  CHECK(sum_us(path, path_kind::compute) == prefill_us + first_step_us);
  CHECK(sum_us(path, path_kind::transfer) == transfer_us);
  CHECK(sum_us(path, path_kind::way) == commit_us);
}

TEST_CASE("the teaching timeline: a transfer begun at 240 ms makes it 375.4 ms, counted once") {
  const causal_path path = path_of({0, 240'000});
  CHECK(length_ns(path) == 375'400 * us);
  // The link worked for 107.4 ms; 70 of them beside the prefill, which is on the path.
  CHECK(sum_us(path, path_kind::compute) == prefill_us + first_step_us);
  CHECK(sum_us(path, path_kind::transfer) == transfer_us - 70'000);
}

TEST_CASE("the teaching timeline: 25 ms behind another's prompt are a queue, and make 400.4 ms") {
  const causal_path path = path_of({25'000, 240'000});
  CHECK(length_ns(path) == 400'400 * us);
  CHECK(sum_us(path, path_kind::queue) == 25'000);
  CHECK(length_ns(path) - sum_us(path, path_kind::queue) * us == 375'400 * us); // not the TTFT
  for (const auto& s : path)
    if (s.kind == path_kind::queue)
      CHECK(s.phase == path_phase::prefill);
}

TEST_CASE("a hand-off of real machines is explained from its submission to each token") {
  for (const bool in_place : {false, true}) {
    cluster_script script;
    script.in_place = in_place;
    const memory_trace trace = record_hand_offs(script);
    const path_finder paths(trace);
    CAPTURE(in_place);
    REQUIRE(paths.requests().size() == script.requests);
    for (std::size_t n = 0; n < script.requests; ++n) {
      const causal_path path = paths.to_first_token(n);
      check_seamless(path);
      CHECK(unexplained_ns(path) * 100 <= length_ns(path));
      for (std::size_t frame = 1; frame < paths.frames(n); ++frame)
        check_seamless(paths.between_tokens(n, frame));
    }
  }
}

TEST_CASE("where a record is missing the time before it is unexplained, and nothing is lost") {
  teaching_trace played({});
  played.trace.erase(played.trace.find("attempt", "commit_claimed"));
  const path_finder paths(played.trace);
  const causal_path path = paths.to_first_token(0);
  check_seamless(path);
  CHECK(length_ns(path) == 445'400 * us);

  teaching_trace cut({});
  cut.trace.erase(cut.trace.find("feed", "source_ready"));
  const causal_path holed = path_finder(cut.trace).to_first_token(0);
  check_seamless(holed);
  CHECK(length_ns(holed) == 445'400 * us);
  CHECK(unexplained_ns(holed) == transfer_us * us);
}
