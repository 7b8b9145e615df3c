#include "protocol/script.hpp"

#include "protocol/json_codec.hpp"

#include <algorithm>
#include <doctest/doctest.h>

using namespace baton::protocol;

namespace {

script parsed(const std::string& text) {
  const auto s = parse_script(text, "script.json");
  REQUIRE_MESSAGE(s, s.error().text);
  return s.value();
}

const char* const mixed = R"({
  "name": "mixed",
  "requests": [
    {"id": "a", "prompt": "In the beginning", "output_tokens": 8},
    {"id": "b", "count": 3, "at_ms": 5, "prompt_tokens": [1, 2, 3], "output_tokens": 4,
     "sampling": {"temperature": 0.8, "top_k": 40, "top_p": 0.9, "seed": 18446744073709551615},
     "group": {"prefill": "P7", "decode": "D3"}, "cancel": {"at": "handing_off"},
     "retries": 2, "deadline_ms": 900, "queue_ms": 10, "hold_ms": 20, "tenant": "t",
     "expect": {"outcome": "cancelled", "reason": "cancelled", "token_count": 0}},
    {"id": "c", "prompt_length": 8192, "output_tokens": 128, "ignore_eos": true,
     "record_logits": true, "record_kv_digest": true, "cancel": {"after_tokens": 5},
     "fault": {"manifest_field": "model.dtype", "stall_after_fraction": 0.7, "stall_ms": 500,
               "lease_ms": 100, "duplicate_offers": true},
     "expect": {"same_as": "b-1", "tokens": [7, 8], "message_contains": "model.dtype"}}
  ],
  "max_open": 2,
  "expect": {"free_equals_capacity": true, "refused_count": 0, "outcomes": {"completed": 1}}
})";

} // namespace

TEST_CASE("a script says what it says, and defaults are harmless") {
  const script s = parsed(mixed);
  REQUIRE(s.requests.size() == 3);
  const scripted_request& a = s.requests[0];
  CHECK(std::get<prompt_text>(a.prompt).text == "In the beginning");
  CHECK(a.spec.prompt_tokens == 0);
  CHECK(a.spec.tenant == tenant_name{"default"});
  CHECK(a.spec.sampling.temperature == real::of(0.0F));
  CHECK(a.spec.sampling.top_p == real::of(1.0F));
  CHECK(a.spec.queue_ms == limits::queue_ms_default);
  CHECK_FALSE(a.cancel);
  CHECK(a.expect == request_expectation{});
  CHECK_FALSE(has_fault(a.spec));

  const scripted_request& b = s.requests[1];
  CHECK(b.spec.prompt_tokens == 3);
  CHECK(b.spec.sampling.seed == 18446744073709551615ULL);
  CHECK(b.spec.sampling.temperature == real::of(0.8F));
  CHECK(b.spec.decode_group == group_name{"D3"});
  CHECK(b.cancel == cancel_plan(cancel_at_phase{attempt_phase::handing_off}));
  CHECK(b.spec.fault.cancel_at == "handing_off");
  CHECK_FALSE(has_fault(b.spec));
  CHECK(b.expect.why == reason::cancelled);

  const scripted_request& c = s.requests[2];
  CHECK(std::get<prompt_length>(c.prompt).tokens == 8192);
  CHECK(c.spec.fault.stall_after_permille == 700);
  CHECK(c.spec.fault.duplicate_offers);
  CHECK(has_fault(c.spec));
  CHECK(std::get<token_list>(*c.expect.tokens).ids == std::vector<std::int32_t>{7, 8});
  CHECK(s.expect.free_equals_capacity);
  CHECK_FALSE(s.expect.trace_check);
  CHECK(s.expect.refused_count == 0U);
  REQUIRE(s.expect.outcomes.size() == 1);
  CHECK(s.expect.outcomes[0].first == outcome_kind::completed);
}

TEST_CASE("copies are numbered and keep everything else, in order of submission") {
  const script s = parsed(mixed);
  const auto all = expand(s);
  CHECK(expanded_count(s) == 5);
  std::vector<std::string> ids;
  for (const scripted_request& r : all) {
    ids.push_back(r.spec.external.value);
    CHECK(r.count == 1);
  }
  CHECK(ids == std::vector<std::string>{"a", "c", "b-0", "b-1", "b-2"});
  CHECK(all[3].spec.deadline_ms == 900);
  CHECK(all[3].batch == "b");
}

TEST_CASE("a script's traces do not hold its prompts' tokens") {
  const script before = parsed(mixed);
  const auto after = from_json<script>(to_json(before));
  REQUIRE_MESSAGE(after, after.error().text);
  CHECK(std::get<token_list>(after.value().requests[1].prompt).ids
        == std::vector<std::int32_t>{0, 0, 0});
  CHECK(after.value().requests[2].spec == before.requests[2].spec);
}

TEST_CASE("synthetic prompts are equal for equal seeds and begin alike") {
  const auto ids = synthetic_prompt(100, 7, 32'000);
  CHECK(ids == synthetic_prompt(100, 7, 32'000));
  CHECK(ids != synthetic_prompt(100, 8, 32'000));
  const auto longer = synthetic_prompt(200, 7, 32'000);
  CHECK(std::equal(ids.begin(), ids.end(), longer.begin()));
  for (const std::int32_t id : synthetic_prompt(1000, 1, 5))
    CHECK((id >= 0 && id < 5));
  // SplitMix64's published first outputs for seed 0, modulo 32,000.
  CHECK(synthetic_prompt(3, 0, 32'000) == std::vector<std::int32_t>{15'535, 19'700, 25'679});
}

TEST_CASE("a cluster must have the groups, in their roles, and allow the faults") {
  const auto cluster = parse_cluster(R"({"name": "teaching", "executor": {"kind": "synthetic"},
    "groups": [{"name": "P7", "role": "prefill", "pool_blocks": 8},
               {"name": "D3", "role": "decode", "pool_blocks": 8}]})",
                                     "cluster.json");
  REQUIRE(cluster);
  script s = parsed(mixed);
  CHECK(check_script(s, cluster.value(), "script.json").text
        == "script.json: requests[2].fault: cluster \"teaching\" does not allow faults");
  s.requests[2].spec.fault = {};
  CHECK_FALSE(check_script(s, cluster.value(), "script.json"));
  s.requests[1].spec.prefill_group = {"P8"};
  CHECK(check_script(s, cluster.value(), "script.json").text
        == "script.json: requests[1].group.prefill: cluster \"teaching\" has no group \"P8\"; did "
           "you mean P7?");
  s.requests[1].spec.prefill_group = {"D3"};
  CHECK(check_script(s, cluster.value(), "script.json").text
        == "script.json: requests[1].group.prefill: group \"D3\" is a decode group");
}
