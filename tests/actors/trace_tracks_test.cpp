#include "actors/trace_tracks.hpp"

#include "actors/trace_blocks.hpp"

#include <doctest/doctest.h>
#include <sstream>

using namespace baton::protocol;
using namespace baton::actors;

namespace {

std::vector<trace_section> two_nodes() {
  std::vector<trace_section> sections(2);
  sections[0].header.node = {"D3.0"};
  sections[1].header.node = {"router"};
  return sections;
}

/// The events, in the order in which they were written.
std::vector<json> events_of(const std::string& text) {
  const auto read = parse_text(text);
  REQUIRE(read.ok());
  return read.value()["traceEvents"].get<std::vector<json>>();
}

} // namespace

TEST_CASE("tracks: an empty trace is a valid one") {
  std::ostringstream out;
  const std::vector<trace_section> none;
  const std::vector<trace_key> no_keys;
  track_writer tracks(none, no_keys, 0, out);
  tracks.open();
  tracks.close();
  CHECK(events_of(out.str()).empty());
}

TEST_CASE("tracks: names come once, times count from the origin, no slice is without length") {
  const auto sections = two_nodes();
  const std::vector<trace_key> keys = {{1, 0, 5'000'001, 0, 0}, {2, 1, 5'002'500, 1, 1}};
  std::ostringstream out;
  track_writer tracks(sections, keys, 5'000'000, out);
  tracks.open();
  tracks.slice(keys[0], "pool/D3", "say \"so\"", {5'000'001, 5'000'001}, {{"a", 1}});
  tracks.slice(keys[0], "pool/D3", "again", {5'000'100, 5'001'100}, json::object());
  tracks.slice(keys[1], "router", "heard", {5'002'500, 5'003'500}, json::object());
  tracks.flow(7, keys[0], keys[1], "heard");
  tracks.close();

  std::vector<json> slices, flows;
  int thread_names = 0;
  for (const json& e : events_of(out.str())) {
    if (e["ph"] == "X")
      slices.push_back(e);
    if (e["ph"] == "s" || e["ph"] == "f")
      flows.push_back(e);
    thread_names += e["ph"] == "M" && e["name"] == "thread_name" ? 1 : 0;
  }
  CHECK(thread_names == 2);
  REQUIRE(slices.size() == 3);
  CHECK(slices[0]["name"] == "say \"so\"");
  CHECK(slices[0]["ts"].get<double>() == doctest::Approx(0.001));
  CHECK(slices[0]["dur"].get<double>() == doctest::Approx(0.001));
  CHECK(slices[1]["dur"].get<double>() == doctest::Approx(1.0));
  CHECK(slices[0]["tid"] == slices[1]["tid"]);
  CHECK(slices[0]["tid"] != slices[2]["tid"]);
  REQUIRE(flows.size() == 2);
  CHECK(flows[0]["id"] == flows[1]["id"]);
  CHECK(flows[0]["ts"] == slices[0]["ts"]);
  CHECK(flows[1]["ts"] == slices[2]["ts"]);
}

TEST_CASE("a choice of blocks is a group, or a group and the number of a block") {
  const auto group = parse_block_choice("D3");
  REQUIRE(group.ok());
  CHECK(group.value().group == "D3");
  CHECK_FALSE(group.value().block.has_value());
  const auto one = parse_block_choice("D3:17");
  REQUIRE(one.ok());
  CHECK(one.value().block == std::uint32_t{17});
  for (const char* wrong : {"D3:", "D3:x", "D3:-1", "D3:1.5", "D3:9999999999"})
    CHECK_FALSE(parse_block_choice(wrong).ok());
}
