// A peer that says whatever a test wants, over a real UCX carrier: damaged frames, false digests,
// offers of a life that nobody connected to. Driven by the test's own thread.
#pragma once

#include "tests/transport/nodes.hpp"
#include "transport/ucx_carrier.hpp"

namespace baton::transport::testing {

class raw_peer final : public carrier_listener {
public:
  explicit raw_peer(path_kind path);
  ~raw_peer();

  /// The other node connects to this peer as "raw" and this peer greets it.
  void meet(node& other);
  /// The first half of that: the other node waits until this peer is driven by wait().
  void begin_meeting(node& other);
  /// Only opens the way there: the destination does not know this life.
  void intrude(node& destination);

  void send_frame(std::vector<std::byte> frame);
  void send(const wire::message& m) { send_frame(wire::encode(life, m)); }
  /// A part or run with the bytes at `from`, waiting here to be received.
  void send_part(const wire::message& header, const std::byte* from, std::uint64_t count);
  /// From now on bytes that arrive wait, instead of being turned away at once.
  void keep_parts() { keeps_parts_ = true; }
  /// Drives the carrier until so many messages with bytes have come, and returns their headers.
  std::vector<wire::message> wait_parts(std::size_t count);
  /// Drives the carrier until the destination has told this type of event, and returns it.
  template <class Event>
  Event wait(node& destination) {
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (destination.events.count<Event>() == 0) {
      REQUIRE(std::chrono::steady_clock::now() < deadline);
      carrier_->progress();
    }
    return *destination.events.next<Event>();
  }

  incarnation life = fresh_life();
  arena memory;

private:
  std::vector<std::byte> descriptor() const;
  void frame_arrived(const std::byte* frame, std::size_t size) override;
  void part_arrived(const std::byte* frame, std::size_t size, const arrival& data) override;
  void part_sent(std::uint64_t, bool) override {}
  void part_received(std::uint64_t, const failure&) override {}
  void channel_failed(channel_id, failure) override {}

  path_kind path_;
  std::unique_ptr<ucx_carrier> carrier_;
  channel_id channel_ = 0;
  std::vector<wire::message> parts_;
  bool keeps_parts_ = false;
  std::vector<void*> kept_;
};

} // namespace baton::transport::testing
