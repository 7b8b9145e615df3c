// Each of these breaks a healthy trace in one way; the check must name the invariant.
#include "tests/protocol/trace_cluster.hpp"
#include "tests/protocol/trace_findings.hpp"

#include <algorithm>
#include <doctest/doctest.h>

using namespace baton::protocol;
using namespace baton::tests;

namespace {

/// In memory order, the record before which another machine's record of the same time must stand.
std::size_t last_of(const memory_trace& trace, const std::string& machine,
                    const std::string& message) {
  std::size_t last = trace.records.size();
  for (std::size_t i = 0; i < trace.records.size(); ++i)
    if (trace.records[i].machine == machine && trace.records[i].message == message)
      last = i;
  return last;
}

void drop_effect(trace_record& r, const std::string& effect) {
  r.effects.erase(std::remove(r.effects.begin(), r.effects.end(), effect), r.effects.end());
}

} // namespace

TEST_CASE("a write of an old generation that lands after its block was granted again is I2") {
  memory_trace trace = record_hand_offs({});
  const std::size_t old = trace.find("lane", "piece_landed");
  const std::size_t second_grant = trace.find("reservation", "begin_reservation", 1);
  trace.insert_copy(old, second_grant, [](trace_record& r) { r.header.cause = 0; });
  const auto v = found(trace, "I2");
  CHECK(mentions(v, "generation 1"));
  CHECK(mentions(v, "begin_reservation"));
  CHECK_FALSE(v.what.blocks.empty());
}

TEST_CASE("a write that lands after its blocks were freed is I2") {
  memory_trace trace = record_hand_offs({1, false, 60'000});
  const std::size_t old = trace.find("lane", "piece_landed");
  trace.insert_copy(old, last_of(trace, "pool", "reclaim_blocks"),
                    [](trace_record& r) { r.header.cause = 0; });
  CHECK(mentions(found(trace, "I2"), "freed"));
}

TEST_CASE("a reclaim without a lane's stop evidence is I3") {
  memory_trace trace = record_hand_offs({});
  trace.erase(trace.find("lane", "receives_quiesced"));
  const auto v = found(trace, "I3");
  CHECK(mentions(v, "receives having quiesced"));
  CHECK(mentions(v, "reclaim_blocks"));
}

TEST_CASE("a reclaim before the readers have quiesced is I3") {
  memory_trace trace = record_hand_offs({});
  trace.erase(trace.find("reservation", "sequence_quiesced"));
  CHECK(mentions(found(trace, "I3"), "its readers having quiesced"));
}

TEST_CASE("a reclaim in place before the computing kernels have quiesced is I3") {
  memory_trace trace = record_hand_offs({1, true, 60'000});
  trace.erase(trace.find("source_hold", "sequence_quiesced"));
  CHECK(mentions(found(trace, "I3"), "compute it in place"));
}

TEST_CASE("a prompt that is computed in place after its blocks were freed is I2") {
  memory_trace trace = record_hand_offs({1, true, 60'000});
  const std::size_t free = last_of(trace, "pool", "reclaim_blocks");
  const auto owner = trace.records.at(trace.find("reservation", "begin_reservation"))
                       .event["opened"]["granted"]["reservation"];
  trace.insert_copy(free, trace.find("source_hold", "begin_hold"), [&](trace_record& r) {
    r.header.cause = 0;
    r.event["reservation"] = owner;
  });
  CHECK(mentions(found(trace, "I2"), "computed in place"));
}

TEST_CASE("source blocks that are reclaimed before the kernels have quiesced are I14") {
  memory_trace trace = record_hand_offs({});
  trace.erase(trace.find("source_hold", "sequence_quiesced"));
  CHECK(mentions(found(trace, "I14"), "kernels may write it"));
}

TEST_CASE("a block that is granted while another holds it is I1, and its generation I4") {
  memory_trace trace = record_hand_offs({});
  const std::size_t grant = trace.find("reservation", "begin_reservation");
  trace.insert_copy(grant, grant, [](trace_record& r) {
    r.actor = "reservation/99";
    r.event["opened"]["granted"]["reservation"]["number"] = 99;
  });
  CHECK(mentions(found(trace, "I1"), "reservation 99"));
  CHECK(mentions(found(trace, "I4"), "after generation 1"));
}

TEST_CASE("a commit at the very end of the lease is I5") {
  memory_trace trace = record_hand_offs({1, false, 5'000});
  const auto begun = trace.records.at(trace.find("reservation", "begin_reservation")).begin_ns;
  auto& commit = trace.records.at(trace.find("reservation", "commit"));
  commit.begin_ns = begun + 5'000'000'000;
  trace.index();
  CHECK(mentions(found(trace, "I5"), "after its lease ended"));
}

TEST_CASE("a commit of another manifest than the destination's own is I5") {
  memory_trace trace = record_hand_offs({});
  auto& offer = trace.records.at(trace.find("reservation", "manifest_offered"));
  offer.event["offered"]["model"]["dtype"] = "f32";
  CHECK(mentions(found(trace, "I5"), "model.dtype"));
}

TEST_CASE("a commit without a landed lane and a complete transfer is I5") {
  memory_trace trace = record_hand_offs({});
  trace.erase(trace.find("reservation", "lane_landed"));
  CHECK(mentions(found(trace, "I5"), "having landed"));
}

TEST_CASE("a commit without the router's claim is I5") {
  memory_trace trace = record_hand_offs({});
  auto& claimed = trace.records.at(trace.find("attempt", "commit_claimed"));
  claimed.event["refusal"] = {{"why", "stale_attempt"}, {"text", "a later attempt"}};
  CHECK(mentions(found(trace, "I5"), "claim"));
}

TEST_CASE("two commits of one attempt are I6") {
  memory_trace trace = record_hand_offs({});
  const std::size_t commit = trace.find("reservation", "commit");
  trace.insert_copy(commit, commit, [](trace_record&) {});
  CHECK(mentions(found(trace, "I6"), "commits a second time"));
}

TEST_CASE("a claim for an attempt while another owns the request is I6") {
  memory_trace trace = record_hand_offs({});
  const std::size_t claim = trace.find("attempt", "commit_claimed");
  trace.insert_copy(claim, claim, [](trace_record& r) {
    r.actor = "attempt/other";
    r.event["attempt"]["ordinal"] = 2;
  });
  CHECK(mentions(found(trace, "I6"), "while attempt 1 owns it"));
}

TEST_CASE("a sequence that reads blocks it was not granted is I7") {
  memory_trace trace = record_hand_offs({});
  trace.records.at(trace.find("rank_group", "activate_sequence")).event["blocks"][0] = 5;
  CHECK(mentions(found(trace, "I7"), "not granted"));
}

TEST_CASE("a skipped frame is I8") {
  memory_trace trace = record_hand_offs({});
  trace.erase(trace.find("", "frame_forwarded", 1));
  CHECK(mentions(found(trace, "I8"), "frame 2 of request"));
}

TEST_CASE("a repeated frame, and one of an attempt without a claim, are I8") {
  memory_trace twice = record_hand_offs({});
  const std::size_t frame = twice.find("", "frame_forwarded");
  twice.insert_copy(frame, frame, [](trace_record&) {});
  CHECK(mentions(found(twice, "I8"), "gets frame 0"));
  memory_trace stale = record_hand_offs({});
  stale.records.at(stale.find("", "frame_forwarded")).event["attempt"]["ordinal"] = 7;
  CHECK(mentions(found(stale, "I8"), "attempt 7"));
}

TEST_CASE("an activation by a reservation that drains is I9") {
  memory_trace trace = record_hand_offs({});
  auto& r = trace.records.at(trace.find("reservation", "sequence_quiesced"));
  r.effects.push_back("activate_sequence");
  CHECK(mentions(found(trace, "I9"), "still does activate_sequence"));
}

TEST_CASE("an attempt that acts on the word of a lost group is I10") {
  memory_trace trace = record_hand_offs({1, false, 60'000});
  const std::size_t placed = trace.find("attempt", "attempt_placed");
  trace.insert_copy(placed, placed, [](trace_record& r) {
    r.message = "group_lost";
    r.event = {{"group", "D0"}, {"why", {{"why", "peer_lost"}, {"text", "gone"}}}};
  });
  // The life was known before it was lost.
  CHECK(mentions(found(trace, "I10"), "whose group was lost"));
}

TEST_CASE("a piece from another life than the lane lets in is I10") {
  memory_trace trace = record_hand_offs({});
  auto& r = trace.records.at(trace.find("lane", "open_lane"));
  r.event["source_life"] = "000000000000000000000000000000aa";
  CHECK(mentions(found(trace, "I10"), "the lane lets in"));
}

TEST_CASE("a lease beyond its bound is I11") {
  memory_trace trace = record_hand_offs({});
  trace.records.at(trace.find("reservation", "begin_reservation")).event["lease_ms"] = 60'001;
  CHECK(mentions(found(trace, "I11"), "60001, the limit is 60000"));
}

TEST_CASE("a double release is I12") {
  memory_trace trace = record_hand_offs({});
  const std::size_t release = trace.find("pool", "reclaim_blocks");
  trace.insert_copy(release, release, [](trace_record&) {});
  CHECK(mentions(found(trace, "I12"), "released a second time"));
}

TEST_CASE("more blocks charged than the pool has is I12") {
  memory_trace trace = record_hand_offs({});
  trace.records.at(trace.find("pool", "form_pool")).event["blocks"] = 2;
  CHECK(mentions(found(trace, "I12"), "blocks of 2"));
}

TEST_CASE("a rank that runs other slices, or skips a step, is I13") {
  memory_trace other = record_hand_offs({});
  other.records.at(other.find("", "run_step", 1)).event["slices"][0]["start"] = 4;
  CHECK(mentions(found(other, "I13"), "another rank as"));
  memory_trace skipped = record_hand_offs({});
  skipped.erase(skipped.find("", "run_step", 2));
  CHECK(mentions(found(skipped, "I13"), "after step"));
}

TEST_CASE("source blocks that are reclaimed without a receipt or stop are I14") {
  memory_trace trace = record_hand_offs({});
  trace.erase(trace.find("source_hold", "feed_received"));
  CHECK(mentions(found(trace, "I14"), "neither receipt nor stop"));
}

TEST_CASE("a request without an outcome is I15") {
  memory_trace trace = record_hand_offs({});
  trace.erase(trace.find("", "request_ended"));
  CHECK(mentions(found(trace, "I15"), "req-1"));
}

TEST_CASE("a charge that is never released, and its actor, are I16, but not in a part of a trace") {
  memory_trace trace = record_hand_offs({1, false, 60'000});
  trace.erase(last_of(trace, "pool", "reclaim_blocks"));
  trace.erase(last_of(trace, "reservation", "blocks_reclaimed"));
  CHECK(mentions(found(trace, "I16"), "is left reclaiming"));
  const auto report = check_trace(trace, trace_extent::partial);
  for (const auto& v : report.violations)
    CHECK(v.what.id != "I16");
}

TEST_CASE("a truncated file is not judged at its end, and said so") {
  memory_trace trace = record_hand_offs({1, false, 60'000});
  const std::size_t from = trace.find("reservation", "commit") + 1;
  for (std::size_t i = trace.records.size(); i-- > from;)
    if (trace.section_of[i] == 1) // D0.0
      trace.erase(i);
  trace.all_sections[1].end = section_end::cut;
  const auto report = check_trace(trace, trace_extent::whole);
  for (const auto& v : report.violations)
    MESSAGE(to_text(v));
  CHECK(report.ok());
  REQUIRE(report.notes.size() == 1);
  CHECK(report.notes[0].find("D0.0.trace.jsonl: ") == 0);
}

TEST_CASE("an altered state, effect or event is a difference with what is expected and recorded") {
  memory_trace state = record_hand_offs({});
  state.records.at(state.find("reservation", "commit")).after = "complete";
  const auto v = found(state, "replay");
  CHECK(mentions(v, "D0.0:reservation/"));
  CHECK(mentions(v, "the machine says live, recorded is complete"));
  memory_trace effect = record_hand_offs({});
  drop_effect(effect.records.at(effect.find("reservation", "commit")), "mark_live");
  CHECK(mentions(found(effect, "replay"), "recorded is [committed, activate_sequence]"));
  memory_trace event = record_hand_offs({});
  event.records.at(event.find("lane", "stop_lane")).message = "admit_lane";
  CHECK(mentions(found(event, "replay"), "unknown type \"admit_lane\""));
}

TEST_CASE("what would make a machine assert is reported, not crashed on") {
  memory_trace trace = record_hand_offs({});
  auto& piece = trace.records.at(trace.find("lane", "piece_landed"));
  piece.event["piece"] = 4'000'000'000U;
  CHECK(mentions(found(trace, "replay"), "asserted"));
  memory_trace rank = record_hand_offs({});
  rank.records.at(rank.find("rank_group", "step_completed")).event["rank"] = 60'000;
  CHECK(mentions(found(rank, "replay"), "the group has no rank 60000"));
  memory_trace table = record_hand_offs({});
  auto& grant = table.records.at(table.find("reservation", "begin_reservation"));
  grant.event["opened"]["granted"]["prompt_blocks"] = 100;
  CHECK(mentions(found(table, "replay"), "more prompt blocks than blocks"));
}

TEST_CASE("a gap in a file stops its replay and is said") {
  memory_trace trace = record_hand_offs({1, false, 60'000});
  const std::size_t gone = trace.find("attempt", "reserve_granted");
  trace.erase(gone);
  trace.all_sections[0].lost = 1;
  trace.all_sections[0].first_gap = gone;
  const auto report = check_trace(trace, trace_extent::whole);
  for (const auto& v : report.violations)
    MESSAGE(to_text(v));
  CHECK(report.ok());
  CHECK(report.notes.at(0).find("1 records were lost") != std::string::npos);
}
