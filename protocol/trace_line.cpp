#include "protocol/trace_line.hpp"

namespace baton::protocol {

namespace {

/// Names are plain nearly always; whatever is not goes through the JSON writer.
void append_text(std::string& line, const std::string& text) {
  for (const char c : text)
    if (c < 0x20 || c > 0x7e || c == '"' || c == '\\') {
      line += to_text(json(text));
      return;
    }
  line += '"';
  line += text;
  line += '"';
}

void append(std::string& line, const char* name, const std::string& text) {
  line += ",\"";
  line += name;
  line += "\":";
  append_text(line, text);
}

void append(std::string& line, const char* name, std::int64_t number) {
  line += ",\"";
  line += name;
  line += "\":";
  line += std::to_string(number);
}

/// Reads the members of one line; keeps the first mistake.
class line_reader {
public:
  explicit line_reader(const json& object) : object_(object) {}

  template <class T>
  void read(const char* name, T& value) {
    if (error_)
      return;
    const auto found = object_.find(name);
    error_ = found == object_.end() ? json_error(json_problem{"", "missing"})
                                    : json_form<T>::read(*found, value);
    if (error_)
      error_->under(name);
  }

  void read_message_id(const char* name, std::uint64_t& id) {
    std::string text;
    read(name, text);
    std::uint64_t none = 0;
    if (!error_ && !from_hex(std::string(16, '0') + text, none, id))
      error_ = json_problem{name, "expected 16 hexadecimal digits"};
  }

  template <class T>
  outcome<T> answer(T value) const {
    if (error_)
      return failure{reason::bad_input, describe(*error_)};
    return value;
  }

private:
  const json& object_;
  json_error error_;
};

outcome<json> parse_object(const std::string& line) {
  json object = json::parse(line, nullptr, false); // a whole trace passes here: no second look
  if (object.is_discarded()) {
    auto told = parse_text(line); // says where it breaks off
    return told ? outcome<json>(failure{reason::bad_input, "not JSON"}) : told;
  }
  if (!object.is_object())
    return failure{reason::bad_input, describe(expected("an object", object))};
  return object;
}

outcome<trace_header> read_header(const json& object) {
  trace_header header;
  line_reader reader(object);
  reader.read("trace", header.version);
  reader.read("node", header.node);
  reader.read("life", header.life);
  reader.read("cluster", header.cluster);
  reader.read("opened_unix_ms", header.opened_unix_ms);
  auto answer = reader.answer(header);
  if (answer && header.version != trace_version)
    return failure{reason::unsupported, "trace: version " + std::to_string(header.version)
                                          + ", this program reads "
                                          + std::to_string(trace_version)};
  return answer;
}

outcome<trace_record> read_record(json& object) {
  trace_record record;
  line_reader reader(object);
  reader.read_message_id("id", record.header.id);
  reader.read_message_id("cause", record.header.cause);
  reader.read("from", record.header.sender);
  reader.read("sent_ns", record.header.sent_ns);
  reader.read("actor", record.actor);
  reader.read("machine", record.machine);
  reader.read("message", record.message);
  reader.read("before", record.before);
  reader.read("after", record.after);
  reader.read("effects", record.effects);
  reader.read("request", record.request);
  reader.read("attempt", record.attempt);
  reader.read("begin_ns", record.begin_ns);
  reader.read("end_ns", record.end_ns);
  auto answer = reader.answer(std::move(record));
  const auto event = object.find("event");
  if (answer && (event == object.end() || !event->is_object()))
    return failure{reason::bad_input, "event: expected an object"};
  if (answer)
    answer.value().event = std::move(*event);
  return answer;
}

template <class T>
outcome<trace_line> as_line(outcome<T> read) {
  if (!read)
    return read.error();
  return trace_line(std::move(read.value()));
}

} // namespace

std::string message_id_text(std::uint64_t id) { return to_hex(0, id).substr(16); }

std::string node_of_sender(const std::string& sender) {
  return sender.substr(0, sender.find(':'));
}

std::string to_line(const trace_record& r) {
  std::string line;
  line.reserve(512);
  line += "{\"id\":\"" + message_id_text(r.header.id) + '"';
  append(line, "cause", message_id_text(r.header.cause));
  append(line, "from", r.header.sender);
  append(line, "sent_ns", r.header.sent_ns);
  append(line, "actor", r.actor);
  append(line, "machine", r.machine);
  append(line, "message", r.message);
  line += ",\"event\":";
  line += r.event.is_object() ? to_text(r.event) : "{}";
  append(line, "before", r.before);
  append(line, "after", r.after);
  line += ",\"effects\":[";
  for (std::size_t i = 0; i < r.effects.size(); ++i) {
    line += i == 0 ? "" : ",";
    append_text(line, r.effects[i]);
  }
  line += ']';
  append(line, "request", to_string(r.request));
  append(line, "attempt", std::int64_t{r.attempt});
  append(line, "begin_ns", r.begin_ns);
  append(line, "end_ns", r.end_ns);
  line += '}';
  return line;
}

std::string to_line(const trace_header& header) {
  std::string line = "{\"trace\":" + std::to_string(header.version);
  append(line, "node", header.node.value);
  append(line, "life", to_string(header.life));
  append(line, "cluster", header.cluster);
  append(line, "opened_unix_ms", header.opened_unix_ms);
  return line + '}';
}

std::string to_line(const trace_loss& loss) {
  return "{\"lost\":" + std::to_string(loss.records) + '}';
}

std::string to_line(const trace_end& end) {
  return "{\"end\":" + std::to_string(end.records) + '}';
}

outcome<trace_line> parse_line(const std::string& line) {
  auto parsed = parse_object(line);
  if (!parsed)
    return parsed.error();
  json& object = parsed.value();
  line_reader reader(object);
  if (object.contains("id"))
    return as_line(read_record(object));
  if (object.contains("trace"))
    return as_line(read_header(object));
  if (object.contains("lost")) {
    trace_loss loss;
    reader.read("lost", loss.records);
    return as_line(reader.answer(loss));
  }
  trace_end end;
  reader.read("end", end.records);
  return as_line(reader.answer(end));
}

outcome<trace_record> record_from_line(const std::string& line) {
  auto parsed = parse_object(line);
  return parsed ? read_record(parsed.value()) : outcome<trace_record>(parsed.error());
}

outcome<trace_header> header_from_line(const std::string& line) {
  auto parsed = parse_object(line);
  return parsed ? read_header(parsed.value()) : outcome<trace_header>(parsed.error());
}

} // namespace baton::protocol
