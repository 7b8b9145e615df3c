#include "protocol/path_choice.hpp"

#include <doctest/doctest.h>

using namespace baton::protocol;

namespace {

const std::string pair_of_groups = R"("executor": {"kind": "synthetic"}, "groups": [
  {"name": "P", "role": "prefill", "ranks": 2, "pool_blocks": 64},
  {"name": "D", "role": "decode", "ranks": 2, "pool_blocks": 64}])";

outcome<cluster_config> cluster(const std::string& fields) {
  return parse_cluster(R"({"name": "n", )" + fields + ", " + pair_of_groups + "}", "c.json");
}

path_cost cost(hand_off_path path, std::uint64_t bytes_per_s, const std::string& refused = "") {
  return {path, ucx_transport::any, bytes_per_s, refused};
}

constexpr auto pull = hand_off_path::pull;
constexpr auto shared_arena = hand_off_path::shared_arena;
constexpr auto in_place = hand_off_path::in_place;

} // namespace

TEST_CASE("a path by name is required, and nothing is measured") {
  const auto c = cluster(R"("path": "shared_arena")");
  REQUIRE(c);
  CHECK_FALSE(c.value().measures_path);
  CHECK(path_text(c.value()) == "shared_arena, as required");
}

TEST_CASE("a preference beside a path by name is a contradiction") {
  const auto c = cluster(R"("path": "pull", "prefer": "in_place")");
  REQUIRE_FALSE(c);
  CHECK(c.error().text.find("c.json: prefer") == 0);
}

TEST_CASE("every path is a candidate, pull over each transport that the file leaves") {
  const auto any = paths_to_measure(cluster(R"("path": "measured")").value());
  CHECK(any.size() == 5);
  const auto one = paths_to_measure(cluster(R"("path": "measured", "transport": "tcp")").value());
  REQUIRE(one.size() == 3);
  CHECK(one.back().transport == ucx_transport::tcp);
}

TEST_CASE("in place is ruled out, with the reason, where the groups' layouts differ") {
  auto c = cluster(R"("path": "measured")").value();
  c.groups[1].ranks = 1;
  const auto all = paths_to_measure(c);
  CHECK(all.front().path == in_place);
  CHECK(all.front().refused.find("needs the layout of group P") != std::string::npos);
  CHECK(all[1].refused == "");
}

TEST_CASE("what moves nothing is cheapest, then the highest rate") {
  CHECK(choose_path({cost(pull, 9), cost(in_place, 0), cost(shared_arena, 12)}, {}) == 1);
  CHECK(choose_path({cost(pull, 9), cost(in_place, 0, "no"), cost(shared_arena, 12)}, {}) == 2);
}

TEST_CASE("a preferred path is taken whatever it costs, and only where it can be") {
  CHECK(choose_path({cost(pull, 9), cost(shared_arena, 12)}, pull) == 0);
  CHECK(choose_path({cost(pull, 9, "no"), cost(shared_arena, 12)}, pull) == 1);
}

TEST_CASE("where every path is refused there is none to take") {
  CHECK(choose_path({cost(pull, 0, "no"), cost(shared_arena, 0, "no")}, {}) == std::nullopt);
}

TEST_CASE("a transport that UCX has dropped without a word is noticed") {
  CHECK(wrong_transport(ucx_transport::any, "pull tcp") == "");
  CHECK(wrong_transport(ucx_transport::cma, "pull posix/cma") == "");
  const std::string why = wrong_transport(ucx_transport::cma, "pull tcp");
  CHECK(why.find("cma is required") != std::string::npos);
  CHECK(wrong_transport(ucx_transport::tcp, "pull posix/cma/tcp") != "");
  CHECK(wrong_transport(ucx_transport::shared_memory, "pull posix") == "");
}

TEST_CASE("the resolved file says what the path was chosen by, and reads back equal") {
  auto c = cluster(R"("path": "measured", "prefer": "pull")").value();
  c.measures_path = false;
  c.path = pull;
  c.transport = ucx_transport::tcp;
  c.path_costs = {{in_place, ucx_transport::any, 0, "because"},
                  {pull, ucx_transport::tcp, 2'910'000'000, ""}};
  const auto again = parse_cluster(resolved(c), "cluster.json");
  REQUIRE_MESSAGE(again, again.error().text);
  c.prefer = in_place;
  CHECK(path_text(c).find("in_place is preferred and cannot be taken") != std::string::npos);
  CHECK(path_text(again.value())
        == "pull over tcp, as preferred; measured: in_place: because; pull over tcp 2.91 GB/s");
}
