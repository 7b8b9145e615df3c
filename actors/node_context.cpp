#include "actors/node_context.hpp"

#include <time.h>

namespace baton::actors {

void peer_directory::set(peer p) {
  const std::lock_guard<std::mutex> lock(mutex_);
  peers_[p.name] = std::move(p);
}

void peer_directory::erase(const protocol::node_name& name) {
  const std::lock_guard<std::mutex> lock(mutex_);
  peers_.erase(name);
}

peer peer_directory::find(const protocol::node_name& name) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto it = peers_.find(name);
  return it == peers_.end() ? peer{} : it->second;
}

std::vector<peer> peer_directory::all() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<peer> all;
  for (const auto& [name, p] : peers_)
    all.push_back(p);
  return all;
}

peer node_context::leader_of(const protocol::group_name& g) const { return rank_of(g, {0}); }

peer node_context::rank_of(const protocol::group_name& g, protocol::rank_id r) const {
  return peers.find(protocol::node_of(g, r));
}

protocol::instant monotonic_now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return {std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec};
}

} // namespace baton::actors
