#include "tests/spin/model_step.hpp"

#include <sstream>

namespace baton::tests::spin {

namespace {

std::vector<std::string> name_words() {
  std::vector<std::string> names{"owner", "free blocks"};
  for (const char* block : {"block 0", "block 1"})
    for (const char* part : {"", " generation", " holder"})
      names.push_back(std::string(block) + part);
  const auto numbered = [&](const std::string& word, int count) {
    for (int i = 0; i < count; ++i)
      names.push_back(word + " " + std::to_string(i));
  };
  numbered("reservation", 3);
  numbered("known of lane", 6);
  numbered("lane", 6);
  return names;
}

} // namespace

const std::vector<std::string>& state_words() {
  static const std::vector<std::string> names = name_words();
  return names;
}

std::optional<model_step> parse_step(const std::string& line) {
  std::istringstream words(line);
  std::string did;
  std::string who;
  model_step step;
  if (!(words >> did >> step.what >> who) || did != "did" || who.back() != ':')
    return std::nullopt;
  who.pop_back();
  if (who.empty() || who.find_first_not_of("0123456789") != std::string::npos)
    return std::nullopt;
  step.who = static_cast<std::uint32_t>(std::stoul(who));
  for (std::string word; words >> word;)
    step.state.push_back(word);
  const bool cut_short = line.find('-') != std::string::npos; // the simulator's own rule
  if (cut_short || step.state.size() != state_words().size())
    return std::nullopt;
  return step;
}

std::vector<model_step> read_steps(std::istream& from) {
  std::vector<model_step> steps;
  for (std::string line; std::getline(from, line);)
    if (auto step = parse_step(line))
      steps.push_back(std::move(*step));
  return steps;
}

} // namespace baton::tests::spin
