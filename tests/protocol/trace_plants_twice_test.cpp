// An attempt may have a second reservation or a second source hold: a word that came late was
// granted again. Neither may be taken for the other, in either direction: no false violation, and
// none hidden.
#include "tests/protocol/trace_cluster.hpp"
#include "tests/protocol/trace_findings.hpp"

#include <doctest/doctest.h>

using namespace baton::protocol;
using namespace baton::tests;

namespace {

constexpr std::uint64_t second = 99;

/// Its attempt's reservation once more, a younger one that holds no blocks.
void add_second_reservation(memory_trace& trace) {
  const std::size_t begun = trace.find("reservation", "begin_reservation");
  trace.insert_copy(begun, begun, [](trace_record& r) {
    r.actor = "reservation/99";
    auto& granted = r.event["opened"]["granted"];
    granted["reservation"]["number"] = second;
    granted["sequence"] = second;
    granted["blocks"] = json::array();
    granted["prompt_blocks"] = 0;
  });
}

/// The first request's source hold once more, for the same reservation.
void add_second_hold(memory_trace& trace) {
  const std::size_t begun = trace.find("source_hold", "begin_hold");
  trace.insert_copy(begun, begun, [](trace_record& r) {
    r.actor = "source_hold/99";
    r.event["opened"]["hold"]["number"] = second;
    r.event["opened"]["sequence"] = second;
    r.event["opened"]["blocks"] = json::array();
  });
}

/// The second hold's feed of the first lane, and then its blocks' release.
void add_second_feed_and_release(memory_trace& trace) {
  const std::size_t feed = trace.find("feed", "open_feed");
  trace.insert_copy(feed, feed, [](trace_record& r) {
    r.actor += " again";
    r.event["sequence"] = second;
  });
  const json of_hold = trace.records.at(trace.find("source_hold", "begin_hold"))
                         .event["opened"]["hold"];
  std::size_t release = trace.records.size();
  for (std::size_t i = 0; i < trace.records.size() && release == trace.records.size(); ++i)
    if (trace.records[i].message == "reclaim_blocks"
        && trace.records[i].event["reservation"] == of_hold)
      release = i;
  trace.insert_copy(release, release,
                    [](trace_record& r) { r.event["reservation"]["number"] = second; });
}

} // namespace

TEST_CASE("a sequence reads its own reservation's blocks, although its attempt has a younger one") {
  memory_trace trace = record_hand_offs({});
  add_second_reservation(trace);
  CHECK(keeps(trace, "I7"));
  auto& activated = trace.records.at(trace.find("rank_group", "activate_sequence"));
  activated.event["blocks"][0] = 5;
  CHECK(mentions(found(trace, "I7"), "blocks that it was not granted"));
}

TEST_CASE("a sequence that was granted to no reservation of its attempt is I7") {
  memory_trace trace = record_hand_offs({});
  trace.records.at(trace.find("rank_group", "activate_sequence")).event["sequence"] = second;
  CHECK(mentions(found(trace, "I7"), "a sequence that it was not granted"));
}

TEST_CASE("a sequence of the younger reservation, which never committed, is I7") {
  memory_trace trace = record_hand_offs({});
  add_second_reservation(trace);
  trace.records.at(trace.find("rank_group", "activate_sequence")).event["sequence"] = second;
  CHECK(mentions(found(trace, "I7"), "before its commit"));
}

TEST_CASE("the feeds of a hold end for it alone, although its reservation has a second hold") {
  memory_trace trace = record_hand_offs({});
  add_second_hold(trace);
  CHECK(keeps(trace, "I14"));
  trace.erase(trace.find("source_hold", "feed_received"));
  CHECK(mentions(found(trace, "I14"), "source hold 1 is reclaimed while lane"));
}

TEST_CASE("a second hold that is reclaimed while its own feed may read is I14") {
  memory_trace trace = record_hand_offs({});
  add_second_hold(trace);
  add_second_feed_and_release(trace);
  CHECK(mentions(found(trace, "I14"), "source hold 99 is reclaimed while lane"));
}

TEST_CASE("a feed that begins after its hold was told that it has ended is I14") {
  memory_trace trace = record_hand_offs({1, false, 60'000});
  const std::size_t feed = trace.find("feed", "open_feed");
  trace.insert_copy(feed, trace.find("source_hold", "feed_received", 1),
                    [](trace_record& r) { r.header.cause = 0; });
  CHECK(mentions(found(trace, "I14"), "neither receipt nor stop"));
}

TEST_CASE("a reclaim in place before the first of two holds has quiesced is I3") {
  memory_trace trace = record_hand_offs({1, true, 60'000});
  add_second_hold(trace);
  CHECK(keeps(trace, "I3"));
  trace.erase(trace.find("source_hold", "sequence_quiesced"));
  CHECK(mentions(found(trace, "I3"), "compute it in place"));
}

TEST_CASE("a word of a reservation's end that the network repeats is fine, a second one is I12") {
  memory_trace trace = record_hand_offs({});
  const std::size_t told = trace.find("attempt", "reservation_reclaimed");
  trace.insert_copy(told, told, [](trace_record&) {});
  CHECK(keeps(trace, "I12"));
  trace.insert_copy(told, told, [](trace_record& r) { r.header.cause = 0; });
  CHECK(mentions(found(trace, "I12"), "is said to be reclaimed a second time"));
}

TEST_CASE("a reservation that says twice that it is reclaimed is I12, at once or later") {
  memory_trace at_once = record_hand_offs({});
  auto& ended = at_once.records.at(at_once.find("reservation", "blocks_reclaimed"));
  ended.effects.insert(ended.effects.begin(), reservation_reclaimed::type);
  CHECK(mentions(found(at_once, "I12"), "says a second time that it is reclaimed"));
  memory_trace later = record_hand_offs({});
  const std::size_t end = later.find("reservation", "blocks_reclaimed");
  later.insert_copy(end, end, [](trace_record&) {});
  CHECK(mentions(found(later, "I12"), "says a second time that it is reclaimed"));
}

namespace {

/// The request grants the claim of another attempt too, which hears so before the first one does.
void add_second_claim(memory_trace& trace, std::uint32_t ordinal) {
  const std::size_t claim = trace.find("request", "claim_commit");
  trace.insert_copy(claim, claim, [&](trace_record& r) {
    r.header.cause = 0;
    r.event["attempt"]["ordinal"] = ordinal;
  });
  const std::size_t told = trace.find("attempt", "commit_claimed");
  trace.insert_copy(told, trace.find("request", "claim_commit", 1), [&](trace_record& r) {
    r.actor = "attempt/other";
    r.header.cause = 0;
    r.event["attempt"]["ordinal"] = ordinal;
  });
}

/// The request hears that the first attempt gave up.
void add_giving_up(memory_trace& trace, std::size_t after) {
  trace.insert_copy(trace.find("request", "claim_commit"), after, [](trace_record& r) {
    r.header.cause = 0;
    r.message = "attempt_failed";
    r.event["why"] = {{"why", "lease_expired"}, {"text", "late"}};
    r.effects = {};
  });
}

} // namespace

TEST_CASE("an attempt that hears late of a claim it has given up is fine, whoever owns by then") {
  memory_trace trace = record_hand_offs({1, false, 60'000});
  add_second_claim(trace, 2);
  CHECK(mentions(found(trace, "I6"), "owns it"));
  add_giving_up(trace, trace.find("request", "claim_commit"));
  CHECK(keeps(trace, "I6"));
}

TEST_CASE("a claim that is granted again after it was given up, while another owns, is I6") {
  memory_trace trace = record_hand_offs({1, false, 60'000});
  add_second_claim(trace, 2);
  const std::size_t claim = trace.find("request", "claim_commit");
  add_giving_up(trace, claim);
  const std::size_t second_claim = trace.find("request", "claim_commit", 1);
  trace.insert_copy(claim, second_claim, [](trace_record& r) { r.header.cause = 0; });
  CHECK(mentions(found(trace, "I6"), "owns it"));
}

TEST_CASE("asking a lost group to give back is no act on its word; anything else is I10") {
  memory_trace trace = record_hand_offs({1, false, 60'000});
  const std::size_t last = trace.find("attempt", "reservation_reclaimed");
  trace.insert_copy(trace.find("attempt", "reserve_granted"), last, [&](trace_record& r) {
    r.before = r.after = trace.records[last].after;
    r.effects = {"revoke_reservation"};
  });
  trace.insert_copy(last, last, [](trace_record& r) {
    r.header.cause = 0;
    r.header.sender = "router:router";
    r.message = "group_lost";
    r.event = {{"group", "D0"}, {"why", {{"why", "peer_lost"}, {"text", "gone"}}}};
  });
  CHECK(keeps(trace, "I10"));
  trace.records.at(trace.find("attempt", "reserve_granted", 1)).effects.push_back("start_prefill");
  CHECK(mentions(found(trace, "I10"), "acts on reserve_granted"));
}
