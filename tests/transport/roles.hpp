// What a second process of the test program plays: a source or a destination that the test may kill.
//
//   test                         child (role=<source|destination>:<path>:<check>)
//   spawn ──────────────────────▶ life, descriptor back
//   life, descriptor ───────────▶ connects both ways; source: offers; destination: admits
#pragma once

#include "tests/transport/nodes.hpp"

#include <string>
#include <sys/types.h>

namespace baton::transport::testing {

inline constexpr std::uint32_t role_pieces = 256;
inline constexpr std::uint64_t role_piece_bytes = 1ULL << 20;
inline constexpr std::uint64_t role_seed = 99;

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

  /// Exchanges lives and descriptors with the child and connects `here` to it.
  void introduce_to(node& here);
  /// Waits until the child says that it is connected (and has admitted or offered).
  void wait_ready();
  void send_signal(int signal) const;
  /// SIGKILL, and waits until it is reaped.
  void kill_and_reap();

  node_name name() const { return {"child"}; }
  incarnation life() const { return life_; }

private:
  pid_t pid_ = -1;
  int connection_ = -1;
  incarnation life_;
};

} // namespace baton::transport::testing
