// What every actor of Baton is made of: messages carry a header (identity, cause, sender) and each
// handled message leaves one trace record. All sends and timers of the product are in this file.
//
//   on the wire: (message_header, handle, message)     the handle travels with it, often null
#pragma once

#include "actors/alarm_clock.hpp"
#include "actors/node_context.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace baton::actors {

/// Whom a record is about.
struct subject {
  protocol::request_id request;
  std::uint32_t attempt = 0;
};

inline subject about(const protocol::attempt_id& id) { return {id.request, id.ordinal}; }

/// A message from a device's or the process's own thread: it has no cause.
template <class T>
void post(node_context& node, const std::string& sender, const handle& to, T message) {
  protocol::message_header header{node.next_message_id(), 0, sender, node.clock().ns};
  if (to)
    caf::anon_send(caf::actor_cast<caf::actor>(to), std::move(header), handle{},
                   std::move(message));
}

/// Aborts the process with the exception's words.
[[noreturn]] void report_thrown(const std::string& actor, const std::exception_ptr& thrown);

class shell : public caf::event_based_actor {
public:
  /// `label`: "kind/key", unique on the node.
  shell(caf::actor_config& config, node_context& node, std::string label)
    : event_based_actor(config), node_(node), label_(std::move(label)),
      full_label_(node.name.value + ":" + label_) {
    // An exception is a broken invariant like any other: abort with the trace, never limp on.
    set_exception_handler([this](std::exception_ptr& thrown) -> caf::error {
      report_thrown(full_label_, thrown);
      return caf::exit_reason::unhandled_exception;
    });
  }

  ~shell() override {
    if (alarm_clock_)
      alarm_clock_->drop(alarms_);
  }

  const char* name() const override { return label_.c_str(); }

protected:
  /// Sends to another actor; a null handle means that the peer is gone, and drops.
  template <class T>
  void send_to(const handle& to, T message, handle with = {}) {
    if (!to)
      return;
    send(caf::actor_cast<caf::actor>(to), next_header(), std::move(with), std::move(message));
  }

  /// A timer: this actor receives the message after the delay.
  template <class T>
  void send_later(std::int64_t delay_ms, T message) {
    if (node_.alarms)
      set_alarm(delay_ms, next_header(), std::move(message));
    else
      delayed_send(this, std::chrono::milliseconds(delay_ms), next_header(), handle{},
                   std::move(message));
  }

  handle self_handle() { return caf::actor_cast<handle>(this); }
  handle sender() { return current_sender(); }
  node_context& node() { return node_; }
  const node_context& node() const { return node_; }
  const std::string& label() const { return label_; }

  /// A handler for one message type: `handle(header, with, message)` of the derived class.
  template <class T, class Derived>
  static auto handler(Derived* self) {
    return [self](const protocol::message_header& header, const handle& with, T& message) {
      self->cause_ = header.id;
      self->on_message(header, with, message);
      self->cause_ = 0;
    };
  }

  protocol::trace_record record_of(const protocol::message_header& header, const char* message,
                                   const subject& s, protocol::instant begin) const {
    protocol::trace_record record;
    record.header = header;
    record.actor = label_;
    record.message = message;
    record.request = s.request;
    record.attempt = s.attempt;
    record.begin_ns = begin.ns;
    return record;
  }

  /// Writes the record of a message that no pure machine handles.
  template <class T>
  void record_plain(const protocol::message_header& header, const T& message, const subject& s) {
    if (!node_.trace)
      return;
    auto record = record_of(header, T::type, s, node_.clock());
    record.end_ns = record.begin_ns;
    node_.trace->record(std::move(record), [message] { return protocol::to_json(message); });
  }

private:
  /// Past so many it looks which of them have rung.
  static constexpr std::size_t alarms_kept = 8;

  template <class T>
  void set_alarm(std::int64_t delay_ms, protocol::message_header header, T message) {
    const auto now = std::chrono::steady_clock::now();
    if (alarms_.size() >= alarms_kept)
      alarms_.erase(std::remove_if(alarms_.begin(), alarms_.end(),
                                   [now](const alarm_clock::key& k) { return k.first <= now; }),
                    alarms_.end());
    alarm_clock_ = node_.alarms;
    alarms_.push_back(alarm_clock_->set(
      now + std::chrono::milliseconds(delay_ms),
      [to = caf::weak_actor_ptr{ctrl()}, header = std::move(header),
       message = std::move(message)]() mutable {
        if (const handle living = to.lock())
          caf::anon_send(caf::actor_cast<caf::actor>(living), std::move(header), handle{},
                         std::move(message));
      }));
  }

  protocol::message_header next_header() {
    return {node_.next_message_id(), cause_, full_label_, node_.clock().ns};
  }

  node_context& node_;
  std::string label_;
  std::string full_label_;
  std::uint64_t cause_ = 0;
  std::shared_ptr<alarm_clock> alarm_clock_; ///< null: it has set none
  std::vector<alarm_clock::key> alarms_;     ///< some of them may have rung
};

} // namespace baton::actors
