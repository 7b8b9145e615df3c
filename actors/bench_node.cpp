#include "actors/bench_node.hpp"

#include "actors/bench_pipe.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>
#include <random>

namespace baton::actors::bench {

using namespace transport;

namespace {

arena make_arena(path_kind path, std::uint64_t bytes) {
  auto made = path == path_kind::shared_arena ? arena::create_shared(bytes)
                                              : arena::create_private(bytes);
  if (!made)
    give_up(made.error().text);
  std::memset(made.value().base(), 1, bytes); // no page shall be touched first while time counts
  return std::move(made.value());
}

std::vector<std::uint32_t> order_of(side s, const workload& load) {
  std::vector<std::uint32_t> order(load.blocks());
  std::iota(order.begin(), order.end(), 0U);
  if (!load.neighbouring)
    std::shuffle(order.begin(), order.end(), std::mt19937(s == side::source ? 1 : 2));
  return order;
}

lane_id lane_numbered(std::uint64_t round, std::uint32_t lane) {
  lane_id id;
  id.reservation = {{1, 1}, round << 16 | lane};
  return id;
}

block_ref block_at(std::uint32_t number) {
  return {protocol::block_id{number}, protocol::generation{1}};
}

const node_name peer_name{"peer"};

} // namespace

bench_node::bench_node(side here, path_kind path, const workload& load)
  : side_(here), load_(load), memory_(make_arena(path, load.bytes())),
    order_(order_of(here, load)), named_(order_of(side::destination, load)) {
  auto made = make_ucx(path, life_of(here), memory_, {}, [this](transfer_event e) { record(e); },
                       load.check);
  if (!made)
    give_up(made.error().text);
  endpoint_ = std::move(made.value());
}

void bench_node::record(const transfer_event& e) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (const auto* landed = std::get_if<pieces_landed>(&e)) {
    for (const piece_landed& piece : landed->pieces)
      ++landed_[piece.lane];
    if (landed_[awaited_.lane] < awaited_.blocks)
      return;
  } else if (std::holds_alternative<lane_admitted>(e)) {
    ++admitted_;
  } else if (const auto* up = std::get_if<peer_connected>(&e)) {
    connected_ = !up->error;
    path_ = up->path;
  } else if (const auto* refused = std::get_if<offer_refused>(&e)) {
    give_up("an offer was refused: " + refused->error.text);
  } else if (const auto* rejected = std::get_if<offer_rejected>(&e)) {
    give_up("an offer was rejected: " + rejected->error.text);
  } else {
    return; // nobody waits for it
  }
  changed_.notify_all();
}

template <class Condition>
void bench_node::wait(const char* what, Condition condition) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (!changed_.wait_for(lock, std::chrono::seconds(60), condition))
    give_up(std::string("no ") + what + " within 60 s");
}

void bench_node::connect(std::vector<std::byte> peer) {
  endpoint_->connect(peer_name, life_of(side_ == side::source ? side::destination : side::source),
                     std::move(peer));
  wait("channel", [this] { return connected_; });
}

std::uint32_t bench_node::blocks_of(std::uint32_t lane) const {
  return lane < load_.lanes ? load_.blocks_per_lane : load_.short_lane_blocks;
}

void bench_node::wait_until(std::chrono::steady_clock::time_point moment) {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait_until(lock, moment, [] { return false; });
}

block_ref bench_node::block_of(std::uint32_t lane, std::uint32_t piece) const {
  return block_at(named_.at(lane * load_.blocks_per_lane + piece));
}

std::uint64_t bench_node::offset_of(std::uint32_t lane, std::uint32_t piece) const {
  return order_.at(lane * load_.blocks_per_lane + piece) * load_.block_bytes;
}

void bench_node::admit(std::uint64_t round, std::uint32_t lane) {
  lane_grant grant;
  grant.lane = lane_numbered(round, lane);
  grant.source = life_of(side::source);
  for (std::uint32_t i = 0; i < blocks_of(lane); ++i)
    grant.pieces.push_back({block_of(lane, i), {offset_of(lane, i), load_.block_bytes, 0, 1}});
  const std::uint64_t wanted = ++grants_;
  endpoint_->admit(std::move(grant));
  wait("admission", [this, wanted] { return admitted_ >= wanted; });
}

void bench_node::offer(std::uint64_t round, std::uint32_t lane, std::uint32_t first,
                       std::uint32_t count) {
  for (std::uint32_t i = first; i < first + count; ++i)
    endpoint_->offer(peer_name, {lane_numbered(round, lane), i, block_of(lane, i),
                                 {offset_of(lane, i), load_.block_bytes, 0, 1}});
}

void bench_node::wait_landed(std::uint64_t round, std::uint32_t lane, std::uint32_t blocks) {
  const lane_id id = lane_numbered(round, lane);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    awaited_ = {id, blocks};
  }
  wait("landing", [&] { return landed_[id] >= blocks; });
  if (blocks == blocks_of(lane))
    endpoint_->send_receipt(id, peer_name);
}

block_list bench_node::blocks() const { return {memory_.base(), load_.block_bytes, order_}; }

} // namespace baton::actors::bench
