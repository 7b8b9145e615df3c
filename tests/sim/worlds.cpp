#include "tests/sim/worlds.hpp"

namespace baton::sim {

namespace {

/// Requests, blocks of each pool, ranks of each group.
world_setup cluster(const char* name, std::size_t requests, std::uint32_t blocks,
                    std::uint8_t ranks) {
  world_setup s;
  s.name = name;
  s.shape.prefill_ranks = ranks;
  s.shape.decode_ranks = ranks;
  s.shape.prefill_blocks = blocks;
  s.shape.decode_blocks = blocks;
  s.requests.resize(requests);
  s.generations_max = 3;
  s.merging = true;
  return s;
}

/// Requests that wait for room instead of being refused.
world_setup patient(world_setup s) {
  for (request_plan& r : s.requests)
    r.waits = true;
  return s;
}

/// Two decode groups and a second try.
world_setup with_retry(world_setup s) {
  s.shape.decode_groups = 2;
  for (request_plan& r : s.requests)
    r.retries = 1;
  return s;
}

world_setup asymmetric(world_setup s, std::uint8_t prefill_ranks, std::uint8_t decode_ranks) {
  s.shape.prefill_ranks = prefill_ranks;
  s.shape.decode_ranks = decode_ranks;
  return s;
}

/// In any order, but requests that do not meet are looked at one after the other; what goes wrong
/// goes wrong for the first.
world_setup apart(world_setup s) {
  s.reduced = true;
  s.first_only = true;
  return s;
}

/// Prefill ranks compute into the memory of the decode ranks.
world_setup mapped(world_setup s) {
  s.shape.mapped = true;
  return s;
}

/// Mailboxes of one node interleave too, and each keeps its order.
world_setup interleaved(world_setup s) {
  s.local_queues = true;
  s.overtaking = false;
  return s;
}

budgets one(std::uint8_t budgets::*fault) {
  budgets b;
  b.*fault = 1;
  return b;
}
budgets two(std::uint8_t budgets::*a, std::uint8_t budgets::*b) {
  budgets both = one(a);
  ++(both.*b);
  return both;
}

/// Every run with at most so many steps out of the ordinary, of any sort.
budgets at_most(std::uint8_t deviations) {
  return {deviations, deviations, 1,          deviations,
          deviations, deviations, deviations, deviations};
}

/// The same, and writers that are not heard.
budgets with_silences(budgets b, std::uint8_t silences) {
  b.silences = silences;
  return b;
}

enum class where : std::uint8_t { ci, long_run };

class adder {
public:
  explicit adder(std::vector<small_world>& all) : all_(all) {}

  void operator()(world_setup s, const budgets& may, std::uint64_t states,
                  where searched = where::ci) const {
    s.may = may;
    all_.push_back({std::move(s), states, searched == where::ci});
  }

private:
  std::vector<small_world>& all_;
};

/// In place between two groups.
void add_mapped(std::vector<small_world>& all) {
  const adder add(all);
  using b = budgets;
  add(mapped(cluster("mapped, 1 rank", 1, 1, 1)), {}, 5'829);
  add(mapped(cluster("mapped, 1 rank, loss", 1, 1, 1)), one(&b::losses), 48'614);
  add(mapped(cluster("mapped, 1 rank, copy", 1, 1, 1)), one(&b::copies), 417'412);
  add(mapped(cluster("mapped, 1 rank, crash", 1, 1, 1)), one(&b::crashes), 91'230);
  add(mapped(cluster("mapped, 1 rank, cancel", 1, 1, 1)), one(&b::cancels), 109'333);
  add(mapped(cluster("mapped, 1 rank, cancel and silence", 1, 1, 1)),
      two(&b::cancels, &b::silences), 134'355);
  add(mapped(cluster("mapped, 1 rank, lease and silence", 1, 1, 1)),
      two(&b::expiries, &b::silences), 320'749);
  add(mapped(cluster("mapped, 2 ranks", 1, 1, 2)), {}, 4'047'475, where::long_run);
  add(mapped(cluster("mapped, 2 requests, 1 block, 2 ranks", 2, 1, 2)),
      with_silences(at_most(3), 1), 2'350'707, where::long_run);
  add(mapped(cluster("mapped, 2 requests, 2 blocks, 2 ranks", 2, 2, 2)),
      with_silences(at_most(2), 1), 534'213);
  add(mapped(patient(cluster("mapped, 2 requests waiting, 1 block, 1 rank", 2, 1, 1))),
      with_silences(at_most(3), 1), 820'424);
}

std::vector<small_world> make() {
  std::vector<small_world> all;
  const adder add(all);
  using b = budgets;
  // Complete: messages in any order whatever.
  add(cluster("1 request, 1 rank", 1, 1, 1), {}, 2'723);
  add(cluster("1 request, 1 rank, loss", 1, 1, 1), one(&b::losses), 22'563);
  add(cluster("1 request, 1 rank, copy", 1, 1, 1), one(&b::copies), 439'067);
  add(cluster("1 request, 1 rank, crash", 1, 1, 1), one(&b::crashes), 26'339);
  add(cluster("1 request, 1 rank, cancel", 1, 1, 1), one(&b::cancels), 24'538);
  add(cluster("1 request, 1 rank, lease", 1, 1, 1), one(&b::expiries), 22'104);
  add(cluster("1 request, 1 rank, wrong bytes", 1, 1, 1), one(&b::spoils), 3'958);
  add(cluster("1 request, 1 rank, loss and crash", 1, 1, 1), two(&b::losses, &b::crashes), 182'251);
  add(cluster("1 request, 1 rank, cancel and lease", 1, 1, 1), two(&b::cancels, &b::expiries),
      95'878);
  add(cluster("1 request, 1 rank, loss and lease", 1, 1, 1), two(&b::losses, &b::expiries),
      159'335);
  add(cluster("1 request, 1 rank, copy and cancel", 1, 1, 1), two(&b::copies, &b::cancels),
      4'748'511,
      where::long_run);
  add(cluster("1 request, 1 rank, copy and lease", 1, 1, 1), two(&b::copies, &b::expiries),
      3'362'773,
      where::long_run);
  add(asymmetric(cluster("1 request, TP 2 to 1", 1, 1, 1), 2, 1), {}, 95'843);
  add(asymmetric(cluster("1 request, TP 1 to 2", 1, 1, 1), 1, 2), {}, 65'498);
  add(cluster("1 request, 2 ranks", 1, 1, 2), {}, 338'403);
  add(cluster("1 request, 2 ranks, cancel", 1, 1, 2), one(&b::cancels), 4'488'662, where::long_run);
  add(cluster("1 request, 2 ranks, crash", 1, 1, 2), one(&b::crashes), 1'295'467, where::long_run);
  add(interleaved(cluster("1 request, 1 rank, mailboxes", 1, 1, 1)), {}, 348'245);
  // Complete, without the orders that differ in nothing.
  add(apart(cluster("2 requests, 1 block, 1 rank", 2, 1, 1)), {}, 297'503);
  add(apart(cluster("2 requests, 1 block, 1 rank, loss", 2, 1, 1)), one(&b::losses), 944'723);
  add(apart(cluster("2 requests, 1 block, 1 rank, cancel", 2, 1, 1)), one(&b::cancels), 2'701'873,
      where::long_run);
  // Bounded: at most so many steps out of the ordinary, faults included.
  add(cluster("2 requests, 1 block, 2 ranks", 2, 1, 2), at_most(3), 872'439);
  add(patient(cluster("2 requests waiting, 1 block, 2 ranks", 2, 1, 2)), at_most(3), 2'438'434);
  add(cluster("2 requests, 2 blocks, 2 ranks", 2, 2, 2), at_most(2), 270'737);
  add(cluster("2 requests, 2 blocks, 2 ranks, deeper", 2, 2, 2), at_most(3), 9'023'799,
      where::long_run);
  add(patient(cluster("2 requests waiting, 1 block, 1 rank", 2, 1, 1)), at_most(4), 7'461'113,
      where::long_run);
  add(interleaved(cluster("1 request, 2 ranks, mailboxes", 1, 1, 2)), at_most(3), 2'531'009);
  add(with_retry(cluster("2 groups, 1 request, retry", 1, 1, 2)), at_most(3), 951'409);
  add(with_retry(cluster("2 groups, 2 requests, retry", 2, 1, 1)), at_most(3), 1'113'969);
  add(with_retry(cluster("2 groups, 1 request, retry, deeper", 1, 1, 1)), at_most(4), 2'031'043,
      where::long_run);
  add_mapped(all);
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
