#include "tests/sim/world.hpp"

namespace baton::sim {

std::string world::describe(const action& a) const {
  const std::uint8_t p = setup_->shape.prefill_groups;
  const auto name = [&](std::uint32_t who) { return to_string(address::unpacked(who), p); };
  const auto letter_text = [&](const mail& m) -> std::string {
    static const char* const notices[]
      = {"",         "",         "offer of pieces", "receipt",   "stopped",
         "rejected", "query",    "ask_writer",      "writer_stopped", "end_sequence",
         "ask for the hold", "the hold is gone"};
    std::string text = name(m.from) + " -> " + name(m.to) + ": ";
    if (m.what == letter::event || m.what == letter::start)
      return text + known_->event_name(m.event_of, m.event);
    text += notices[static_cast<std::size_t>(m.what)];
    if (m.what == letter::offer)
      for (std::uint32_t pieces = m.event; pieces != 0; pieces &= pieces - 1) {
        const auto piece = static_cast<std::uint32_t>(__builtin_ctz(pieces));
        text += piece == resume_piece ? " resume" : " " + std::to_string(piece);
      }
    return text;
  };
  const auto group = [&](std::size_t g) {
    return group_text({static_cast<std::uint8_t>(g), groups_[g].life}, p);
  };
  switch (a.kind) {
  case what::deliver: return letter_text(mail_[a.index]);
  case what::repeat: return letter_text(mail_[a.index]) + " (and once more later)";
  case what::lose: return "LOST " + letter_text(mail_[a.index]);
  case what::land: return name(rows_[a.index].lane) + ": "
           + (a.arg == resume_piece ? "the resume state" : "piece " + std::to_string(a.arg))
           + " lands";
  case what::spoil:
    return "WRONG BYTES in piece " + std::to_string(a.arg) + " of " + name(rows_[a.index].lane);
  case what::compute:
    return group(sequences_[a.index].home.group) + ": kernels of sequence "
           + std::to_string(sequences_[a.index].number) + " on rank " + std::to_string(a.arg);
  case what::reap: return name(mapped_.dead[a.index]) + "'s rank: its process is collected";
  case what::outwait:
    return group(a.index) + ": rank " + std::to_string(a.arg)
           + " has waited for a writer for long enough";
  case what::fire:
    if (find(timers_[a.index].who) == nullptr)
      return group(address::unpacked(timers_[a.index].who).home.group) + ": writers_due";
    return name(timers_[a.index].who) + ": "
           + known_->event_name(address::unpacked(timers_[a.index].who).what,
                                timers_[a.index].event);
  case what::cancel: return "client of request " + std::to_string(a.index + 1) + " cancels";
  case what::expire: return "the clock of " + group(a.index) + " reaches the end of a lease";
  case what::crash: return "CRASH of " + group(a.index);
  case what::restart: return "restart of " + group(a.index);
  case what::delay: return "DELAYED " + letter_text(mail_.front());
  case what::learn: return "the router tells " + name(parties_[a.index].who) + " of a lost group";
  }
  return "?";
}

} // namespace baton::sim
