#include "protocol/load_forecast.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace baton::protocol;

namespace {

constexpr std::uint64_t budget = 10; ///< bytes in flight
const group_name p7{"P7"};
const group_name p8{"P8"};

struct holder {
  expected_work work;
  double held_ms = 0;
};

/// What the newcomer finds behind holders and waiters.
struct row {
  std::string says;
  pool_room free;
  std::vector<holder> holders;
  std::vector<expected_work> waiters;
  expected_work newcomer;
  double queue_ms;
  std::uint32_t decoding;
};

expected_work live(double decode_ms, pool_room charge) { return {p7, 0, 0, decode_ms, charge}; }

const expected_work small{p7, 10, 5, 100, {1, 1, 1}};

const std::vector<row> rows = {
  {"an empty pool", {9, 9, budget}, {}, {}, small, 0, 0},
  {"the prompt that is ahead, as far as it is not computed",
   {9, 9, budget}, {{{p7, 300, 0, 1, {}}, 100}}, {}, small, 200, 0},
  {"a prompt that should be computed by now keeps nobody waiting",
   {9, 9, budget}, {{{p7, 300, 0, 1, {}}, 900}}, {}, small, 0, 0},
  {"only the first of a source has been computed while it was held",
   {9, 9, budget}, {{{p7, 300, 0, 1, {}}, 100}, {{p7, 200, 0, 1, {}}, 90}}, {}, small, 400, 0},
  {"another source computes beside it",
   {9, 9, budget}, {{{p8, 300, 0, 1, {}}, 0}}, {}, small, 0, 0},
  {"the first slot that comes back",
   {9, 0, budget}, {{live(80, {1, 1, 0})}, {live(50, {1, 1, 0})}}, {}, small, 50, 1},
  {"who waits already takes the first, the newcomer the second",
   {9, 0, budget}, {{live(80, {1, 1, 0})}, {live(50, {1, 1, 0})}}, {small}, small, 80, 1},
  {"one who waits ends as well and gives back",
   {9, 0, budget}, {{live(50, {1, 1, 0})}}, {small}, small, 165, 0},
  {"as many blocks as are short come back in the order of the ends",
   {1, 9, budget}, {{live(80, {2, 1, 0})}, {live(50, {2, 1, 0})}}, {},
   {p7, 10, 5, 100, {5, 1, 0}}, 80, 0},
  {"a small one does not overtake a large one",
   {1, 9, budget}, {{live(80, {2, 1, 0})}, {live(50, {2, 1, 0})}},
   {{p7, 10, 5, 100, {5, 1, 0}}}, small, 195, 0},
  {"bytes in flight come back with the hand-over, not with the end",
   {9, 9, 2}, {{{p8, 60, 40, 900, {1, 1, 8}}, 0}}, {}, {p7, 10, 5, 100, {1, 1, 4}}, 100, 1},
  {"more than the whole budget waits until nothing else is in flight",
   {9, 9, 2},
   {{{p8, 60, 40, 900, {1, 1, 4}}, 0}, {{p8, 60, 40, 900, {1, 1, 4}}, 0}}, {},
   {p7, 10, 5, 100, {1, 1, 40}}, 160, 2},
  {"more than the whole budget enters an empty pool at once",
   {9, 9, budget}, {}, {}, {p7, 10, 5, 100, {1, 1, 40}}, 0, 0},
  {"behind more than the whole budget everybody waits for its landing",
   {9, 9, budget}, {}, {{p8, 10, 5, 100, {1, 1, 40}}}, small, 15, 1},
  {"who decodes past the hand-over is a neighbour, who ends before it is not",
   {9, 9, budget}, {{live(14, {1, 1, 0})}, {live(16, {1, 1, 0})}}, {}, small, 0, 1},
  {"who is handed over before decodes by then",
   {9, 9, budget}, {{{p7, 20, 5, 100, {1, 1, 1}}, 0}}, {}, small, 20, 1},
  {"what is never given back is not waited for",
   {0, 0, budget}, {}, {}, small, 0, 0},
};

} // namespace

TEST_CASE("a newcomer finds the load that is predicted for the end of its prefill") {
  for (const row& r : rows) {
    CAPTURE(r.says);
    load_forecast forecast(r.free, budget);
    for (const holder& h : r.holders)
      forecast.hold(h.work, h.held_ms);
    for (const expected_work& w : r.waiters)
      forecast.wait(w);
    const expected_load found = forecast.enter(r.newcomer);
    CHECK(found.queue_ms == doctest::Approx(r.queue_ms));
    CHECK(found.decoding == r.decoding);
  }
}
