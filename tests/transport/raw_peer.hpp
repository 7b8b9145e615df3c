// A peer that says whatever a test wants, over a real UCX carrier: damaged frames, false digests,
// offers of a life that nobody connected to. Driven by the test's own thread.
#pragma once

#include "tests/transport/nodes.hpp"
#include "transport/ucx_carrier.hpp"

namespace baton::transport::testing {

class raw_peer final : public carrier_listener {
public:
  explicit raw_peer(path_kind path);

  /// The destination connects to this peer as "raw" and this peer greets it.
  void meet(node& destination);
  /// Only opens the way there: the destination does not know this life.
  void intrude(node& destination);

  void send_frame(std::vector<std::byte> frame);
  void send(const wire::message& m) { send_frame(wire::encode(life, m)); }
  /// A part with the bytes at `from`, waiting here to be received.
  void send_part(const wire::part_header& header, const std::byte* from, std::uint64_t count);
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
  void part_arrived(const std::byte*, std::size_t, const arrival&) override {}
  void part_sent(std::uint64_t, bool) override {}
  void part_received(std::uint64_t, const failure&) override {}
  void channel_failed(channel_id, failure) override {}

  path_kind path_;
  std::unique_ptr<ucx_carrier> carrier_;
  channel_id channel_ = 0;
};

} // namespace baton::transport::testing
