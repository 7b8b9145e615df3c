// Two processes of a bench talk over a socket: numbers and blobs, nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <sys/types.h>
#include <vector>

namespace baton::actors::bench {

/// Says why, and ends the process: a bench that went wrong has no figure.
[[noreturn]] void give_up(const std::string& why);

/// One end. Where the other side has ended, or does not answer within answer_patience_s, the
/// process says so and ends: a bench without its partner measures nothing.
class pipe_end {
public:
  static constexpr int answer_patience_s = 120;

  explicit pipe_end(int fd);
  pipe_end(pipe_end&& other) noexcept;
  pipe_end(const pipe_end&) = delete;
  ~pipe_end();

  void send(std::uint64_t number);
  std::uint64_t receive();
  void send_bytes(const std::vector<std::byte>& bytes);
  std::vector<std::byte> receive_bytes();
  /// False once the other side has ended.
  bool receive_or_end(std::uint64_t& number);

private:
  void write_all(const void* bytes, std::size_t size);
  bool read_all(void* bytes, std::size_t size);

  int fd_;
};

/// A second process of this program, started as `baton bench --role ROLE ARGUMENTS...`, and its
/// pipe. `name_space`: the network namespace that it is to live in, by `ip netns exec`; empty: this
/// one.
struct partner {
  pid_t pid = -1;
  pipe_end pipe;
};
partner start_partner(const std::string& role, const std::vector<std::string>& arguments,
                      const std::string& name_space = {});

/// The pipe to whoever started this process.
pipe_end pipe_to_starter();

/// Waits for a partner that has been left (its pipe closed), and kills it after a second.
void end_partner(partner&& ended);

} // namespace baton::actors::bench
