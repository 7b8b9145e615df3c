#include "protocol/mapped_lanes.hpp"

#include "tests/protocol/hand_off_samples.hpp"

#include <doctest/doctest.h>

using namespace baton::protocol;
using namespace baton::tests;

namespace {

const incarnation writer{7, 1};
const incarnation other_life{7, 9};
const reservation_id hold{{7, 1}, 4};

lane_id lane(std::uint64_t number) { return {{{3, 1}, number}, {0}, {0}}; }

open_lane opened(std::uint64_t number, const incarnation& life = writer) {
  open_lane e;
  e.lane = lane(number);
  e.attempt = sample_attempt();
  e.source_node = {"P7.0"};
  e.hold = hold;
  e.writer = life;
  return e;
}

open_feed feed(std::uint64_t number, std::uint64_t sequence) {
  open_feed e;
  e.lane = lane(number);
  e.attempt = sample_attempt();
  e.sequence = {sequence};
  e.destination_node = {"D3.0"};
  e.mapped = true;
  return e;
}

ask_writer ask(std::uint64_t number) { return {lane(number), sample_attempt(), hold}; }

/// A lane that waits for its writer since 0 ms.
written_lanes waiting() {
  written_lanes lanes;
  CHECK_FALSE(lanes.begin(opened(1)));
  CHECK_FALSE(lanes.reader_ended(lane(1), at_ms(0)));
  return lanes;
}

using lane_list = std::vector<lane_id>;

} // namespace

TEST_CASE("a lane that is written in place has stopped when its writer says so, and not before") {
  written_lanes lanes = waiting();
  CHECK(lanes.questions().size() == 1);
  CHECK(lanes.questions().at(0).source == node_name{"P7.0"});
  CHECK(lanes.questions().at(0).ask == ask(1));
  CHECK_FALSE(lanes.reader_ended(lane(1), at_ms(5))); // said again
  CHECK(lanes.take({lane(1), writer}) == lane_list{lane(1)});
  CHECK(lanes.take({lane(1), writer}).empty()); // and once
  CHECK(lanes.questions().empty());
}

TEST_CASE("a writer may stop before its lane's reader does") {
  written_lanes lanes;
  CHECK_FALSE(lanes.begin(opened(1)));
  CHECK(lanes.questions().empty()); // nobody waits
  CHECK(lanes.take({lane(1), writer}).empty());
  CHECK(lanes.reader_ended(lane(1), at_ms(0)));
}

TEST_CASE("a lane that is not written in place stops with its reader") {
  written_lanes lanes;
  CHECK(lanes.reader_ended(lane(1), at_ms(0)));
}

TEST_CASE("the word of another life, or of a lane that is gone, is no evidence") {
  written_lanes lanes = waiting();
  CHECK(lanes.take({lane(1), other_life}).empty());
  CHECK(lanes.take({lane(2), writer}).empty());
  CHECK(lanes.process_ended(other_life, process_end::collected).empty());
  CHECK(lanes.questions().size() == 1);
  lanes.forget(lane(1));
  CHECK(lanes.take({lane(1), writer}).empty());
}

TEST_CASE("a dead and collected process writes no lane, and no new one") {
  written_lanes lanes = waiting();
  CHECK_FALSE(lanes.begin(opened(2)));
  CHECK_FALSE(lanes.begin(opened(3, other_life)));
  CHECK(lanes.process_ended(writer, process_end::died).empty());
  CHECK(lanes.process_ended(writer, process_end::collected) == lane_list{lane(1)});
  CHECK(lanes.reader_ended(lane(2), at_ms(1)));
  CHECK_FALSE(lanes.reader_ended(lane(3), at_ms(1)));
  CHECK(lanes.begin(opened(4)).why == reason::peer_lost);
  CHECK(lanes.reader_ended(lane(4), at_ms(1)));
}

TEST_CASE("pages are replaced while a silent writer's blocks are unread, never while they live") {
  written_lanes lanes = waiting();
  CHECK(lanes.overdue(at_ms(60'000), 10'000).empty()); // the reservation may be live
  lanes.unread(lane(1));
  CHECK(lanes.overdue(at_ms(9'999), 10'000).empty());
  CHECK(lanes.overdue(at_ms(10'000), 10'000) == lane_list{lane(1)});
  CHECK(lanes.pages_replaced(lane(1)) == lane_list{lane(1)});
  CHECK(lanes.overdue(at_ms(60'000), 10'000).empty());
  CHECK(lanes.take({lane(1), writer}).empty()); // its word comes too late to mean anything
  const failure refused = lanes.begin(opened(2)); // it would write into pages that nobody reads
  CHECK(refused.why == reason::peer_lost);
  CHECK(refused.text == "P7.0: its process has ended, or was cut off from this memory");
}

TEST_CASE("a block whose pages were replaced is written in place by no life any more") {
  written_lanes lanes;
  open_lane first = opened(1);
  first.blocks = {{{3}, {1}}, {{4}, {1}}};
  CHECK_FALSE(lanes.begin(first));
  CHECK(lanes.pages_replaced(lane(1)).empty());
  open_lane later = opened(2, other_life);
  later.blocks = {{{5}, {1}}, {{4}, {2}}};
  CHECK(lanes.begin(later).text == "block 4: its pages were replaced, and are no longer shared");
  CHECK(lanes.reader_ended(lane(2), at_ms(0)));
  later = opened(3, other_life);
  later.blocks = {{{5}, {2}}};
  CHECK_FALSE(lanes.begin(later));
}

TEST_CASE("a writer's rank answers when its device has ended the sequence") {
  lane_writers writers;
  writers.begin(feed(1, 5));
  CHECK_FALSE(writers.ask(ask(1), {"D3.0"})); // it is at work
  CHECK(writers.take(sequence_ended{{6}}).empty());
  const auto said = writers.take(sequence_ended{{5}});
  REQUIRE(said.size() == 1);
  CHECK(said[0].destination == node_name{"D3.0"});
  CHECK(said[0].lane == lane(1));
  CHECK(writers.take(sequence_ended{{5}}).empty());
}

TEST_CASE("a rank that has missed the end asks for the hold, then its device, and then answers") {
  lane_writers writers;
  writers.begin(feed(1, 5));
  CHECK_FALSE(writers.ask(ask(1), {"D3.0"}));
  CHECK(writers.ask(ask(1), {"D3.0"})); // asked again
  CHECK(writers.take(writing_ended{sample_attempt()}).empty()); // the hold may still submit
  CHECK(writers.hold_gone(hold));
  CHECK(writers.take(writing_ended{sample_attempt(2)}).empty());
  CHECK(writers.take(writing_ended{sample_attempt()}).size() == 1);
}

TEST_CASE("a lane that its source rank never heard of is asked for at its hold") {
  lane_writers writers;
  CHECK(writers.ask(ask(1), {"D3.0"}));
  CHECK_FALSE(writers.hold_gone({{7, 1}, 5}));
  CHECK(writers.hold_gone(hold));
  CHECK(writers.take(writing_ended{sample_attempt()}).size() == 1);
}
