// The teaching case: 8,192 prompt and 128 output tokens, 80 layers x 8 KV heads x 128 x bf16.
#include "protocol/block_pool.hpp"
#include "protocol/lane.hpp"
#include "protocol/reservation.hpp"
#include "protocol/transfer_manifest.hpp"
#include "tests/protocol/hand_off_samples.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

using namespace baton::protocol;
using namespace baton::tests;

namespace {

constexpr std::uint64_t token_bytes = 2ULL * 80 * 8 * 128 * 2;
constexpr std::uint32_t block_tokens = 16;
constexpr std::uint64_t block_bytes = token_bytes * block_tokens;
constexpr std::uint64_t request_bytes = 2'726'297'600;
constexpr std::int64_t lease_ms = 10;

model_identity teaching_model() {
  return {"teaching-80l", "w1", "t1", 80, 8, 128, 8'192, "bf16", block_tokens,
          "block[layer][kv][head][token][dim]", "theta=500000", "cpu", true, "f32"};
}

form_pool d3(std::uint64_t pool_bytes) {
  form_pool pool;
  pool.group = {"D3"};
  pool.owner = {3, 1};
  pool.blocks = static_cast<std::uint32_t>(pool_bytes / block_bytes);
  pool.block_bytes = block_bytes;
  pool.block_tokens = block_tokens;
  pool.tp_degree = 2;
  pool.decode_slots = 8;
  pool.quarantine_blocks_max = pool.blocks;
  pool.inflight_bytes_max = pool_bytes; // as much as may be granted
  return pool;
}

reserve_request ask(std::uint32_t request, std::uint32_t prompt_tokens = 8'192) {
  reserve_request e;
  e.attempt = {{0, request}, 4, {1}};
  e.spec.prompt_tokens = prompt_tokens;
  e.spec.prompt_digest = "p1";
  e.spec.output_tokens = 128;
  e.prompt.ids.assign(prompt_tokens, 1);
  e.source = {{"P7"}, 2, {{7, 1}, {7, 2}}};
  return e;
}

/// D3 with one reservation and its two lanes, joined as their actors would be; messages to the
/// source and the attempt are kept. The transfer device quiesces a lane when it is told to.
class destination {
public:
  destination() {
    take(d3(request_bytes));
    take(ask(17));
    take(manifest_offered{offer(), granted_.reservation, {}});
    for (auto& [id, lane] : lanes_)
      take(id, lane_admitted{id});
  }

  manifest offer() const {
    return source_manifest(teaching_model(), 2,
                           {asked_.attempt, asked_.spec, asked_.prompt, granted_});
  }
  const grant& granted() const { return granted_; }
  const char* phase() const { return reservation::name_of(reservation_); }
  std::uint64_t free_bytes() const { return pool_.ledger.free * block_bytes; }
  bool said(const std::string& what) const { return said_.count(what) > 0; }
  std::uint32_t times(const std::string& what) const {
    return said(what) ? said_.at(what) : 0;
  }
  const failure& why() const { return why_; }
  std::size_t lanes_quiet() const { return quiet_.size(); }

  void at_tick(std::int64_t ms) { now_ = at_ms(ms); }

  void land(std::uint32_t rank, std::uint32_t piece) {
    const lane_id id = lane(rank);
    const block_ref block = piece < granted_.prompt_blocks ? granted_.blocks[piece] : block_ref{};
    if (quiet_.count(id) == 0) // a quiesced lane has no receive that could land
      take(id, piece_landed{id, piece, block, block_bytes / 2, 5});
  }
  void arrive(std::uint32_t rank) {
    for (std::uint32_t piece = 0; piece <= granted_.prompt_blocks; ++piece)
      land(rank, piece);
  }
  /// The device's own callbacks: every receive of the revoked lanes has ended.
  void acknowledge_abort() {
    for (auto& [id, lane] : lanes_)
      if (std::holds_alternative<lane::abort_requested>(lane)) {
        quiet_.insert(id);
        take(id, receives_quiesced{id});
      }
  }
  void commit_attempt() {
    take(commit{granted_.attempt, granted_.reservation, generation_sum(granted_.blocks)});
  }
  void take(const reservation::event& e) {
    auto result = reservation::step(std::move(reservation_), e, now_);
    reservation_ = std::move(result.state);
    for (const auto& effect : result.effects)
      std::visit([&](const auto& x) { run(x); }, effect);
  }
  void take(const form_pool& e) { to_pool(e); }
  void take(const reserve_request& e) {
    asked_ = e;
    to_pool(e);
  }
  void to_pool(const pool::event& e) {
    auto result = pool::step(std::move(pool_), e, now_);
    pool_ = std::move(result.state);
    for (const auto& effect : result.effects)
      std::visit([&](const auto& x) { run(x); }, effect);
  }

private:
  lane_id lane(std::uint32_t rank) const {
    const rank_id r{static_cast<std::uint16_t>(rank)};
    return {granted_.reservation, r, r};
  }
  void take(const lane_id& id, const lane::event& e) {
    auto result = lane::step(std::move(lanes_[id]), e, now_);
    lanes_[id] = std::move(result.state);
    for (const auto& effect : result.effects)
      std::visit([&](const auto& x) { run(x); }, effect);
  }

  void run(const open_reservation& e) {
    granted_ = e.granted;
    take(begin_reservation{e, teaching_model(), lease_ms});
  }
  void run(const open_lane& e) { take(e.lane, e); }
  void run(const stop_lane& e) { take(e.lane, e); }
  void run(const lane_opened& e) { take(e); }
  void run(const lane_landed& e) { take(e); }
  void run(const lane_failed& e) { take(e); }
  void run(const lane_stopped& e) { take(e); }
  void run(const mark_live& e) { to_pool(e); }
  void run(const quarantine_blocks& e) { to_pool(e); }
  void run(const reclaim_blocks& e) {
    note(e);
    to_pool(e);
  }
  void run(const blocks_reclaimed& e) { take(e); }
  void run(const commit_refused& e) {
    note(e);
    why_ = e.why;
  }
  void run(const reservation_revoked& e) {
    note(e);
    why_ = e.why;
  }
  template <class E>
  void run(const E& e) {
    note(e);
  }
  template <class E>
  void note(const E&) {
    ++said_[E::type];
  }

  instant now_;
  pool::state pool_;
  reservation::state reservation_;
  std::map<lane_id, lane::state> lanes_;
  std::set<lane_id> quiet_; ///< gave their stop evidence
  reserve_request asked_;
  grant granted_;
  std::map<std::string, std::uint32_t> said_;
  failure why_;
};

} // namespace

TEST_CASE("a reservation costs what its prompt and output budget take, rounded up to blocks") {
  CHECK(token_bytes == 327'680);
  CHECK(8'192 * token_bytes == 2'684'354'560);
  const auto pool = d3(8ULL << 30);
  CHECK(pool::blocks_needed(pool, 8'192, 0) == 512);
  CHECK(pool::blocks_needed(pool, 8'192, 128) * block_bytes == request_bytes);
  CHECK(pool::blocks_needed(pool, 8'193, 128) * block_bytes == request_bytes + 16 * token_bytes);
  CHECK(pool::blocks_needed(pool, 0, 0) == 0);
}

TEST_CASE("an 8 GiB pool fits three requests and refuses the fourth with the figures") {
  auto s = pool::step({}, d3(8ULL << 30), {}).state;
  for (std::uint32_t request = 1; request <= 3; ++request) {
    auto result = pool::step(std::move(s), ask(request), {});
    s = std::move(result.state);
    CHECK(std::get<open_reservation>(result.effects.at(0)).granted.bytes == request_bytes);
  }
  const auto fourth = pool::step(s, ask(4), {});
  const failure& why = std::get<reserve_refused>(fourth.effects.at(0)).why;
  CHECK(why.why == reason::no_capacity);
  CHECK(why.text
        == "D3: prompt and output budget needs 2726297600 bytes (520 blocks), free are 408944640"
           " bytes (78 blocks) of 8587837440 bytes (1638 blocks)");
}

TEST_CASE("a commit in the last instant of the lease is accepted, at exactly its end refused") {
  destination early;
  early.arrive(0);
  early.arrive(1);
  early.at_tick(lease_ms - 1);
  early.commit_attempt();
  CHECK(early.phase() == std::string("live"));

  destination late;
  late.arrive(0);
  late.arrive(1);
  late.at_tick(lease_ms);
  late.commit_attempt();
  CHECK(late.why().why == reason::lease_expired);
  CHECK(late.times("commit_refused") == 1);
  CHECK_FALSE(late.said("committed"));
  CHECK(late.phase() == std::string("draining"));
}

TEST_CASE("expired credit comes back once, with the stop evidence; late writes change nothing") {
  destination d;
  d.land(0, 0);
  CHECK(d.free_bytes() == 0);
  d.at_tick(lease_ms);
  d.take(lease_expired{});
  CHECK(d.why().why == reason::lease_expired);
  CHECK(d.free_bytes() == 0);
  d.land(1, 0); // still possible, and changes nothing
  d.arrive(0);
  d.arrive(1);
  CHECK(d.phase() == std::string("draining"));
  CHECK_FALSE(d.said("transfer_completed"));
  CHECK(d.free_bytes() == 0);
  d.acknowledge_abort();
  CHECK(d.free_bytes() == request_bytes);
  CHECK(d.phase() == std::string("reclaimed"));
  CHECK(d.times("reservation_reclaimed") == 1);
  d.to_pool(reclaim_blocks{d.granted().reservation});
  CHECK(d.free_bytes() == request_bytes);
  CHECK(d.times("reservation_reclaimed") == 1);
}

TEST_CASE("1,024 landings of one rank are not 512 blocks on two") {
  destination d;
  d.arrive(0);
  d.arrive(0);
  CHECK_FALSE(d.said("transfer_completed"));
  CHECK(d.times("send_receipt") == 1);
  d.arrive(1);
  CHECK(d.times("transfer_completed") == 1);
}

TEST_CASE("each mismatch of a manifest is refused by name before a lane is opened") {
  const destination sample;
  const reserve_request asked = ask(17);
  open_reservation opened{asked, sample.granted()};
  std::uint32_t refused = 0;
  for (const std::string& path : manifest_field_paths()) {
    CAPTURE(path);
    const auto s = reservation::step({}, begin_reservation{opened, teaching_model(), lease_ms}, {});
    manifest offered = sample.offer();
    REQUIRE(falsify(offered, path));
    const auto result = reservation::step(s.state, manifest_offered{offered, {}, {}}, {});
    CHECK(result.effects.size() == 4); // revoked, quarantined, forgotten, reclaimed: no lane
    const failure& why = std::get<reservation_revoked>(result.effects.at(0)).why;
    CHECK(why.why == reason::manifest_mismatch);
    CHECK(why.text.find(path + ": expected ") != std::string::npos);
    ++refused;
  }
  CHECK(refused >= 8);
}

namespace {

enum order : int { arrive_0, arrive_1, complete, commit_it, cancel, reclaim };

/// Plays one step and says whether the readers are quiet after it.
bool play(destination& d, int step, bool readers_quiet) {
  switch (step) {
  case arrive_0:
  case arrive_1: d.arrive(step == arrive_0 ? 0 : 1); break;
  case complete: d.acknowledge_abort(); break; // callbacks of lanes that were told to stop
  case commit_it: d.commit_attempt(); break;
  case cancel:
    d.take(revoke_reservation{
      d.granted().attempt, d.granted().reservation, {reason::cancelled, ""}});
    break;
  default:
    d.acknowledge_abort();
    if (!d.said("cancel_sequence"))
      break;
    d.take(sequence_quiesced{d.granted().sequence});
    return true;
  }
  return readers_quiet;
}

} // namespace

TEST_CASE("all 720 orders of two arrivals, completion, commit, cancel and reclaim are safe") {
  std::array<int, 6> steps{arrive_0, arrive_1, complete, commit_it, cancel, reclaim};
  std::uint32_t orders = 0, commits = 0, credits = 0;
  do {
    destination d;
    std::array<bool, 6> before{};
    bool readers_quiet = false, committed = false;
    for (const int step : steps) {
      committed = committed
                  || (step == commit_it && before[arrive_0] && before[arrive_1] && !before[cancel]);
      readers_quiet = play(d, step, readers_quiet);
      before[static_cast<std::size_t>(step)] = true;
      CHECK(d.said("committed") == committed);
      const bool proven = d.lanes_quiet() == 2 && (!committed || readers_quiet);
      CHECK(d.free_bytes() == (before[cancel] && proven ? request_bytes : 0));
    }
    ++orders;
    commits += committed ? 1 : 0;
    credits += d.free_bytes() > 0 ? 1 : 0;
  } while (std::next_permutation(steps.begin(), steps.end()));
  CHECK(orders == 720);
  CHECK(commits == 60); // both arrivals before the commit, the cancel after it
  CHECK(credits > 0);
  CHECK(credits < 720);
}
