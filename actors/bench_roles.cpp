#include "actors/bench_roles.hpp"

#include "transport/ucx_environment.hpp"

#include <chrono>
#include <cstdlib>
#include <cstring>

namespace baton::actors::bench {

using transport::path_kind;

namespace {

std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(
    std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::steady_clock::now().time_since_epoch())
      .count());
}

/// What a source is told beside the steps: one lane, now.
constexpr std::uint64_t offer_lane = 100;

class source_role {
public:
  explicit source_role(const setup& s)
    : load_(s.load), up_(pipe_to_starter()), node_(side::source, s.path, s.load) {
    up_.send_bytes(node_.descriptor());
    node_.connect(up_.receive_bytes());
    raw_.connect(up_.receive_bytes());
  }

  int run() {
    std::uint64_t what = 0;
    while (up_.receive_or_end(what)) {
      if (what == static_cast<std::uint64_t>(step::raw)) {
        raw_.send(node_.blocks());
      } else if (what == static_cast<std::uint64_t>(step::hand_off)) {
        const std::uint64_t round = up_.receive();
        for (std::uint32_t lane = 0; lane < load_.lanes; ++lane)
          node_.offer(round, lane);
      } else if (what == offer_lane) {
        const std::uint64_t round = up_.receive();
        node_.offer(round, static_cast<std::uint32_t>(up_.receive()));
      }
    }
    return 0;
  }

private:
  workload load_;
  pipe_end up_;
  bench_node node_;
  raw_link raw_;
};

class destination_role {
public:
  destination_role(const setup& s, const std::vector<std::string>& words)
    : load_(s.load), up_(pipe_to_starter()), source_(start_partner("source", words)),
      node_(side::destination, s.path, s.load) {
    auto peer = source_.pipe.receive_bytes();
    source_.pipe.send_bytes(node_.descriptor());
    node_.connect(std::move(peer));
    const std::string path = node_.path();
    const auto* name = reinterpret_cast<const std::byte*>(path.data());
    up_.send_bytes({name, name + path.size()});
    source_.pipe.send_bytes(raw_.address());
  }

  int run() {
    std::uint64_t what = 0;
    while (up_.receive_or_end(what))
      up_.send(perform(static_cast<step>(what)));
    end_partner(std::move(source_));
    return 0;
  }

private:
  std::uint64_t perform(step what) {
    switch (what) {
    case step::prepare: return prepare(), 0;
    case step::hand_off: return hand_off(), 0;
    case step::raw: return receive_raw(), 0;
    case step::copy: return copy(), 0;
    case step::short_alone: return short_lane(false);
    case step::short_behind_long: return short_lane(true);
    }
    return 0;
  }

  void prepare() {
    ++round_;
    for (std::uint32_t lane = 0; lane < load_.lanes; ++lane)
      node_.admit(round_, lane);
  }

  void hand_off() {
    source_.pipe.send(static_cast<std::uint64_t>(step::hand_off));
    source_.pipe.send(round_);
    for (std::uint32_t lane = 0; lane < load_.lanes; ++lane)
      node_.wait_landed(round_, lane, node_.blocks_of(lane));
  }

  void receive_raw() {
    source_.pipe.send(static_cast<std::uint64_t>(step::raw));
    raw_.receive(node_.blocks());
  }

  void copy() {
    const block_list to = node_.blocks();
    if (copied_from_.empty())
      copied_from_.assign(load_.bytes(), std::byte{2});
    for (std::size_t i = 0; i < to.order.size(); ++i)
      std::memcpy(to.base + to.order[i] * to.block_bytes,
                  copied_from_.data() + to.order[to.order.size() - 1 - i] * to.block_bytes,
                  to.block_bytes);
  }

  void offer(std::uint32_t lane) {
    source_.pipe.send(offer_lane);
    source_.pipe.send(round_);
    source_.pipe.send(lane);
  }

  /// Nanoseconds from telling the source to the landing of the short lane's last block.
  std::uint64_t short_lane(bool behind) {
    const std::uint32_t lane = load_.lanes;
    ++round_;
    node_.admit(round_, lane);
    if (behind) {
      node_.admit(round_, 0);
      offer(0);
      node_.wait_landed(round_, 0, node_.blocks_of(0) / 8);
    }
    const std::uint64_t begin = now_ns();
    offer(lane);
    node_.wait_landed(round_, lane, node_.blocks_of(lane));
    const std::uint64_t took = now_ns() - begin;
    if (behind)
      node_.wait_landed(round_, 0, node_.blocks_of(0));
    return took;
  }

  workload load_;
  pipe_end up_;
  partner source_;
  bench_node node_;
  raw_link raw_;
  std::uint64_t round_ = 0;
  std::vector<std::byte> copied_from_;
};

} // namespace

std::vector<std::string> to_arguments(const setup& s) {
  return {"--path",        transport::to_string(s.path),
          "--lanes",       std::to_string(s.load.lanes),
          "--blocks",      std::to_string(s.load.blocks_per_lane),
          "--block-bytes", std::to_string(s.load.block_bytes),
          "--short",       std::to_string(s.load.short_lane_blocks)};
}

setup from_arguments(const std::vector<std::string>& words) {
  setup s;
  for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
    const std::string& name = words[i];
    const std::string& value = words[i + 1];
    if (name == "--path")
      s.path = value == "pull" ? path_kind::pull : path_kind::shared_arena;
    else if (name == "--lanes")
      s.load.lanes = static_cast<std::uint32_t>(std::stoul(value));
    else if (name == "--blocks")
      s.load.blocks_per_lane = static_cast<std::uint32_t>(std::stoul(value));
    else if (name == "--block-bytes")
      s.load.block_bytes = std::stoull(value);
    else if (name == "--short")
      s.load.short_lane_blocks = static_cast<std::uint32_t>(std::stoul(value));
  }
  return s;
}

int run_role(const std::string& role, const std::vector<std::string>& words) {
  const setup s = from_arguments(words);
  return role == "source" ? source_role(s).run() : destination_role(s, words).run();
}

} // namespace baton::actors::bench
