// Owns one rank's compute device: keeps the sequences that plans refer to, turns step plans into
// device plans, and says what has completed. The device runs; this actor never waits for it.
#include "actors/device_messages.hpp"
#include "actors/interfaces.hpp"
#include "actors/kv_digest.hpp"
#include "actors/shell.hpp"
#include "protocol/messages_mapped.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace baton::actors {

namespace {

using namespace protocol;

class compute_device_actor : public shell {
public:
  compute_device_actor(caf::actor_config& config, node_context& node, compute_setup setup)
    : shell(config, node, "compute_device"), setup_(std::move(setup)) {}

  caf::behavior make_behavior() override {
    auto* self = this;
    return caf::behavior{handler<begin_sequence>(self), handler<end_sequence>(self),
                         handler<run_step>(self),       handler<poison_rank>(self),
                         handler<digest_kv>(self),      handler<keep_resume>(self),
                         handler<forget_attempt>(self), handler<watch_sequence>(self),
                         handler<plan_ended>(self),     handler<end_writing>(self),
                         handler<end_node>(self)};
  }

  /// Handles name each other in circles; an actor that has ended holds none.
  void on_exit() override {
    leader_ = {};
    asked_.clear();
    watchers_.clear();
  }

  void on_message(const message_header&, const handle&, begin_sequence& e) {
    const sequence_id id = e.sequence;
    sequences_[id] = {std::move(e), 0, {}};
  }
  void on_message(const message_header&, const handle&, end_sequence& e) {
    if (!setup_.writes_mapped)
      return forget(e.sequence);
    ending_.insert(e.sequence);
    say_ended_ones();
  }

  /// Said to a rank that was thought to be lost, too: its device may still be at work.
  void on_message(const message_header&, const handle&, end_writing& e) {
    asked_.push_back({e.attempt, sender()});
    say_ended_ones();
  }

  void on_message(const message_header& header, const handle&, run_step& e) {
    record_plain(header, e, {});
    leader_ = sender();
    gpu::step_plan plan;
    plan.epoch = e.epoch.value;
    plan.step = e.step.value;
    for (const auto& slice : e.slices)
      plan.slices.push_back(device_slice(slice));
    running_[e.step] = std::move(e.slices);
    setup_.device->enqueue(std::move(plan));
  }

  void on_message(const message_header& header, const handle&, plan_ended& e) {
    record_plain(header, e, {});
    const auto it = running_.find(e.step);
    if (it == running_.end())
      return;
    const auto slices = std::move(it->second);
    running_.erase(it);
    say_ended_ones();
    if (e.error) {
      send_to(leader_, step_failed{node().rank, e.epoch, e.step, e.error});
      return;
    }
    // The leader first: the group's next plan waits for it.
    send_to(leader_, step_completed{node().rank, e.epoch, e.step, outputs_of(e)});
    for (std::size_t i = 0; i < slices.size() && i < e.results.size(); ++i)
      note_progress(slices[i], e.results[i]);
  }

  /// No plan of a broken group comes any more. In place its peer need not wait for the ranks that
  /// cannot answer: this one has ended what it wrote when its own plans have.
  void on_message(const message_header&, const handle&, poison_rank& e) {
    setup_.device->poison(e.epoch.value, e.why.text);
    if (!setup_.writes_mapped)
      return;
    for (const auto& [id, sequence] : sequences_)
      ending_.insert(id);
    say_ended_ones();
  }

  void on_message(const message_header&, const handle&, digest_kv& e) {
    const auto it = sequences_.find(e.sequence);
    std::uint64_t digest = 0;
    if (it != sequences_.end())
      digest = kv_digest(setup_.shape, setup_.arena, it->second.begun.blocks, e.tokens);
    send_to(sender(), kv_digested{node().rank, e.sequence, digest});
  }

  void on_message(const message_header&, const handle&, keep_resume& e) {
    resume_[e.attempt] = std::move(e.hidden);
  }
  void on_message(const message_header&, const handle&, forget_attempt& e) {
    resume_.erase(e.attempt);
  }

  void on_message(const message_header&, const handle& watcher, watch_sequence& e) {
    watchers_[e.sequence].push_back(watcher);
    const auto it = sequences_.find(e.sequence);
    if (it != sequences_.end() && it->second.computed > 0)
      send_to(watcher, source_ready{e.sequence, it->second.computed, it->second.hidden});
  }

  void on_message(const message_header&, const handle&, end_node&) { quit(); }

private:
  void forget(const sequence_id& sequence) {
    sequences_.erase(sequence);
    watchers_.erase(sequence);
  }

  template <class Predicate>
  bool runs(Predicate named) const {
    return std::any_of(running_.begin(), running_.end(), [&](const auto& plan) {
      return std::any_of(plan.second.begin(), plan.second.end(),
                         [&](const plan_slice& s) { return named(s.sequence); });
    });
  }

  /// In place: whatever was released or asked about, and runs no more.
  void say_ended_ones() {
    const handle transfer = node().peers.find(node().name).handles.transfer;
    for (auto it = ending_.begin(); it != ending_.end();) {
      const sequence_id ended = *it;
      if (runs([&](const sequence_id& s) { return s == ended; })) {
        ++it;
        continue;
      }
      it = ending_.erase(it);
      forget(ended);
      send_to(transfer, sequence_ended{ended});
    }
    const auto still = [&](const asked& a) {
      return runs([&](const sequence_id& s) {
        const auto known = sequences_.find(s);
        return known != sequences_.end() && known->second.begun.attempt == a.attempt;
      });
    };
    const auto quiet = std::stable_partition(asked_.begin(), asked_.end(), still);
    for (auto it = quiet; it != asked_.end(); ++it)
      send_to(it->by, writing_ended{it->attempt});
    asked_.erase(quiet, asked_.end());
  }

  /// What a rank knows of a sequence between its first and last plan.
  struct sequence {
    begin_sequence begun;
    std::uint32_t computed = 0;    ///< prompt positions whose kernels have completed
    packed_floats hidden;          ///< of the last position, once computed
  };

  gpu::sampling sampling_of(const sampling_spec& s) const {
    return {s.temperature.get(), s.top_p.get(), s.top_k, s.seed};
  }

  gpu::slice device_slice(const plan_slice& plan) const {
    const begin_sequence& begun = sequences_.at(plan.sequence).begun;
    gpu::slice slice;
    slice.sequence = plan.sequence.value;
    slice.start = plan.start;
    for (const auto& block : begun.blocks)
      slice.blocks.push_back(block.value);
    const auto& prompt = begun.prompt.ids;
    switch (plan.kind) {
    case slice_kind::prefill:
    case slice_kind::last_prefill:
      slice.tokens.assign(prompt.begin() + plan.start, prompt.begin() + plan.start + plan.count);
      slice.want_hidden = plan.kind == slice_kind::last_prefill;
      return slice;
    case slice_kind::first_token: {
      const auto kept = resume_.find(begun.attempt);
      if (kept != resume_.end())
        slice.resume = kept->second.values;
      if (setup_.verifies_context)
        slice.context = prompt;
      break;
    }
    case slice_kind::decode: slice.tokens = {plan.token.value}; break;
    }
    slice.sample = sampling_of(begun.sampling);
    slice.want_logits = begun.record_logits;
    return slice;
  }

  /// Only rank 0's results travel: every rank has sampled the same tokens.
  std::vector<slice_output> outputs_of(plan_ended& e) const {
    std::vector<slice_output> outputs;
    if (node().rank.value != 0)
      return outputs;
    for (auto& r : e.results) {
      const bool eos = r.sampled
                       && std::find(setup_.eos.begin(), setup_.eos.end(), r.token.value)
                            != setup_.eos.end();
      outputs.push_back({r.sequence, r.token, r.sampled, eos, std::move(r.logits)});
    }
    return outputs;
  }

  /// source_ready: the kernels of these positions have completed on this rank.
  void note_progress(const plan_slice& plan, slice_ended& result) {
    const auto it = sequences_.find(plan.sequence);
    const bool prompt
      = plan.kind == slice_kind::prefill || plan.kind == slice_kind::last_prefill;
    if (it == sequences_.end() || !prompt)
      return;
    sequence& s = it->second;
    s.computed = plan.start + plan.count;
    if (plan.kind == slice_kind::last_prefill) {
      s.hidden = std::move(result.hidden);
      if (s.begun.in_place)
        resume_[s.begun.attempt] = s.hidden;
    }
    const auto watching = watchers_.find(plan.sequence);
    if (watching == watchers_.end())
      return;
    for (const auto& watcher : watching->second)
      send_to(watcher, source_ready{plan.sequence, s.computed, s.hidden});
  }

  struct asked {
    attempt_id attempt;
    handle by;
  };

  compute_setup setup_;
  handle leader_;
  std::set<sequence_id> ending_; ///< released, and named by a plan that runs
  std::vector<asked> asked_;     ///< the same by attempt
  std::map<sequence_id, sequence> sequences_;
  /// Feeds. A transfer may be opened before the leader has begun the sequence it takes from.
  std::map<sequence_id, std::vector<handle>> watchers_;
  std::map<attempt_id, packed_floats> resume_; ///< final hidden states, kept until forgotten
  std::map<step_number, std::vector<plan_slice>> running_;
};

} // namespace

handle spawn_compute_device(caf::actor_system& system, node_context& node, compute_setup setup) {
  return caf::actor_cast<handle>(system.spawn<compute_device_actor>(node, std::move(setup)));
}

} // namespace baton::actors
