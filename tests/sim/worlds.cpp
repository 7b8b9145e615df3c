#include "tests/sim/worlds.hpp"

namespace baton::sim {

namespace {

world_setup base(const char* name, std::uint8_t ranks, std::size_t requests,
                 std::uint32_t blocks) {
  world_setup s;
  s.name = name;
  s.shape.prefill_ranks = ranks;
  s.shape.decode_ranks = ranks;
  s.shape.prefill_blocks = blocks;
  s.shape.decode_blocks = blocks;
  s.requests.resize(requests);
  s.generations_max = 3;
  return s;
}

small_world with(world_setup s, const budgets& may, std::uint64_t states) {
  s.may = may;
  return {std::move(s), states, true};
}

std::vector<small_world> make() {
  std::vector<small_world> all;
  all.push_back(with(base("one request, quiet", 1, 1, 1), {}, 0));
  return all;
}

} // namespace

const std::vector<small_world>& small_worlds() {
  static const std::vector<small_world> all = make();
  return all;
}

const small_world* find_world(const std::string& name) {
  for (const small_world& w : small_worlds())
    if (w.setup.name == name)
      return &w;
  return nullptr;
}

} // namespace baton::sim
