#include "protocol/script.hpp"

#include <doctest/doctest.h>
#include <map>

using namespace baton::protocol;

namespace {

script with_generator(const std::string& fields) {
  const auto s = parse_script(R"({"name": "s", "generate": [{"id": "mix", "count": 1000,
    "prompt_length": {"min": 16, "max": 400}, "output_tokens": {"min": 1, "max": 64})"
                                + fields + "}]}",
                              "script.json");
  REQUIRE_MESSAGE(s, s.error().text);
  return s.value();
}

} // namespace

TEST_CASE("a generator draws the same requests again, within its ranges") {
  const script s = with_generator(R"(, "rate_per_s": 200, "max_open": 16, "cancel_fraction": 0.1)");
  const auto all = expand(s);
  REQUIRE(all.size() == 1000);
  CHECK(expanded_count(s) == 1000);
  CHECK(all == expand(s));
  std::map<std::size_t, int> cancels;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const scripted_request& r = all[i];
    CHECK(r.spec.external == external_id{"mix-" + std::to_string(i)});
    CHECK(r.at_ms == static_cast<std::int64_t>(i * 5));
    CHECK((r.spec.prompt_tokens >= 16 && r.spec.prompt_tokens <= 400));
    CHECK((r.spec.output_tokens >= 1 && r.spec.output_tokens <= 64));
    CHECK(r.prompt == prompt_source(prompt_length{r.spec.prompt_tokens}));
    CHECK(r.batch == "mix");
    CHECK(r.batch_open_max == 16);
    if (r.cancel)
      ++cancels[r.cancel->index()];
  }
  CHECK(cancels.size() == 3); // at a phase, after a time, after tokens
  const int cancelled = cancels[0] + cancels[1] + cancels[2];
  CHECK((cancelled > 70 && cancelled < 130));
}

TEST_CASE("another seed draws other requests") {
  const auto one = expand(with_generator(", \"seed\": 1"));
  const auto two = expand(with_generator(", \"seed\": 2"));
  int equal = 0;
  for (std::size_t i = 0; i < one.size(); ++i)
    equal += one[i].spec.sampling.seed == two[i].spec.sampling.seed ? 1 : 0;
  CHECK(equal == 0);
}

TEST_CASE("without a rate everything is asked at once, without a fraction nothing is cancelled") {
  for (const scripted_request& r : expand(with_generator(""))) {
    CHECK(r.at_ms == 0);
    CHECK_FALSE(r.cancel);
    CHECK(r.batch_open_max == limits::requests_open_max);
  }
}

TEST_CASE("every cancel of a fraction of one is legal") {
  for (const scripted_request& r : expand(with_generator(", \"cancel_fraction\": 1"))) {
    REQUIRE(r.cancel);
    if (const auto* at = std::get_if<cancel_at_phase>(&*r.cancel))
      CHECK(at->phase <= attempt_phase::decoding);
    if (const auto* tokens = std::get_if<cancel_after_tokens>(&*r.cancel))
      CHECK((tokens->tokens >= 1 && tokens->tokens <= r.spec.output_tokens));
  }
}
