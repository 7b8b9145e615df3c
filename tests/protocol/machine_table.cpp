#include "tests/protocol/machine_table.hpp"

#include <csignal>
#include <fcntl.h>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

namespace baton::tests {

namespace {

[[noreturn]] void run_child(int answer, const std::function<std::string()>& run) {
  std::signal(SIGABRT, SIG_DFL); // not the test framework's handler
  const int nowhere = open("/dev/null", O_WRONLY);
  dup2(nowhere, STDOUT_FILENO);
  dup2(nowhere, STDERR_FILENO);
  const std::string text = run();
  const bool written = write(answer, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  _exit(written ? 0 : 1);
}

std::string read_all(int from) {
  std::string text;
  char buffer[4096];
  for (ssize_t n = 0; (n = read(from, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(n));
  return text;
}

} // namespace

std::string outcome_in_child(const std::function<std::string()>& run) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0)
    run_child(ends[1], run);
  close(ends[1]);
  const std::string text = read_all(ends[0]);
  close(ends[0]);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  if (WIFSIGNALED(status))
    return WTERMSIG(status) == SIGABRT ? "aborts" : "ends by another signal";
  return WEXITSTATUS(status) == 0 ? text : "fails to answer";
}

std::vector<std::string> lines_of(const std::string& table) {
  std::vector<std::string> lines;
  std::istringstream in(table);
  for (std::string line; std::getline(in, line);) {
    const auto first = line.find_first_not_of(' ');
    if (first == std::string::npos)
      continue;
    const std::string text = line.substr(first, line.find_last_not_of(' ') - first + 1);
    if (text[0] == '+' && !lines.empty())
      lines.back() += text.substr(1);
    else
      lines.push_back(text);
  }
  return lines;
}

} // namespace baton::tests
