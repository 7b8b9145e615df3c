// The bookkeeping of a scripted client: which request is due, what came of each, what went wrong.
// Pure: it reads no clock and sends nothing; actors/client.cpp turns it into messages.
//
//   waiting ──take_due──▶ open ──request_ended──▶ over
#pragma once

#include "actors/device_messages.hpp"
#include "protocol/clock.hpp"
#include "protocol/messages_request.hpp"
#include "protocol/script.hpp"

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace baton::actors {

/// One frame as it came: its token, when, and a digest of its logits (0: none were recorded).
struct received_frame {
  std::int32_t token = 0;
  protocol::instant at;
  std::uint64_t logits_digest = 0;
};

struct phase_seen {
  std::uint32_t attempt = 0;
  protocol::attempt_phase phase = protocol::attempt_phase::placing;
  protocol::instant at;
};

namespace request_stage {
struct waiting {};
struct open {};
struct over {
  protocol::request_ended ended;
  protocol::instant at;
};
} // namespace request_stage

/// Everything that is known of one request of the script.
struct request_account {
  protocol::scripted_request asked;
  std::variant<request_stage::waiting, request_stage::open, request_stage::over> stage;
  protocol::instant submitted; ///< zero while waiting
  std::vector<received_frame> frames;
  std::vector<float> logits; ///< of all frames, for the one request whose logits are kept
  std::vector<phase_seen> phases;
  std::string text;
  std::uint64_t kv_digest = 0; ///< 0: none was recorded

  const std::string& name() const { return asked.spec.external.value; }
  /// Null until the request has its outcome.
  const request_stage::over* end() const { return std::get_if<request_stage::over>(&stage); }
  bool is_open() const { return std::holds_alternative<request_stage::open>(stage); }
};

/// A request to submit now, and how long after it to call cancel_when_due.
struct submission {
  protocol::submit_request message;
  std::optional<std::int64_t> cancel_after_ms;
};

struct run_counts {
  std::size_t waiting = 0;
  std::size_t open = 0;
  std::size_t over = 0;
  std::uint64_t tokens = 0; ///< received, of all requests
};

class client_run {
public:
  /// `keep_logits_of`: the request whose raw logits are kept in memory; empty: none.
  explicit client_run(const protocol::script& script, protocol::external_id keep_logits_of = {});

  /// at_ms counts from here. Call once, first.
  void start(protocol::instant now) { started_ = now; }
  protocol::instant started() const { return started_; }

  /// Opens every request that is due at `now` and that the bounds (script.max_open, and
  /// batch_open_max of its batch) leave room for, in order of at_ms.
  std::vector<submission> take_due(protocol::instant now);

  /// Milliseconds from `now` until take_due would return something without any further message;
  /// at least 1; none: it waits for a request to end, or for nothing.
  std::optional<std::int64_t> next_due_ms(protocol::instant now) const;

  void accepted(const protocol::request_accepted& message);
  void phase(const protocol::phase_entered& message, protocol::instant now);
  void text(const protocol::frame_text& message);
  /// Returns the cancel that this frame brings about, if the script plans one.
  std::optional<protocol::cancel_request> frame(const protocol::frame_forwarded& message,
                                                protocol::instant now);
  void ended(const protocol::request_ended& message, protocol::instant now);

  /// The cancel planned so long after submission; none when the request is over by now.
  std::optional<protocol::cancel_request> cancel_when_due(const protocol::external_id& request);

  /// Submits nothing more, and cancels everything open.
  std::vector<protocol::cancel_request> interrupt(const std::string& why);

  /// The cluster's router is lost: nothing more will be said of what is open.
  void router_lost(const std::string& why);

  /// Nothing is open and nothing more will be submitted.
  bool finished() const;

  run_counts counts() const;
  std::vector<std::string> open_names() const;
  const std::vector<request_account>& accounts() const { return accounts_; }
  /// Null when the script has no such request.
  const request_account* find(const protocol::external_id& request) const;
  /// What no router may do: gaps, repeats, second outcomes. Each is an error of the run.
  const std::vector<std::string>& problems() const { return problems_; }

private:
  struct batch {
    std::deque<std::size_t> waiting;
    std::uint32_t open = 0;
    std::uint32_t open_max = 0;

    bool has_room() const { return open < open_max; }
  };

  request_account* find_open(const protocol::external_id& request, const std::string& what);
  void note_problem(const std::string& request, const std::string& what);
  submission open_request(request_account& account, protocol::instant now);

  std::vector<request_account> accounts_; ///< in order of at_ms
  std::map<protocol::external_id, std::size_t> by_name_;
  std::map<protocol::request_id, std::size_t> by_id_;
  std::map<std::string, batch> batches_;
  std::set<std::size_t> heads_; ///< the next request of each batch that has room
  protocol::external_id keep_logits_of_;
  std::uint32_t open_max_;
  protocol::instant started_;
  run_counts counts_;
  std::vector<std::string> problems_;
};

} // namespace baton::actors
