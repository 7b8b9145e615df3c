// What carries frames and bytes between two endpoints: a mailbox in one process, or UCX. The engine
// holds all rules; a carrier only moves things and reports what happened.
//
// Every member is called by the engine's thread alone, except wake(); every listener call is made
// on that thread too, from inside progress(), send() or receive().
#pragma once

#include "transport/endpoint.hpp"
#include "transport/wire.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace baton::transport {

/// A channel to one peer; numbers are never reused.
using channel_id = std::uint64_t;

/// Bytes of a part that have arrived (eager: valid only during the call) or wait at the source
/// (waiting: to be received or dropped exactly once).
struct eager_bytes {
  const std::byte* data = nullptr;
};
struct waiting_bytes {
  void* handle = nullptr;
};
struct arrival {
  std::variant<eager_bytes, waiting_bytes> where;
  std::uint64_t bytes = 0;
};

/// What became of an operation at the moment it was posted.
enum class posting : std::uint8_t { pending, done, failed };

class carrier_listener {
public:
  virtual void frame_arrived(const std::byte* frame, std::size_t size) = 0;
  /// Waiting bytes belong to the listener from here on: it must receive or drop the handle.
  virtual void part_arrived(const std::byte* frame, std::size_t size, const arrival& data) = 0;
  /// The part's bytes are no longer needed when `ok`; otherwise a reader may still be at them.
  virtual void part_sent(std::uint64_t token, bool ok) = 0;
  virtual void part_received(std::uint64_t token, const failure& error) = 0;
  /// Only marks: the channel is closed later, by close() from the engine's loop.
  virtual void channel_failed(channel_id channel, failure error) = 0;

protected:
  ~carrier_listener() = default;
};

/// Read access to a peer's arena.
class source_view {
public:
  virtual ~source_view() = default;
  virtual std::uint64_t bytes() const = 0;
  /// The arena's base, or nullptr when the source has gone. Valid until end_reading().
  virtual const std::byte* begin_reading() = 0;
  virtual void end_reading() = 0;
};

class carrier {
public:
  virtual ~carrier() = default;

  virtual void attach(carrier_listener& listener) = 0;
  /// This side's address for peers' descriptors.
  virtual std::vector<std::byte> address() const = 0;
  virtual protocol::outcome<channel_id> open(const wire::descriptor& peer) = 0;
  /// Force-closes. Operations outstanding call back later; no channel_failed follows.
  virtual void close(channel_id channel) = 0;
  /// Read access to the arena behind an announced offer.
  virtual protocol::outcome<std::unique_ptr<source_view>> view(const wire::descriptor& peer) = 0;
  /// For people: which transports the channel uses.
  virtual std::string path(channel_id channel) = 0;
  /// Whether the reader of waiting bytes fetches them by itself, whatever this side does meanwhile.
  virtual bool is_read_remotely(channel_id channel) = 0;

  /// A small frame, copied. Order is kept per channel. A failure shows up as channel_failed.
  virtual void send(channel_id channel, std::vector<std::byte> frame) = 0;
  /// A frame with bytes behind it; `bytes` must stay until done or part_sent(token, true). With
  /// `wait_for_reader` they stay at the source until the destination receives them.
  virtual posting send_part(channel_id channel, std::vector<std::byte> frame,
                            const std::byte* bytes, std::uint64_t count, bool wait_for_reader,
                            std::uint64_t token)
    = 0;
  /// Receives waiting bytes to `to`; pending is answered by part_received(token).
  virtual posting receive(void* handle, std::byte* to, std::uint64_t count, std::uint64_t token)
    = 0;
  /// Turns waiting bytes away: nothing of them lands.
  virtual void drop(void* handle) = 0;

  /// Moves things along without blocking; false when there was nothing to do.
  virtual bool progress() = 0;
  /// Blocks until something may be there to do, wake() was called, or `timeout_ms` has passed.
  virtual void sleep(int timeout_ms) = 0;
  /// Blocks until wake() was called or the time has passed: whatever else comes waits so long.
  virtual void nap(std::chrono::microseconds time) = 0;
  /// From any thread: ends the present or the next sleep() or nap().
  virtual void wake() = 0;
};

} // namespace baton::transport
