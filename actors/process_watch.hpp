// Proof that another process of this host has ended, as the kernel gives it. Each watched process
// is held by a pidfd, so that no number used again is mistaken for it.
//
//   watch ──▶ watched ──▶ process_died ──collected by its parent──▶ process_reaped
//     ├──▶ process_died, process_reaped: it was gone before its watch began
//     └──▶ watch_refused: of another host or namespace, or the system does not allow it
//
// One thread waits for all of them; it starts with the first watch.
#pragma once

#include "actors/node_context.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>

namespace baton::protocol {
struct process_identity;
}

namespace baton::actors {

/// This process, and another one of this host by its present number; the host is empty where /proc
/// does not tell all of it.
protocol::process_identity own_process();
protocol::process_identity process_numbered(std::int32_t number);

class process_watch {
public:
  /// More than the nodes of any cluster of today, each with several lives.
  static constexpr std::size_t watched_max = 1024;

  explicit process_watch(node_context& node);
  ~process_watch();
  process_watch(const process_watch&) = delete;
  process_watch& operator=(const process_watch&) = delete;

  /// `to` hears what becomes of the process that is the node's present life. Never blocks.
  void watch(const protocol::node_name& of, const protocol::incarnation& life,
             const protocol::process_identity& process, handle to);

  /// Tells nobody anything more, and lets go of all handles. Waits for the thread.
  void stop();

private:
  class watcher;
  std::unique_ptr<watcher> watcher_;
  std::mutex mutex_; ///< guards the start of the thread against its end
  bool stopped_ = false;
  std::thread thread_;
};

} // namespace baton::actors
