#include "gpu/cpu/group_layout.hpp"
#include "gpu/cpu/spin.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <linux/futex.h>
#include <new>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <tuple>
#include <unistd.h>

namespace baton::gpu {

bool operator==(const group_entry& a, const group_entry& b) {
  const auto tied = [](const group_entry& e) {
    return std::tie(e.where.epoch, e.where.step, e.where.layer, e.where.phase, e.op, e.dtype,
                    e.count, e.offset, e.sequence);
  };
  return tied(a) == tied(b);
}

std::string to_string(const group_entry& e) {
  static const char* const phases[] = {"attention_out", "mlp_out", "logits"};
  static const char* const ops[] = {"all_gather", "all_reduce_sum", "reduce_scatter"};
  const auto name = [](const char* const* names, std::uint32_t i) {
    return i < 3 ? std::string(names[i]) : std::to_string(i);
  };
  return "epoch " + std::to_string(e.where.epoch) + " step " + std::to_string(e.where.step)
         + " layer " + std::to_string(e.where.layer) + " phase " + name(phases, e.where.phase)
         + " op " + name(ops, e.op) + (e.dtype == 0 ? " f32 x " : " unknown dtype x ")
         + std::to_string(e.count) + " at " + std::to_string(e.offset) + ", sequence "
         + std::to_string(e.sequence);
}

group_segment::group_segment(void* base, std::size_t bytes, std::uint32_t ranks,
                             const collective_limits& limits)
  : base_(base), bytes_(bytes), ranks_(ranks), limits_(limits) {}

group_segment::~group_segment() { ::munmap(base_, bytes_); }

std::size_t group_segment::bytes_needed(std::uint32_t ranks, const collective_limits& limits) {
  return sizeof(header) + std::size_t{ranks} * 2 * limits.slot_bytes;
}

protocol::outcome<std::shared_ptr<group_segment>>
group_segment::local(std::uint32_t ranks, const collective_limits& limits) {
  const std::size_t bytes = bytes_needed(ranks, limits);
  void* base
    = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED)
    return protocol::failure{protocol::reason::no_capacity,
                             "group memory: " + std::to_string(bytes) + " bytes cannot be mapped"};
  new (base) header;
  return std::shared_ptr<group_segment>(new group_segment(base, bytes, ranks, limits));
}

group_segment::rank_state& group_segment::state(std::uint32_t rank) const {
  return head().states[rank];
}

group_entry& group_segment::entry(std::uint32_t rank, std::uint64_t sequence) {
  return state(rank).entries[sequence % 2];
}

float* group_segment::data(std::uint32_t rank, std::uint64_t sequence) {
  auto* first = static_cast<std::byte*>(base_) + sizeof(header);
  const std::size_t slot = std::size_t{rank} * 2 + sequence % 2;
  return reinterpret_cast<float*>(first + slot * limits_.slot_bytes);
}

void group_segment::publish(std::uint32_t rank, std::uint64_t sequence) {
  state(rank).arrived.store(sequence);
  ring();
}

std::uint64_t group_segment::arrived(std::uint32_t rank) const {
  return state(rank).arrived.load();
}

void group_segment::leave(std::uint32_t rank) {
  state(rank).left.store(1);
  ring();
}

bool group_segment::has_left(std::uint32_t rank) const { return state(rank).left.load() != 0; }

void group_segment::poison(const std::string& why) {
  std::uint32_t expected = group_healthy;
  if (!head().health.compare_exchange_strong(expected, group_poison_begun))
    return;
  const std::size_t length = std::min(why.size(), poison_text_max - 1);
  std::memcpy(head().poison_text, why.data(), length);
  head().poison_text[length] = '\0';
  head().health.store(group_poison_written);
  ring();
}

bool group_segment::poisoned() const { return head().health.load() != group_healthy; }

std::string group_segment::poison_text() const {
  // The writer is between two stores, unless it died there.
  const bool complete
    = spin_until(1'000'000, [this] { return head().health.load() != group_poison_begun; });
  if (!complete)
    return "poisoned by a rank that died before it said why";
  return head().poison_text;
}

void group_segment::relax() { relax_processor(); }

std::uint32_t group_segment::begin_sleep() {
  // Order matters: the bell is read before the caller looks again, and sleepers rises before that
  // look, so a change either is seen by the look or rings the bell.
  const std::uint32_t seen = head().bell.load();
  head().sleepers.fetch_add(1);
  return seen;
}

bool group_segment::sleep(std::uint32_t seen, clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(deadline - clock::now());
  if (left.count() <= 0)
    return false;
  timespec timeout{};
  timeout.tv_sec = static_cast<time_t>(left.count() / 1'000'000'000);
  timeout.tv_nsec = static_cast<long>(left.count() % 1'000'000'000);
  ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&head().bell), FUTEX_WAIT, seen, &timeout,
            nullptr, 0);
  return true;
}

void group_segment::end_sleep() { head().sleepers.fetch_sub(1); }

void group_segment::ring() {
  head().bell.fetch_add(1);
  if (head().sleepers.load() > 0)
    ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&head().bell), FUTEX_WAKE, INT_MAX,
              nullptr, nullptr, 0);
}

} // namespace baton::gpu
