#include "actors/client.hpp"

#include "actors/client_messages.hpp"
#include "actors/right_router.hpp"
#include "actors/shell.hpp"
#include "actors/status_messages.hpp"
#include "protocol/assert.hpp"

#include <caf/io/middleman.hpp>

namespace baton::actors {

namespace {

using namespace protocol;

constexpr std::int64_t connect_wait_ms_max = 10'000;
constexpr std::int64_t connect_retry_ms = 200;
constexpr auto connect_try_max = std::chrono::seconds(3);
constexpr std::int64_t wind_up_ms_max = 5'000;
constexpr std::int64_t settle_ms_max = limits::shutdown_wait_ms_max;
constexpr std::int64_t status_pause_ms = 50;
constexpr std::int64_t status_silence_ms = 500;
/// A node flushes its trace before its pool answers: the second such round has all of it on disk.
constexpr std::uint32_t free_rounds_needed = 2;

enum class stage : std::uint8_t { connecting, asking, playing, winding_up, settling, ended };

/// Answers to ask_status, collected until everyone has answered.
enum class round_state : std::uint8_t { asked, heard };

class client_actor : public shell {
public:
  client_actor(caf::actor_config& config, node_context& node, client_setup setup,
               std::function<void(client_result)> on_end)
    : shell(config, node, "client"), setup_(std::move(setup)), on_end_(std::move(on_end)),
      run_(setup_.script, setup_.keep_logits_of), pools_(node.cluster) {}

  caf::behavior make_behavior() override {
    set_down_handler([this](const caf::down_msg& down) { guard_down(to_string(down.reason)); });
    alarm_in(connect_wait_ms_max, client_alarm::connect_over);
    if (setup_.guard)
      reached(setup_.guard);
    else
      connect();
    auto* self = this;
    return caf::behavior{handler<router_is>(self),       handler<request_accepted>(self),
                         handler<phase_entered>(self),   handler<frame_forwarded>(self),
                         handler<frame_text>(self),      handler<request_ended>(self),
                         handler<node_status>(self),     handler<pool_status>(self),
                         handler<alarm_due>(self)};
  }

  void on_message(const message_header& header, const handle& router, router_is& e) {
    record_plain(header, e, {});
    if (stage_ != stage::asking)
      return;
    error_ = check_router(node(), where(), e, router);
    if (error_)
      end(run_end::not_connected);
    else
      play(router);
  }

  void on_message(const message_header& header, const handle&, request_accepted& e) {
    record_plain(header, e, {e.request, 0});
    run_.accepted(e);
  }

  void on_message(const message_header& header, const handle&, phase_entered& e) {
    record_plain(header, e, about(e.attempt));
    run_.phase(e, node().clock());
  }

  void on_message(const message_header& header, const handle&, frame_forwarded& e) {
    record_plain(header, e, about(e.attempt));
    if (const auto cancel = run_.frame(e, node().clock()))
      send_to(router_, *cancel);
    setup_.output->frame(e);
  }

  void on_message(const message_header& header, const handle&, frame_text& e) {
    record_plain(header, e, {});
    run_.text(e);
    setup_.output->text(e);
  }

  void on_message(const message_header& header, const handle&, request_ended& e) {
    record_plain(header, e, {e.request, 0});
    run_.ended(e, node().clock());
    if (stage_ == stage::playing)
      submit_due();
    end_if_finished();
  }

  void on_message(const message_header& header, const handle&, node_status& e) {
    record_plain(header, e, {});
    pools_.answered(e);
    look_at_round();
  }

  void on_message(const message_header& header, const handle&, pool_status& e) {
    record_plain(header, e, {});
    pools_.answered(e);
    look_at_round();
  }

  void on_message(const message_header& header, const handle&, alarm_due& e) {
    record_plain(header, e, {});
    switch (e.what) {
    case client_alarm::connect: return connect();
    case client_alarm::connect_over: return give_up_connecting();
    case client_alarm::submit: submit_alarm_.reset(); return submit_due();
    case client_alarm::cancel: return cancel(e.request);
    case client_alarm::progress: return show_progress();
    case client_alarm::timeout: return wind_up(run_end::timed_out, "the script timed out");
    case client_alarm::interrupt: return interrupted();
    case client_alarm::wind_up_over: return end(early_end_);
    case client_alarm::status_due: return begin_round();
    case client_alarm::status_silent:
      if (round_ == round_state::asked && e.number == round_number_)
        pools_.note_silence();
      return ask_again(e.number);
    case client_alarm::settle_over: return settled();
    }
  }

private:
  // ---- connecting -----------------------------------------------------------------------------

  std::string where() const { return setup_.host + ":" + std::to_string(setup_.port); }

  void connect() {
    if (stage_ != stage::connecting)
      return;
    request(home_system().middleman().actor_handle(), connect_try_max, caf::connect_atom::value,
            setup_.host, setup_.port)
      .then(
        [this](const caf::node_id&, const handle& guard, const std::set<std::string>&) {
          if (guard && stage_ == stage::connecting)
            reached(guard);
          else
            alarm_in(connect_retry_ms, client_alarm::connect);
        },
        [this](const caf::error&) { alarm_in(connect_retry_ms, client_alarm::connect); });
  }

  void reached(const handle& guard) {
    guard_ = guard;
    stage_ = stage::asking;
    monitor(caf::actor_cast<caf::actor>(guard));
    send_to(guard, ask_router{});
  }

  void give_up_connecting() {
    if (stage_ != stage::connecting && stage_ != stage::asking)
      return;
    error_ = {reason::peer_lost,
              std::string(stage_ == stage::connecting ? "cannot reach the router of cluster '"
                                                      : "no answer from the router of cluster '")
                + node().cluster.name + "' at " + where() + " within "
                + std::to_string(connect_wait_ms_max / 1000) + " s: is the cluster up?"};
    end(run_end::not_connected);
  }

  /// R3: nothing more will come from that node, so nothing is waited for.
  void guard_down(const std::string& why) {
    switch (stage_) {
    case stage::asking: return give_up_connecting();
    case stage::playing:
    case stage::winding_up:
      run_.router_lost(why);
      router_lost_ = true;
      return end(stage_ == stage::playing ? run_end::played : early_end_);
    case stage::settling: return settled();
    case stage::connecting:
    case stage::ended: return;
    }
  }

  // ---- playing --------------------------------------------------------------------------------

  void play(const handle& router) {
    router_ = router;
    stage_ = stage::playing;
    run_.start(node().clock());
    alarm_in(setup_.script.timeout_ms, client_alarm::timeout);
    if (const auto ms = progress_ms(setup_.output->mode()); ms > 0)
      alarm_in(ms, client_alarm::progress);
    submit_due();
  }

  void submit_due() {
    if (stage_ != stage::playing)
      return;
    for (auto& due : run_.take_due(node().clock())) {
      const external_id request = due.message.spec.external;
      send_to(router_, std::move(due.message));
      if (due.cancel_after_ms)
        send_later(*due.cancel_after_ms, alarm_due{client_alarm::cancel, request, 0});
    }
    const instant now = node().clock();
    const auto wait = run_.next_due_ms(now);
    if (!wait)
      return;
    const instant due = after_ms(now, *wait);
    if (submit_alarm_ && *submit_alarm_ <= due)
      return; // one that rings before is set already
    submit_alarm_ = due;
    alarm_in(*wait, client_alarm::submit);
  }

  void cancel(const external_id& request) {
    if (const auto message = run_.cancel_when_due(request))
      send_to(router_, *message);
  }

  void show_progress() {
    if (stage_ != stage::playing)
      return;
    setup_.output->progress(run_.counts());
    alarm_in(progress_ms(setup_.output->mode()), client_alarm::progress);
  }

  void end_if_finished() {
    if (!run_.finished())
      return;
    if (stage_ == stage::playing)
      setup_.settles ? settle() : end(run_end::played);
    else if (stage_ == stage::winding_up)
      end(early_end_);
  }

  // ---- ending early ---------------------------------------------------------------------------

  void interrupted() {
    if (stage_ == stage::playing)
      wind_up(run_end::interrupted, "the client was interrupted");
    else if (stage_ != stage::winding_up)
      end(run_end::interrupted);
  }

  void wind_up(run_end why, const std::string& text) {
    if (stage_ != stage::playing)
      return;
    stage_ = stage::winding_up;
    early_end_ = why;
    open_at_end_ = run_.open_names();
    for (auto& cancel : run_.interrupt(text))
      send_to(router_, std::move(cancel));
    alarm_in(wind_up_ms_max, client_alarm::wind_up_over);
    end_if_finished();
  }

  // ---- settling -------------------------------------------------------------------------------

  void settle() {
    stage_ = stage::settling;
    alarm_in(settle_ms_max, client_alarm::settle_over);
    begin_round();
  }

  void begin_round() {
    if (stage_ != stage::settling)
      return;
    pools_.begin_round();
    round_ = round_state::asked;
    ++round_number_;
    ask_again(round_number_);
  }

  void ask_again(std::uint64_t round) {
    if (stage_ != stage::settling || round_ != round_state::asked || round != round_number_)
      return;
    send_to(guard_, ask_status{}, self_handle());
    send_later(status_silence_ms, alarm_due{client_alarm::status_silent, {}, round});
  }

  void look_at_round() {
    if (stage_ != stage::settling || round_ != round_state::asked || !pools_.complete())
      return;
    round_ = round_state::heard;
    free_rounds_ = pools_.all_free() ? free_rounds_ + 1 : 0;
    if (free_rounds_ == free_rounds_needed)
      settled();
    else
      alarm_in(status_pause_ms, client_alarm::status_due);
  }

  void settled() {
    if (stage_ == stage::settling)
      end(run_end::played);
  }

  // ---- the end --------------------------------------------------------------------------------

  void end(run_end how) {
    if (stage_ == stage::ended)
      return;
    const bool settled = stage_ == stage::settling && how == run_end::played;
    stage_ = stage::ended;
    setup_.output->finish();
    quit();
    on_end_({how, error_, std::move(run_), std::move(open_at_end_),
             settled ? std::optional<pools_watch>(pools_) : std::nullopt, router_lost_});
  }

  void alarm_in(std::int64_t delay_ms, client_alarm what) {
    send_later(delay_ms, alarm_due{what, {}, 0});
  }

  client_setup setup_;
  std::function<void(client_result)> on_end_;
  client_run run_;
  pools_watch pools_;
  stage stage_ = stage::connecting;
  failure error_;
  handle guard_;
  handle router_;
  std::optional<instant> submit_alarm_; ///< when the next one rings
  run_end early_end_ = run_end::interrupted;
  std::vector<std::string> open_at_end_;
  bool router_lost_ = false;
  round_state round_ = round_state::heard;
  std::uint64_t round_number_ = 0;
  std::uint32_t free_rounds_ = 0; ///< in a row
};

} // namespace

handle spawn_client(caf::actor_system& system, node_context& node, client_setup setup,
                    std::function<void(client_result)> on_end) {
  BATON_ASSERT(setup.output != nullptr);
  return caf::actor_cast<handle>(
    system.spawn<client_actor>(node, std::move(setup), std::move(on_end)));
}

void interrupt_client(node_context& node, const handle& client) {
  post(node, "signal", client, alarm_due{client_alarm::interrupt, {}, 0});
}

} // namespace baton::actors
