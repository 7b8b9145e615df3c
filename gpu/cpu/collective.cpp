#include "gpu/cpu/collective.hpp"

#include "gpu/cpu/group_segment.hpp"
#include "gpu/cpu/kernels.hpp"

#include <algorithm>
#include <cstring>

namespace baton::gpu {

namespace {

using protocol::failure;
using protocol::outcome;
using protocol::reason;

/// One rank's end; the memory is shared with the other ends.
class host_collective final : public collective {
public:
  host_collective(std::shared_ptr<group_segment> segment, std::uint32_t rank)
    : segment_(std::move(segment)), rank_(rank) {}

  ~host_collective() override { segment_->leave(rank_); }

  std::uint32_t rank() const override { return rank_; }
  std::uint32_t ranks() const override { return segment_->ranks(); }

  failure all_gather(const schedule& s, const float* mine, std::size_t count,
                     float* all) override {
    return exchange(s, collective_op::all_gather, mine, count, [&](std::size_t at, std::size_t n) {
      for (std::uint32_t r = 0; r < ranks(); ++r)
        std::memcpy(all + r * count + at, segment_->data(r, sequence_), n * sizeof(float));
    });
  }

  failure all_reduce_sum(const schedule& s, const float* in, std::size_t count,
                         float* out) override {
    return exchange(s, collective_op::all_reduce_sum, in, count,
                    [&](std::size_t at, std::size_t n) { sum(0, n, out + at); });
  }

  failure reduce_scatter(const schedule& s, const float* in, std::size_t count_each,
                         float* out) override {
    const std::size_t mine_begin = rank_ * count_each;
    const std::size_t mine_end = mine_begin + count_each;
    return exchange(s, collective_op::reduce_scatter, in, ranks() * count_each,
                    [&](std::size_t at, std::size_t n) {
                      const std::size_t begin = std::max(at, mine_begin);
                      const std::size_t end = std::min(at + n, mine_end);
                      if (begin < end)
                        sum(begin - at, end - begin, out + (begin - mine_begin));
                    });
  }

  void poison(const std::string& why) override { segment_->poison(why); }

private:
  /// Adds elements [from, from + n) of all ranks' parts as a balanced tree in rank order. The
  /// intermediate sums need memory of their own: the parts belong to the other ranks.
  void sum(std::size_t from, std::size_t n, float* out) {
    const std::uint32_t count = ranks();
    sums_.resize(std::size_t{count} * n);
    std::vector<const float*> terms;
    for (std::uint32_t r = 0; r < count; ++r)
      terms.push_back(segment_->data(r, sequence_) + from);
    while (terms.size() > 1) {
      std::vector<const float*> next;
      for (std::size_t i = 0; i + 1 < terms.size(); i += 2) {
        float* to = terms.size() == 2 ? out : sums_.data() + next.size() * n;
        kernels::add(terms[i], terms[i + 1], n, to);
        next.push_back(to);
      }
      if (terms.size() % 2 == 1)
        next.push_back(terms.back());
      terms = std::move(next);
    }
    if (terms.front() != out)
      std::memcpy(out, terms.front(), n * sizeof(float));
  }

  /// Publishes `mine` part by part and calls consume(offset, floats) once per part, when every
  /// rank's data of it can be read.
  template <class Consume>
  failure exchange(const schedule& s, collective_op op, const float* mine, std::size_t count,
                   Consume&& consume) {
    std::size_t at = 0;
    do { // an empty operation still has to be agreed on
      const std::size_t n = std::min(segment_->slot_floats(), count - at);
      if (segment_->poisoned())
        return poisoned();
      ++sequence_;
      group_entry& entry = segment_->entry(rank_, sequence_);
      entry = {s, static_cast<std::uint32_t>(op), static_cast<std::uint32_t>(collective_dtype::f32),
               count, at, sequence_};
      std::memcpy(segment_->data(rank_, sequence_), mine + at, n * sizeof(float));
      segment_->publish(rank_, sequence_);
      if (auto f = meet(entry))
        return f;
      consume(at, n);
      at += n;
    } while (at < count);
    return {};
  }

  /// Waits until all have published this operation, and compares what they published.
  failure meet(const group_entry& mine) {
    const auto deadline = group_segment::clock::now()
                          + std::chrono::milliseconds(segment_->limits().wait_ms);
    for (std::uint32_t r = 0; r < ranks(); ++r) {
      const auto there = [&] { return segment_->arrived(r) >= sequence_; };
      const auto settled
        = [&] { return there() || segment_->poisoned() || segment_->has_left(r); };
      segment_->wait(deadline, settled);
      if (there())
        continue;
      if (!segment_->poisoned())
        give_up_on(r, mine);
      return poisoned();
    }
    for (std::uint32_t r = 0; r < ranks(); ++r) {
      const group_entry theirs = segment_->entry(r, sequence_);
      if (theirs == mine)
        continue;
      segment_->poison("schedules differ: rank " + std::to_string(rank_) + " is in ["
                       + to_string(mine) + "], rank " + std::to_string(r) + " in ["
                       + to_string(theirs) + "]");
      return poisoned();
    }
    return {};
  }

  void give_up_on(std::uint32_t r, const group_entry& mine) {
    const std::uint64_t last = segment_->arrived(r);
    const std::string where
      = last == 0 ? std::string("nothing yet") : to_string(segment_->entry(r, last));
    segment_->poison("rank " + std::to_string(r)
                     + (segment_->has_left(r) ? " has left"
                                              : " did not arrive within "
                                                  + std::to_string(segment_->limits().wait_ms)
                                                  + " ms")
                     + ": rank " + std::to_string(rank_) + " is in [" + to_string(mine)
                     + "], rank " + std::to_string(r) + " was last in [" + where + "]");
  }

  failure poisoned() const { return {reason::group_poisoned, segment_->poison_text()}; }

  std::shared_ptr<group_segment> segment_;
  std::uint32_t rank_;
  std::uint64_t sequence_ = 0;
  std::vector<float> sums_;
};

failure check_members(std::uint32_t rank, std::uint32_t ranks, const collective_limits& limits) {
  if (ranks == 0 || ranks > group_ranks_max || rank >= ranks)
    return {reason::out_of_range, "group: rank " + std::to_string(rank) + " of "
                                    + std::to_string(ranks) + ": up to "
                                    + std::to_string(group_ranks_max) + " ranks are possible"};
  if (limits.slot_bytes < 64 || limits.slot_bytes % 64 != 0 || limits.slot_bytes > 1ULL << 30)
    return {reason::bad_input, "slot_bytes: is not a multiple of 64 from 64 to 2^30"};
  if (limits.wait_ms <= 0)
    return {reason::bad_input, "wait_ms: is not positive"};
  return {};
}

failure check_name(const std::string& name) {
  static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  const bool good = name.size() >= 2 && name.size() <= 201 && name[0] == '/'
                    && name.find_first_not_of(allowed, 1) == std::string::npos;
  if (!good)
    return {reason::bad_input, "group name: is not \"/\" and up to 200 of [A-Za-z0-9._-]"};
  return {};
}

} // namespace

outcome<std::unique_ptr<collective>> join_shared_group(const std::string& name, std::uint32_t rank,
                                                       std::uint32_t ranks,
                                                       const collective_limits& limits) {
  if (auto f = check_name(name))
    return f;
  if (auto f = check_members(rank, ranks, limits))
    return f;
  auto segment = group_segment::join(name, rank, ranks, limits);
  if (!segment)
    return segment.error();
  return std::unique_ptr<collective>(new host_collective(segment.value(), rank));
}

outcome<std::vector<std::unique_ptr<collective>>>
make_local_group(std::uint32_t ranks, const collective_limits& limits) {
  if (auto f = check_members(0, ranks, limits))
    return f;
  auto segment = group_segment::local(ranks, limits);
  if (!segment)
    return segment.error();
  std::vector<std::unique_ptr<collective>> ends;
  for (std::uint32_t r = 0; r < ranks; ++r)
    ends.push_back(std::make_unique<host_collective>(segment.value(), r));
  return ends;
}

} // namespace baton::gpu
