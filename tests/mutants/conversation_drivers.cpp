// Whole hand-offs in memory (tests/protocol/conversation.hpp): every step is checked there, the end
// and the outcome here.
#include "tests/mutants/driver.hpp"
#include "tests/mutants/drawn_conversation.hpp"

#include <algorithm>
#include <random>

namespace baton::mutants {

namespace {

using namespace protocol;
using namespace tests;

constexpr std::uint32_t seeds_max = 2'000;

/// How a request may end in a conversation: what a fault that was really played can explain.
bool may_fail_with(reason why) {
  return why == reason::lease_expired || why == reason::no_capacity || why == reason::not_found
         || why == reason::no_source_blocks || why == reason::no_slot || why == reason::peer_lost;
}

/// What is wrong with a conversation that has come to its end; "" when nothing is.
std::string wrong(const conversation& c) {
  if (!c.broken().empty())
    return c.broken().front();
  const auto left = c.not_drained();
  if (!left.empty())
    return "at the end " + left.front();
  if (c.outcomes().size() != 1)
    return std::to_string(c.outcomes().size()) + " outcomes";
  const request_ended& outcome = c.outcomes().front();
  if (outcome.tokens != c.frames().size())
    return "the outcome counts other tokens than the client";
  switch (outcome.kind) {
  case outcome_kind::completed:
    return c.frames().size() == sample_output_tokens ? "" : "completed with tokens missing";
  case outcome_kind::cancelled: return "";
  default: break;
  }
  return may_fail_with(outcome.why.why) ? "" : "it fails with: " + outcome.why.text;
}

/// To the end, or to the first thing that is wrong.
std::string finish(conversation& c, progress& at) {
  while (c.broken().empty() && c.steps() < 20'000 && c.advance())
    at.steps = c.steps();
  if (c.steps() >= 20'000)
    return "it does not end";
  return wrong(c);
}

std::string quiet(progress& at) {
  for (const auto& shape : shapes)
    for (const std::int64_t retention_ms : {0, 50}) {
      ++at.tries;
      const std::uint32_t chunk_tokens = retention_ms > 0 ? 3 : 4; // ends within a block, or at one
      conversation c({shape, retention_ms, 8, chunk_tokens}, in_order);
      const std::string what = finish(c, at);
      if (!what.empty())
        return what;
      if (c.outcomes().front().kind != outcome_kind::completed)
        return "a request that nothing disturbs is not completed";
    }
  return "";
}

/// `disturb` at every step of a conversation that is quiet otherwise.
template <class Disturbance>
std::string at_every_step(progress& at, const Disturbance& disturb) {
  for (const auto& shape : shapes)
    for (std::uint32_t step = 0; step < 400; ++step) {
      ++at.tries;
      conversation c({shape, 0, 8, 4}, in_order);
      bool going = true;
      while (going && c.steps() < step) {
        going = c.advance();
        at.steps = c.steps();
      }
      disturb(c);
      const std::string what = finish(c, at);
      if (!what.empty())
        return what;
      if (!going)
        break;
    }
  return "";
}

std::string cancels(progress& at) {
  return at_every_step(at, [](conversation& c) { c.cancel(); });
}

std::string expiries(progress& at) {
  return at_every_step(at, [](conversation& c) { c.expire_leases(); });
}

/// What may still end a request when one message is lost or late: a piece, which ends the lease,
/// and a token, which would be a gap for the client. Everything else is asked for again.
bool may_end_it(const conversation& c, fate which) {
  const auto is = [&](const std::string& word) {
    const std::string& text = c.fated();
    return text.size() >= word.size() && text.substr(text.size() - word.size()) == word;
  };
  if (which == fate::is_lost && is("offer"))
    return true;
  return (which == fate::is_lost || which == fate::comes_late) && is("token_emitted");
}

std::string one_message(const hand_off_shape& shape, fate which, std::uint32_t nth, bool& reached,
                        progress& at) {
  const std::int64_t lease_ms = 20'000; // longer than any question takes
  std::uint32_t met = 0;
  conversation c({shape, 0, 8, 4, lease_ms}, [&](choice what, std::uint32_t) {
    return what == choice::fate && met++ == nth ? static_cast<std::uint32_t>(which) : 0U;
  });
  const std::string what = finish(c, at);
  reached = met > nth;
  if (!what.empty() || c.outcomes().front().kind == outcome_kind::completed
      || may_end_it(c, which))
    return what;
  return "a request is not completed: " + c.outcomes().front().why.text;
}

std::string fates_of_one(progress& at) {
  for (const auto& shape : shapes)
    for (std::uint32_t which = 1; which < fates; ++which) {
      bool reached = true;
      for (std::uint32_t nth = 0; reached; ++nth) {
        ++at.tries;
        const std::string what = one_message(shape, static_cast<fate>(which), nth, reached, at);
        if (!what.empty())
          return what;
      }
    }
  return "";
}

std::string interleaving(std::uint32_t seed, progress& at) {
  const drawn_conversation drawn = draw_conversation(seed);
  conversation c(drawn.setup, drawn.choose);
  while (c.broken().empty() && c.steps() < drawn.cancel_at && c.advance())
    at.steps = c.steps();
  if (c.broken().empty() && drawn.cancel_at != never)
    c.cancel();
  return finish(c, at);
}

std::string interleavings(progress& at) {
  for (std::uint32_t seed = 0; seed < seeds_max; ++seed) {
    ++at.tries;
    const std::string what = interleaving(seed, at);
    if (!what.empty())
      return what;
  }
  return "";
}

} // namespace

drawn_conversation draw_conversation(std::uint32_t seed) {
  std::mt19937 rng(seed);
  drawn_conversation drawn;
  drawn.setup.shape = shapes[rng() % shapes.size()];
  drawn.setup.shape.retries = rng() % 3;
  const std::uint32_t slowness = 1 + rng() % 200; // how rarely time passes while letters wait
  std::uint32_t faults = rng() % 4 == 0 ? 0 : rng() % 30; // after them the network is well
  drawn.cancel_at = rng() % 2 == 0 ? rng() % 300 : never;
  drawn.setup.pool_blocks = 3 + static_cast<std::uint32_t>(rng() % 8);
  drawn.setup.retention_ms = rng() % 2 == 0 ? 0 : 50;
  drawn.choose = [rng, faults, slowness](choice what, std::uint32_t bound) mutable {
    const auto draw = [&](std::uint32_t bound_of) {
      return static_cast<std::uint32_t>(rng() % bound_of);
    };
    if (what == choice::fate)
      return faults > 0 && draw(4) == 0 ? (--faults, draw(bound)) : 0U;
    return draw(slowness) == 0 ? draw(bound) : draw(std::max(1U, bound - 1));
  };
  return drawn;
}

std::vector<driver> conversation_drivers() {
  return {
    {"quiet", "one request in every shape, nothing goes wrong", quiet},
    {"cancels", "the same with a cancel at every step", cancels},
    {"expiries", "the same with the end of all leases at every step", expiries},
    {"fates", "the same with each message between nodes lost, late or repeated", fates_of_one},
    {"interleavings", "any order, time, loss, cancels, small pools, retries", interleavings},
  };
}

} // namespace baton::mutants
