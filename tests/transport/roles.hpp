// What a second process of the test program plays: a source or a destination that may be killed.
//
//   test                         child (role=<source|destination>:<path>)
//   spawn ──────────────────────▶ life, descriptor back
//   life, descriptor ───────────▶ connects; a source offers, a destination has admitted
// A writer (role=writer) has no endpoint: it maps the memory in the descriptor, and writes.
#pragma once

#include "tests/transport/nodes.hpp"

#include <string>
#include <sys/types.h>

namespace baton::transport::testing {

inline constexpr std::uint32_t role_pieces = 96;
inline constexpr std::uint64_t role_piece_bytes = 1ULL << 20;
inline constexpr std::uint64_t role_seed = 99;

/// What a `writer` does to its peer's memory until it is killed: counts in the first bytes of each
/// page.
inline constexpr std::uint64_t writer_page_bytes = 4096;

/// Runs in the child until its parent closes the connection. Returns the exit status.
int play_role(const std::string& role);

/// The grant that both sides of a role test use.
lane_grant role_grant(incarnation source);
node_options role_options();

/// A child process, killed and reaped at the end of the test.
class child {
public:
  explicit child(const std::string& role);
  ~child();
  child(const child&) = delete;
  child& operator=(const child&) = delete;

  /// Reads the child's life and descriptor.
  void meet();
  /// Gives a writer the descriptor of the memory to write.
  void give(const node& here);
  /// Connects `here` and the child to each other; a source offers from then on.
  void introduce_to(node& here);
  void send_signal(int signal) const;
  /// False once it has ended, however.
  bool runs() const;
  /// SIGKILL, and waits until it is reaped.
  void kill_and_reap();

  node_name name() const { return {"child"}; }
  incarnation life() const { return life_; }

private:
  pid_t pid_ = -1;
  int connection_ = -1;
  incarnation life_;
  std::vector<std::byte> descriptor_;
};

} // namespace baton::transport::testing
