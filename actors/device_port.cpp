#include "actors/device_port.hpp"

#include "actors/device_messages.hpp"
#include "actors/shell.hpp"

#define XXH_INLINE_ALL
#include <cstring>
#include <xxhash.h>

namespace baton::actors {

using namespace protocol;

namespace {

/// The endpoint's words as messages; a landed payload brings its floats.
struct transfer_messages {
  node_context& node;
  const std::string& label;
  const handle& to;

  void operator()(transport::lane_admitted& e) { say(lane_admitted{e.lane}); }
  void operator()(transport::pieces_landed& e) {
    for (transport::piece_landed& each : e.pieces)
      say_landed(each);
  }
  void say_landed(transport::piece_landed& e) {
    if (e.payload.empty()) {
      say(piece_landed{e.lane, e.piece, e.block, e.bytes, 0});
      return;
    }
    resume_landed landed{e.lane, e.piece, {}};
    landed.hidden.values.resize(e.payload.size() / sizeof(float));
    std::memcpy(landed.hidden.values.data(), e.payload.data(),
                landed.hidden.values.size() * sizeof(float));
    say(std::move(landed));
  }
  void operator()(transport::offer_refused& e) {
    say(offer_refused{e.lane, e.piece, std::move(e.error)});
  }
  void operator()(transport::lane_stopped& e) { say(receives_quiesced{e.lane}); }
  void operator()(transport::receipt_arrived& e) { say(receipt_arrived{e.lane}); }
  void operator()(transport::reader_stopped& e) { say(reader_stopped{e.lane}); }
  void operator()(transport::offer_rejected& e) {
    say(offer_rejected{e.lane, e.piece, std::move(e.error)});
  }
  void operator()(transport::peer_failed& e) {
    say(channel_failed{e.peer, std::move(e.error)});
  }
  void operator()(transport::peer_connected& e) {
    say(channel_ready{e.peer, std::move(e.error), std::move(e.path)});
  }

  template <class T>
  void say(T message) {
    post(node, label, to, std::move(message));
  }
};

struct device_messages {
  node_context& node;
  const std::string& label;
  const handle& to;

  void operator()(gpu::plan_completed& e) {
    plan_ended ended{{e.epoch}, {e.step}, {}, {}, e.compute_ns};
    for (auto& r : e.results)
      ended.results.push_back({{r.sequence}, {r.token.value_or(0)}, r.token.has_value(),
                               {std::move(r.hidden)}, {std::move(r.logits)}});
    post(node, label, to, std::move(ended));
  }
  void operator()(gpu::plan_failed& e) {
    post(node, label, to, plan_ended{{e.epoch}, {e.step}, std::move(e.error), {}, 0});
  }
  void operator()(gpu::device_quiesced&) {} // completions of every plan say the same
};

} // namespace

void device_port::attach(handle owner) {
  const std::lock_guard<std::mutex> lock(mutex_);
  owner_ = std::move(owner);
}

void device_port::detach() { attach({}); }

handle device_port::owner() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return owner_;
}

void device_port::deliver(transport::transfer_event event) {
  const handle to = owner();
  std::visit(transfer_messages{node_, label_, to}, event);
}

void device_port::deliver(gpu::device_event event) {
  const handle to = owner();
  std::visit(device_messages{node_, label_, to}, event);
}

std::uint64_t resume_digest(const float* values, std::size_t count) {
  const std::uint64_t digest = XXH3_64bits(values, count * sizeof(float));
  return digest == 0 ? 1 : digest;
}

} // namespace baton::actors
