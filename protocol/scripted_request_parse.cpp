#include "protocol/scripted_request_parse.hpp"

#include "protocol/manifest.hpp"

#include <cmath>

namespace baton::protocol {

namespace {

constexpr std::size_t text_characters_max = 4096;
constexpr std::uint32_t permille = 1000;

constexpr json_word<attempt_phase> cancel_phases[] = {
  {"placing", attempt_phase::placing},         {"reserving", attempt_phase::reserving},
  {"prefilling", attempt_phase::prefilling},   {"handing_off", attempt_phase::handing_off},
  {"decoding", attempt_phase::decoding},
};

prompt_source read_prompt(json_object& from, std::uint32_t& prompt_tokens) {
  from.exclusive({"prompt", "prompt_tokens", "prompt_length"},
                 json_object::presence::one_required);
  if (from.has("prompt"))
    return prompt_text{from.text("prompt", limits::prompt_message_bytes_max)};
  if (from.has("prompt_tokens")) {
    token_list list{from.token_ids("prompt_tokens", limits::prompt_tokens_max)};
    prompt_tokens = static_cast<std::uint32_t>(list.ids.size());
    return list;
  }
  prompt_tokens
    = from.number<std::uint32_t>("prompt_length", {1, limits::prompt_tokens_max}, 1);
  return prompt_length{prompt_tokens};
}

sampling_spec read_sampling(json_object from) {
  sampling_spec s;
  s.temperature = from.fraction("temperature", 0.0, 100.0, 0.0);
  s.top_k = from.number<std::uint32_t>("top_k", {0, limits::packed_floats_max}, 0);
  s.top_p = from.fraction("top_p", 0.0, 1.0, 1.0);
  s.seed = from.value<std::uint64_t>("seed", 0);
  if (s.top_p == real::of(0.0F))
    from.refuse("top_p", "expected more than 0");
  from.finish();
  return s;
}

std::optional<cancel_plan> read_cancel(json_object from) {
  from.exclusive({"at", "after_ms", "after_tokens"}, json_object::presence::one_required);
  std::optional<cancel_plan> plan;
  if (from.has("at"))
    plan = cancel_at_phase{from.word("at", cancel_phases)};
  else if (from.has("after_ms"))
    plan = cancel_after_ms{from.integer("after_ms", {0, limits::deadline_ms_max})};
  else if (from.has("after_tokens"))
    plan = cancel_after_tokens{
      from.number<std::uint32_t>("after_tokens", {1, limits::output_tokens_max})};
  from.finish();
  return plan;
}

fault_spec read_fault(json_object from) {
  fault_spec f;
  if (from.has("manifest_field")) {
    f.manifest_field = from.text("manifest_field", text_characters_max);
    const std::vector<std::string> paths = manifest_field_paths();
    const std::string near = nearest_name(f.manifest_field, paths);
    if (near != f.manifest_field)
      from.refuse("manifest_field", "a manifest has no \"" + f.manifest_field + "\""
                                      + (near.empty() ? "" : "; did you mean " + near + "?"));
  }
  const real stall = from.fraction("stall_after_fraction", 0.0, 1.0, 1.0);
  f.stall_after_permille
    = static_cast<std::uint32_t>(std::lround(static_cast<double>(stall.get()) * permille));
  f.stall_ms = from.integer("stall_ms", {0, limits::deadline_ms_max}, 0);
  f.lease_ms = from.integer("lease_ms", {0, limits::lease_ms_max}, 0);
  f.duplicate_offers = from.value("duplicate_offers", false);
  f.wrong_incarnation = from.value("wrong_incarnation", false);
  f.refuse_reservation = from.value("refuse_reservation", false);
  from.finish();
  return f;
}

std::optional<expected_tokens> read_expected_tokens(json_object& from) {
  from.exclusive({"tokens", "tokens_file"}, json_object::presence::at_most_one);
  if (from.has("tokens"))
    return token_list{from.token_ids("tokens", limits::output_tokens_max)};
  if (from.has("tokens_file"))
    return tokens_file{from.text("tokens_file", text_characters_max)};
  return {};
}

request_expectation read_expectation(json_object from) {
  request_expectation e;
  if (from.has("outcome"))
    e.outcome = from.word("outcome", outcome_words);
  if (from.has("reason"))
    e.why = from.value("reason", reason::none);
  e.tokens = read_expected_tokens(from);
  e.text_contains = from.text("text_contains", text_characters_max, "");
  const auto count
    = from.number<std::uint32_t>("token_count", {0, limits::output_tokens_max}, 0);
  if (from.has("token_count"))
    e.token_count = count;
  e.same_as = {from.name("same_as", "")};
  e.message_contains = from.text("message_contains", text_characters_max, "");
  if (e.outcome == outcome_kind::completed && e.why && *e.why != reason::none)
    from.refuse("reason", "a completed request has none");
  from.finish();
  return e;
}

void read_groups(json_object from, request_spec& spec) {
  spec.prefill_group = {from.name("prefill", "")};
  spec.decode_group = {from.name("decode", "")};
  from.finish();
}

} // namespace

scripted_request read_request(json_object& from) {
  scripted_request r;
  request_spec& spec = r.spec;
  spec.external = {from.name("id")};
  r.count = from.number<std::uint32_t>("count", {1, limits::script_requests_max}, 1);
  r.at_ms = from.integer("at_ms", {0, limits::deadline_ms_max}, 0);
  spec.tenant = {from.name("tenant", "default")};
  r.prompt = read_prompt(from, spec.prompt_tokens);
  spec.output_tokens
    = from.number<std::uint32_t>("output_tokens", {1, limits::output_tokens_max});
  spec.ignore_eos = from.value("ignore_eos", false);
  spec.sampling = read_sampling(from.object("sampling"));
  spec.deadline_ms = from.integer("deadline_ms", {0, limits::deadline_ms_max}, 0);
  spec.retries
    = from.number<std::uint32_t>("retries", {0, limits::attempts_per_request_max - 1}, 0);
  spec.queue_ms = from.integer("queue_ms", {0, limits::deadline_ms_max}, limits::queue_ms_default);
  spec.hold_ms = from.integer("hold_ms", {0, limits::deadline_ms_max}, 0);
  read_groups(from.object("group"), spec);
  if (from.has("cancel"))
    r.cancel = read_cancel(from.object("cancel"));
  spec.record_logits = from.value("record_logits", false);
  spec.record_kv_digest = from.value("record_kv_digest", false);
  spec.fault = read_fault(from.object("fault"));
  if (const auto* at = r.cancel ? std::get_if<cancel_at_phase>(&*r.cancel) : nullptr)
    spec.fault.cancel_at = to_string(at->phase);
  r.expect = read_expectation(from.object("expect"));
  r.batch = spec.external.value;
  return r;
}

} // namespace baton::protocol
