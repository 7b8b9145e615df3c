#include "protocol/manifest.hpp"

#include "protocol/json_codec.hpp"

#include <doctest/doctest.h>

using namespace baton::protocol;

namespace {

manifest teaching_manifest() {
  manifest m;
  m.attempt = {{1, 2}, 4, {1}};
  m.reservation = {{3, 4}, 17};
  m.generation_sum = 520;
  m.destination = {3, 4};
  m.model = {"teaching-80l", "w1", "t1", 80, 8, 128, 8192, "bf16", 16,
             "block[layer][kv][head][token][dim]", "theta=500000", "cpu", true, "f32"};
  m.prompt_digest = "p1";
  m.prompt_tokens = 8192;
  m.range_end = 8192;
  m.source_tp = 2;
  m.destination_tp = 2;
  m.head_partition = "contiguous";
  m.resume = "final_hidden_f32";
  m.first_token_owner = "decode";
  m.sampler = "greedy";
  m.sampler_counter = 8192;
  return m;
}

} // namespace

TEST_CASE("equal manifests match") {
  CHECK(compare(teaching_manifest(), teaching_manifest()).empty());
  CHECK_FALSE(check_manifest(teaching_manifest(), teaching_manifest()));
}

TEST_CASE("each single field that is falsified is refused by its own name") {
  const std::vector<std::string> paths = manifest_field_paths();
  CHECK(paths.size() == 33);
  for (const std::string& path : paths) {
    CAPTURE(path);
    manifest offered = teaching_manifest();
    REQUIRE(falsify(offered, path));
    const auto differences = compare(teaching_manifest(), offered);
    REQUIRE(differences.size() == 1);
    CHECK(differences[0].field_name == path);
    CHECK(differences[0].expected != differences[0].offered);
    const failure refused = check_manifest(teaching_manifest(), offered);
    CHECK(refused.why == reason::manifest_mismatch);
    CHECK(refused.text.find(path + ": expected ") != std::string::npos);
  }
}

TEST_CASE("all differences are told at once, in field order, with both values") {
  manifest offered = teaching_manifest();
  offered.model.dtype = "f32";
  offered.model.batch_invariant = false;
  offered.attempt.ordinal = 5;
  CHECK(check_manifest(teaching_manifest(), offered).text
        == "manifest: attempt.ordinal: expected 4, offered 5; model.dtype: expected bf16, offered "
           "f32; model.batch_invariant: expected true, offered false");
}

TEST_CASE("a field that does not exist cannot be falsified") {
  manifest m = teaching_manifest();
  CHECK_FALSE(falsify(m, "model.colour"));
  CHECK_FALSE(falsify(m, "model"));
  CHECK_FALSE(falsify(m, ""));
  CHECK(m == teaching_manifest());
}

TEST_CASE("a manifest survives its JSON form") {
  const auto back = from_json<manifest>(to_json(teaching_manifest()));
  REQUIRE(back);
  CHECK(back.value() == teaching_manifest());
}
