// A libFuzzer driver: the bytes are the choices of a seeded run. Coverage of protocol/ leads the
// search, which a random seed knows nothing of.
//
//   cmake -S . -B build/fuzz -G Ninja -DCMAKE_CXX_COMPILER=clang++ -DBATON_FUZZ=ON
//   cmake --build build/fuzz --target fuzz_hand_off
//   mkdir -p corpus && build/fuzz/tests/sim/fuzz_hand_off -max_total_time=600 corpus
//
// Byte 0 chooses the frame, then each pick is 16 bits, low byte first; past the end every choice is
// the dullest one. A run that breaks an invariant is shown as a chart and a tape (shrunk; `simulate
// --replay` runs it) and ends the process; libFuzzer keeps the bytes as crash-….
#include "tests/sim/chart.hpp"

#include <cstdio>
#include <cstdlib>

namespace {

using namespace baton::sim;

/// More picks than the frames below ever take.
constexpr std::size_t picks_max = 4'000;

tape tape_of(const std::uint8_t* data, std::size_t size) {
  static constexpr const char* names[] = {"small", "retry"};
  tape t{names[size == 0 ? 0 : data[0] % 2], {}, "found by the fuzzer"};
  for (std::size_t i = 1; i + 1 < size && t.picks.size() < picks_max; i += 2)
    t.picks.push_back(data[i] | std::uint32_t{data[i + 1]} << 8);
  return t;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const tape t = tape_of(data, size);
  const run_result run = replay(t);
  if (run.broken.empty())
    return 0;
  const tape small = shrink(t, 1'000);
  std::fprintf(stderr, "%s\n%s\n", chart_of(small).c_str(), to_text(small).c_str());
  std::abort();
}
