#include "actors/bench_roles.hpp"

#include "actors/bench_report.hpp"
#include "transport/ucx_environment.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>

namespace baton::actors::bench {

using transport::path_kind;

namespace {

using clock = std::chrono::steady_clock;

std::uint64_t ns_since(clock::time_point begin) {
  return static_cast<std::uint64_t>(
    std::chrono::duration_cast<std::chrono::nanoseconds>(clock::now() - begin).count());
}

/// What a source is told beside the steps: some blocks of one lane, now.
constexpr std::uint64_t offer_blocks = 100;
/// A stream is a hand-off of one lane in 16 chunks.
std::uint32_t chunk_of(std::size_t blocks) {
  return std::max(1U, static_cast<std::uint32_t>(blocks) / 16);
}

/// Of all blocks those of the only lane's last chunk.
block_list last_chunk(block_list blocks) {
  const std::size_t count = chunk_of(blocks.order.size());
  blocks.order.erase(blocks.order.begin(),
                     blocks.order.end() - static_cast<std::ptrdiff_t>(count));
  return blocks;
}

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
      } else if (what == static_cast<std::uint64_t>(step::raw_chunk)) {
        raw_.send(last_chunk(node_.blocks()));
      } else if (what == static_cast<std::uint64_t>(step::source_cpu)) {
        up_.send(process_cpu_ns());
      } else if (what == static_cast<std::uint64_t>(step::hand_off)) {
        const std::uint64_t round = up_.receive();
        for (std::uint32_t lane = 0; lane < load_.lanes; ++lane)
          node_.offer(round, lane, 0, node_.blocks_of(lane));
      } else if (what == offer_blocks) {
        const std::uint64_t round = up_.receive();
        const auto lane = static_cast<std::uint32_t>(up_.receive());
        const auto first = static_cast<std::uint32_t>(up_.receive());
        node_.offer(round, lane, first, static_cast<std::uint32_t>(up_.receive()));
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
    : load_(s.load), up_(pipe_to_starter()),
      source_(start_partner("source", words, s.source_namespace)),
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
    case step::raw_chunk: return receive_raw_chunk();
    case step::stream: return stream();
    case step::source_cpu:
      source_.pipe.send(static_cast<std::uint64_t>(what));
      return source_.pipe.receive();
    case step::destination_cpu: return process_cpu_ns();
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

  void offer(std::uint32_t lane, std::uint32_t first, std::uint32_t count) {
    source_.pipe.send(offer_blocks);
    source_.pipe.send(round_);
    source_.pipe.send(lane);
    source_.pipe.send(first);
    source_.pipe.send(count);
  }

  std::uint64_t receive_raw_chunk() {
    const clock::time_point begin = clock::now();
    source_.pipe.send(static_cast<std::uint64_t>(step::raw_chunk));
    raw_.receive(last_chunk(node_.blocks()));
    raw_chunk_ns_ = ns_since(begin);
    return raw_chunk_ns_;
  }

  /// A prompt is computed chunk by chunk, each in twice the time that the raw link takes for one.
  /// What the hand-off costs its request is what is left when the last chunk is there.
  std::uint64_t stream() {
    const std::uint32_t blocks = node_.blocks_of(0);
    const std::uint32_t chunk_blocks = chunk_of(blocks);
    const std::uint32_t before_last = blocks - chunk_blocks;
    ++round_;
    node_.admit(round_, 0);
    clock::time_point next = clock::now();
    for (std::uint32_t first = 0; first < before_last; first += chunk_blocks) {
      next += std::chrono::nanoseconds(2 * raw_chunk_ns_);
      node_.wait_until(next);
      offer(0, first, std::min(chunk_blocks, before_last - first));
    }
    node_.wait_until(next + std::chrono::nanoseconds(2 * raw_chunk_ns_));
    const clock::time_point begin = clock::now();
    offer(0, before_last, chunk_blocks);
    node_.wait_landed(round_, 0, blocks);
    return ns_since(begin);
  }

  /// Nanoseconds from telling the source to the landing of the short lane's last block.
  std::uint64_t short_lane(bool behind) {
    const std::uint32_t lane = load_.lanes;
    ++round_;
    node_.admit(round_, lane);
    if (behind) {
      node_.admit(round_, 0);
      offer(0, 0, node_.blocks_of(0));
      node_.wait_landed(round_, 0, node_.blocks_of(0) / 8);
    }
    const clock::time_point begin = clock::now();
    offer(lane, 0, node_.blocks_of(lane));
    node_.wait_landed(round_, lane, node_.blocks_of(lane));
    const std::uint64_t took = ns_since(begin);
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
  std::uint64_t raw_chunk_ns_ = 0; ///< the last time
  std::vector<std::byte> copied_from_;
};

} // namespace

transport::integrity integrity_named(const std::string& name) {
  for (const auto check : {transport::integrity::sampled, transport::integrity::all})
    if (name == transport::to_string(check))
      return check;
  return transport::integrity::off;
}

std::vector<std::string> to_arguments(const setup& s) {
  return {"--path",        transport::to_string(s.path),
          "--lanes",       std::to_string(s.load.lanes),
          "--blocks",      std::to_string(s.load.blocks_per_lane),
          "--block-bytes", std::to_string(s.load.block_bytes),
          "--short",       std::to_string(s.load.short_lane_blocks),
          "--neighbours",  s.load.neighbouring ? "1" : "0",
          "--integrity",   transport::to_string(s.load.check),
          "--source-in",   s.source_namespace};
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
    else if (name == "--integrity")
      s.load.check = integrity_named(value);
    else if (name == "--source-in")
      s.source_namespace = value;
    else if (name == "--neighbours")
      s.load.neighbouring = value == "1";
  }
  return s;
}

int run_role(const std::string& role, const std::vector<std::string>& words) {
  const setup s = from_arguments(words);
  return role == "source" ? source_role(s).run() : destination_role(s, words).run();
}

} // namespace baton::actors::bench
