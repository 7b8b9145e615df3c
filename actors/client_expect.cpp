#include "actors/client_expect.hpp"

#include "protocol/step.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

namespace baton::actors {

using namespace protocol;

namespace {

std::vector<std::int32_t> tokens_of(const request_account& account) {
  std::vector<std::int32_t> ids;
  for (const auto& frame : account.frames)
    ids.push_back(frame.token);
  return ids;
}

/// How an outcome reads in a message: "failed (lease_expired: no evidence within 200 ms)".
std::string describe(const request_ended& ended) {
  std::string text = to_string(ended.kind);
  if (ended.why)
    text += std::string(" (") + to_string(ended.why.why)
            + (ended.why.text.empty() ? "" : ": " + ended.why.text) + ")";
  return text;
}

/// Empty when equal.
std::string difference(const std::vector<std::int32_t>& expected,
                       const std::vector<std::int32_t>& got) {
  const std::size_t common = std::min(expected.size(), got.size());
  for (std::size_t i = 0; i < common; ++i)
    if (expected[i] != got[i])
      return "token " + std::to_string(i) + ": expected " + std::to_string(expected[i]) + ", got "
             + std::to_string(got[i]);
  if (expected.size() == got.size())
    return {};
  return "expected " + std::to_string(expected.size()) + " tokens, got "
         + std::to_string(got.size()) + ", equal as far as they go";
}

class checker {
public:
  checker(const client_run& run, const request_account& account, const token_files& files)
    : run_(run), account_(account), files_(files) {}

  std::vector<std::string> failed() {
    const auto* over = account_.end();
    if (over == nullptr)
      return {account_.name() + ".outcome: there is none"};
    check_end(over->ended);
    check_tokens();
    return std::move(failed_);
  }

private:
  const request_expectation& expect() const { return account_.asked.expect; }

  void add(const char* field, const std::string& what) {
    if (!what.empty())
      failed_.push_back(account_.name() + "." + field + ": " + what);
  }

  void check_end(const request_ended& ended) {
    const auto& e = expect();
    if (e.outcome && *e.outcome != ended.kind)
      add("outcome", std::string("expected ") + to_string(*e.outcome) + ", got "
                       + describe(ended));
    if (e.why && *e.why != ended.why.why)
      add("reason", std::string("expected ") + to_string(*e.why) + ", got "
                      + to_string(ended.why.why)
                      + (ended.why.text.empty() ? "" : ": " + ended.why.text));
    if (!e.message_contains.empty()
        && ended.why.text.find(e.message_contains) == std::string::npos)
      add("message_contains",
          "expected \"" + e.message_contains + "\" in \"" + ended.why.text + "\"");
  }

  void check_tokens() {
    const auto& e = expect();
    const auto got = tokens_of(account_);
    if (e.tokens)
      add("tokens", difference(expected_ids(*e.tokens), got));
    if (!e.text_contains.empty() && account_.text.find(e.text_contains) == std::string::npos)
      add("text_contains", "the answer does not contain \"" + e.text_contains + "\"");
    if (e.token_count && *e.token_count != got.size())
      add("token_count", "expected " + std::to_string(*e.token_count) + ", got "
                           + std::to_string(got.size()));
    if (!e.same_as.value.empty())
      check_same(got);
  }

  void check_same(const std::vector<std::int32_t>& got) {
    const auto* other = run_.find(expect().same_as);
    if (other == nullptr) {
      add("same_as", "the script has no request \"" + expect().same_as.value + "\"");
      return;
    }
    const std::string what = difference(tokens_of(*other), got);
    add("same_as", what.empty() ? what : "against " + other->name() + ": " + what);
  }

  std::vector<std::int32_t> expected_ids(const expected_tokens& expected) const {
    return std::visit(overloaded{[](const token_list& list) { return list.ids; },
                                 [this](const tokens_file& f) { return files_.at(f.path); }},
                      expected);
  }

  const client_run& run_;
  const request_account& account_;
  const token_files& files_;
  std::vector<std::string> failed_;
};

std::uint32_t count_of(const client_run& run, outcome_kind kind) {
  const auto& all = run.accounts();
  return static_cast<std::uint32_t>(std::count_if(all.begin(), all.end(), [kind](const auto& a) {
    return a.end() != nullptr && a.end()->ended.kind == kind;
  }));
}

void check_count(std::vector<std::string>& failed, const std::string& field,
                 std::uint32_t expected, std::uint32_t got) {
  if (expected != got)
    failed.push_back(field + ": expected " + std::to_string(expected) + ", got "
                     + std::to_string(got));
}

} // namespace

outcome<std::vector<std::int32_t>> read_token_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return failure{reason::bad_input, path + ": cannot read it: " + std::strerror(errno)};
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  if (bytes.size() % sizeof(std::int32_t) != 0)
    return failure{reason::bad_input,
                   path + ": " + std::to_string(bytes.size()) + " bytes are no int32s"};
  std::vector<std::int32_t> ids(bytes.size() / sizeof(std::int32_t));
  std::memcpy(ids.data(), bytes.data(), bytes.size());
  return ids;
}

outcome<token_files> read_token_files(const script& script, const std::string& folder) {
  token_files files;
  for (const auto& request : script.requests) {
    const auto* named
      = request.expect.tokens ? std::get_if<tokens_file>(&*request.expect.tokens) : nullptr;
    if (named == nullptr)
      continue;
    const bool absolute = named->path.front() == '/' || folder.empty();
    auto ids = read_token_file(absolute ? named->path : folder + "/" + named->path);
    if (!ids)
      return failure{reason::bad_input, "request " + request.spec.external.value
                                          + ": expect.tokens_file: " + ids.error().text};
    files[named->path] = std::move(ids.value());
  }
  return files;
}

std::vector<std::string> failed_expectations(const client_run& run,
                                             const request_account& account,
                                             const token_files& files) {
  return checker(run, account, files).failed();
}

std::vector<std::string> failed_expectations(const client_run& run, const script& script,
                                             const token_files& files) {
  std::vector<std::string> failed;
  for (const auto& account : run.accounts())
    for (auto& line : failed_expectations(run, account, files))
      failed.push_back(std::move(line));
  for (const auto& [kind, expected] : script.expect.outcomes)
    check_count(failed, std::string("outcomes.") + to_string(kind), expected, count_of(run, kind));
  if (script.expect.refused_count)
    check_count(failed, "refused_count", *script.expect.refused_count,
                count_of(run, outcome_kind::refused));
  return failed;
}

} // namespace baton::actors
