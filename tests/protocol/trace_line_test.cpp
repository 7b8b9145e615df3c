#include "protocol/trace_line.hpp"

#include <doctest/doctest.h>

using namespace baton::protocol;

namespace {

trace_record sample() {
  trace_record r;
  r.header = {0x12ab'0000'0000'0007, 0, "client:client", -5};
  r.actor = "request/\"q\"\n";
  r.message = "submit_request";
  r.event = {{"external", "req-8k-017"}};
  r.effects = {"a", "b"};
  r.request = {0, 255};
  r.attempt = 4'294'967'295U;
  r.begin_ns = 1;
  r.end_ns = 9'223'372'036'854'775'807;
  return r;
}

} // namespace

TEST_CASE("a record survives its line, whatever its names hold") {
  const auto back = record_from_line(to_line(sample()));
  REQUIRE(back.ok());
  CHECK(to_line(back.value()) == to_line(sample()));
  CHECK(back.value().header == sample().header);
  CHECK(back.value().actor == sample().actor);
  CHECK(back.value().event == sample().event);
  CHECK(to_line(sample()).find('\n') == std::string::npos);
}

TEST_CASE("every kind of line is told apart") {
  const trace_header header{trace_version, {"P7.0"}, {1, 2}, "c", 3};
  CHECK(std::get<trace_header>(parse_line(to_line(header)).value()) == header);
  CHECK(std::get<trace_loss>(parse_line("{\"lost\":12}").value()).records == 12);
  CHECK(std::get<trace_end>(parse_line(to_line(trace_end{7})).value()).records == 7);
  CHECK(std::holds_alternative<trace_record>(parse_line(to_line(sample())).value()));
}

TEST_CASE("a wrong line is an error with the field and the reason") {
  const auto error_of = [](const std::string& line) { return parse_line(line).error().text; };
  const std::string good = to_line(sample());
  CHECK(error_of(good.substr(0, good.size() / 2)).find("not JSON") == 0);
  CHECK(error_of("7") == "expected an object, got 7");
  CHECK(error_of("{\"id\":\"12\"}") == "id: expected 16 hexadecimal digits");
  CHECK(error_of("{\"end\":-1}").find("end: expected 0 to ") == 0);
  CHECK(error_of("{}") == "end: missing");
  CHECK(error_of("{\"trace\":9,\"node\":\"n\",\"life\":\"00000000000000000000000000000000\","
                 "\"cluster\":\"c\",\"opened_unix_ms\":0}")
        == "trace: version 9, this program reads 2");
}

TEST_CASE("a sender names its node before the first colon") {
  CHECK(node_of_sender("P7.0:source_hold/5") == "P7.0");
  CHECK(node_of_sender("router") == "router");
}
