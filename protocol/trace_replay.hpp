// Replays recorded events into the machines that handled them: same events, same instants, so each
// step must end in the recorded state with the recorded effects. A difference means that the shell
// did something that its machine did not decide, or that the trace is not what happened.
//
// Traces keep token ids and floats as counts only; no machine decides by their values.
#pragma once

#include "protocol/trace_record.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace baton::protocol {

/// What a machine says to one record.
struct replay_difference {
  std::string what; ///< "the state after", "the effects", "cannot be taken"
  std::string expected;
  std::string recorded;
};

/// One machine of any kind, stepped by records.
class replayed_machine {
public:
  virtual ~replayed_machine() = default;

  /// Steps with the record's event at the record's begin_ns. Never aborts and never throws: an
  /// event that the machine cannot take or that does not read is a difference too.
  virtual std::optional<replay_difference> take(const trace_record& record) = 0;

  /// Name of the state that the machine is in now.
  virtual std::string state_name() const = 0;
};

/// A machine in its first state; null when there is none of that name.
std::unique_ptr<replayed_machine> make_replayed(const std::string& machine);

/// States in which nothing is left to do. Pools, rank groups and membership have none.
bool is_terminal(const std::string& machine, const std::string& state);
/// True for the machines that begin and end with a request.
bool is_mortal(const std::string& machine);

/// All actors of a trace, each fed its records in order.
class trace_replay {
public:
  /// Steps the actor's machine; a record without a machine is left alone. After a difference the
  /// actor's further records are left alone, for its state is unknown.
  std::optional<replay_difference> see(std::uint32_t actor, const trace_record& record);

private:
  struct entry {
    std::string kind;
    std::unique_ptr<replayed_machine> machine; ///< null: in doubt since a difference
  };
  std::map<std::uint32_t, entry> actors_;
};

} // namespace baton::protocol
