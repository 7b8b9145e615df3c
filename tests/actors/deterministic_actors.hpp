// The test's own parts beside the product's actors: who asks, and who keeps the records.
#pragma once

#include "actors/device_messages.hpp"
#include "actors/shell.hpp"
#include "actors/status_messages.hpp"
#include "tests/actors/deterministic_cluster.hpp"

namespace baton::tests {

using namespace actors;
using namespace protocol;

/// Keeps what actors record, in the order in which they handled it.
class memory_recorder final : public trace_recorder {
public:
  memory_recorder(memory_trace& trace, std::uint32_t section) : trace_(trace), section_(section) {}

  void record(trace_record record, std::function<json()> event) override {
    record.event = event();
    trace_.records.push_back(std::move(record));
    trace_.section_of.push_back(section_);
  }
  void flush() override {}
  void leave_open() override {}

private:
  memory_trace& trace_;
  const std::uint32_t section_;
};

/// Asks, and keeps what it is told.
class recording_client : public shell {
public:
  recording_client(caf::actor_config& config, node_context& node, handle router,
                   std::vector<submit_request> asks, deterministic_run& run)
    : shell(config, node, "client"), router_(std::move(router)), asks_(std::move(asks)),
      run_(run) {}

  caf::behavior make_behavior() override {
    for (auto& ask : asks_)
      send_to(router_, std::move(ask));
    auto* self = this;
    return caf::behavior{handler<request_accepted>(self), handler<phase_entered>(self),
                         handler<frame_forwarded>(self),  handler<request_ended>(self),
                         handler<pool_status>(self),      handler<end_node>(self)};
  }
  void on_exit() override { router_ = {}; }

  void on_message(const message_header& header, const handle&, request_accepted& e) {
    record_plain(header, e, {e.request, 0});
  }
  void on_message(const message_header& header, const handle&, phase_entered& e) {
    record_plain(header, e, about(e.attempt));
  }
  void on_message(const message_header& header, const handle&, frame_forwarded& e) {
    record_plain(header, e, about(e.attempt));
    ++run_.frames;
  }
  void on_message(const message_header& header, const handle&, request_ended& e) {
    record_plain(header, e, {e.request, 0});
    run_.outcomes.push_back(e);
  }
  void on_message(const message_header&, const handle&, pool_status& e) {
    if (e.free != e.blocks || e.slots_used != 0 || e.waiting != 0)
      run_.not_at_rest.push_back("pool " + e.group.value + " has " + std::to_string(e.free)
                                 + " free blocks of " + std::to_string(e.blocks));
  }
  void on_message(const message_header&, const handle&, end_node&) { quit(); }

private:
  handle router_;
  std::vector<submit_request> asks_;
  deterministic_run& run_;
};

} // namespace baton::tests
