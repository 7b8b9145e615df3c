// Does the search find the bugs? Lets each driver hunt each planted bug in a process of its own,
// and fails unless every bug is found and the code without bugs passes.
//
//   hunt                    each mutant until a first driver finds it
//   hunt --all              each mutant by every driver
//   hunt --only NAME        that mutant by every driver
//   hunt --json             the same as JSON
//   hunt --driver NAME      that driver alone; `none` as --only hunts in the code without bugs
#include "protocol/assert.hpp"
#include "protocol/json_values.hpp"
#include "tests/mutants/driver.hpp"
#include "tests/mutants/mutant.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <new>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace baton;
using namespace baton::mutants;

constexpr rlim_t hunt_cpu_s_max = 20; ///< of one driver on one mutant

struct options {
  bool all = false;
  bool json = false;
  std::string only;
  std::string driver;
};

enum class verdict : std::uint8_t { nothing, wrong, aborted, crashed, too_slow };

struct finding {
  verdict how = verdict::nothing;
  std::string what;
  std::uint64_t tries = 0;
  std::uint64_t steps = 0;

  bool found() const { return how == verdict::wrong || how == verdict::aborted; }
};

/// Of the child that hunts; the parent reads it when the child is gone.
progress* shared = nullptr;

void keep_sentence(const char* what, const char*, int) {
  std::snprintf(shared->sentence, sizeof shared->sentence, "assertion: %s", what);
}

[[noreturn]] void hunt_here(int mutant, const driver& by) {
  const int quiet = dup2(fileno(std::tmpfile()), STDERR_FILENO); // a broken assertion is expected
  static_cast<void>(quiet);
  protocol::set_assertion_hook(keep_sentence);
  const rlimit bound{hunt_cpu_s_max, hunt_cpu_s_max}; // of the processor: others may use it too
  if (setrlimit(RLIMIT_CPU, &bound) != 0)
    _exit(2);
  activate(mutant);
  std::string what;
  try {
    what = by.hunt(*shared);
  } catch (const std::exception& e) {
    what = std::string("exception: ") + e.what();
  }
  std::snprintf(shared->sentence, sizeof shared->sentence, "%s", what.c_str());
  _exit(what.empty() ? 0 : 1);
}

finding judge(int status) {
  finding f{verdict::nothing, shared->sentence, shared->tries, shared->steps};
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    f.how = signal == SIGABRT                        ? verdict::aborted
            : signal == SIGXCPU || signal == SIGKILL ? verdict::too_slow
                                                     : verdict::crashed;
    if (f.what.empty())
      f.what = std::string("signal ") + std::to_string(signal);
  } else if (WEXITSTATUS(status) != 0) {
    f.how = verdict::wrong;
  }
  return f;
}

finding hunt(int mutant, const driver& by) {
  new (shared) progress;
  const pid_t child = fork();
  if (child == 0)
    hunt_here(mutant, by);
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child)
    return {verdict::crashed, "no process for the hunt", 0, 0};
  return judge(status);
}

std::vector<driver> drivers(const options& asked) {
  std::vector<driver> all = word_drivers(); // the quickest first
  for (const auto& more : {member_drivers(), rank_drivers()})
    all.insert(all.end(), more.begin(), more.end());
  for (const auto& more : {conversation_drivers(), trace_drivers(), sim_drivers()})
    all.insert(all.end(), more.begin(), more.end());
  if (!asked.driver.empty())
    all.erase(std::remove_if(all.begin(), all.end(),
                             [&](const driver& d) { return asked.driver != d.name; }),
              all.end());
  return all;
}

/// A line of the table, or of the JSON, for each hunt that was made.
class report {
public:
  explicit report(bool json) : json_(json) {}

  void add(const char* mutant, const driver& by, const finding& f) {
    if (json_)
      rows_.push_back({{"mutant", mutant}, {"driver", by.name}, {"found", f.found()},
                       {"tries", f.tries}, {"steps", f.steps}, {"what", f.what}});
    else if (f.how != verdict::nothing)
      std::printf("%-34s %-14s try %-5lu step %-6lu %s\n", mutant, by.name, f.tries, f.steps,
                  f.what.c_str());
    std::fflush(stdout);
  }
  void missed(const char* mutant) {
    if (!json_)
      std::printf("%-34s NOT FOUND\n", mutant);
    std::fflush(stdout);
  }
  void end(std::size_t found, std::size_t of) {
    if (json_)
      std::printf("%s\n", rows_.dump(1).c_str());
    else
      std::printf("%zu of %zu mutants found\n", found, of);
  }

private:
  bool json_;
  protocol::json rows_ = protocol::json::array();
};

/// True when it was found.
bool hunt_one(int mutant, const char* name, const options& asked, report& out) {
  bool found = false;
  for (const driver& by : drivers(asked)) {
    const finding f = hunt(mutant, by);
    out.add(name, by, f);
    found = found || f.found();
    if (found && !asked.all && asked.only.empty())
      return true;
  }
  return found;
}

int hunt_all(const options& asked) {
  report out(asked.json);
  if (asked.only.empty() || asked.only == "none") {
    options every = asked;
    every.all = true;
    if (hunt_one(0, "none", every, out)) {
      std::printf("something is wrong without any mutant\n");
      return 1;
    }
  }
  std::size_t found = 0, hunted = 0;
  for (std::size_t i = 0; i < all().size(); ++i) {
    const char* name = all()[i].name;
    if (!asked.only.empty() && asked.only != name)
      continue;
    ++hunted;
    if (hunt_one(static_cast<int>(i) + 1, name, asked, out))
      ++found;
    else
      out.missed(name);
  }
  out.end(found, hunted);
  return found == hunted ? 0 : 1;
}

} // namespace

int main(int count, char** words) {
  options asked;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    const bool more = i + 1 < count;
    if (word == "--all")
      asked.all = true;
    else if (word == "--json")
      asked.json = true;
    else if (word == "--only" && more)
      asked.only = words[++i];
    else if (word == "--driver" && more)
      asked.driver = words[++i];
    else {
      std::fprintf(stderr, "hunt [--all] [--only MUTANT] [--driver NAME] [--json]\n");
      return 2;
    }
  }
  void* page = mmap(nullptr, sizeof(progress), PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED)
    return 2;
  shared = new (page) progress;
  return hunt_all(asked);
}
