// Does the search find the bugs? Lets each driver hunt each planted bug in a process of its own,
// and fails unless every bug is found and the code without bugs passes.
//
//   hunt                    each mutant until a first driver finds it
//   hunt --all              each mutant by every driver
//   hunt --only NAME        that mutant by every driver; `none`: the code without bugs
//   hunt --driver NAME      by that driver alone; `trace`: by both that judge recorded runs, and
//                           only what messages show
//   hunt --table            the table of docs/mutants.md: found by whom, and in a trace
#include "protocol/assert.hpp"
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
  bool table = false;
  std::string only;
  std::string driver;
};

enum class verdict : std::uint8_t { nothing, wrong, aborted, crashed, too_slow };

struct finding {
  verdict how = verdict::nothing;
  std::string what;
  std::uint64_t tries = 0;
  std::uint64_t steps = 0;
  std::string noted;

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
  finding f{verdict::nothing, shared->sentence, shared->tries, shared->steps, shared->noted};
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
    return {verdict::crashed, "no process for the hunt", 0, 0, ""};
  return judge(status);
}

/// The cheapest first.
std::vector<driver> drivers(const std::string& only) {
  std::vector<driver> all;
  for (const auto& more : {word_drivers(), ending_drivers(), pool_drivers(), member_drivers(),
                           rank_drivers(), conversation_drivers(), sim_drivers(), trace_drivers()})
    for (const driver& d : more)
      if (only.empty() || only == d.name
          || (only == "trace" && std::strcmp(d.name, "trace_mapped") == 0))
        all.push_back(d);
  return all;
}

void show(const char* mutant, const driver& by, const finding& f) {
  static const char* const how[] = {"nothing", "wrong", "aborted", "crashed", "too slow"};
  std::printf("%-36s %-13s %-8s run %-5lu step %-6lu %s%s\n", mutant, by.name,
              how[static_cast<std::size_t>(f.how)], f.tries, f.steps, f.what.c_str(),
              f.noted.c_str());
  std::fflush(stdout);
}

/// Every driver must find the code without bugs in order.
bool sound(const options& asked) {
  for (const driver& by : drivers(asked.driver)) {
    const finding f = hunt(0, by);
    show("(no bug)", by, f);
    if (f.how != verdict::nothing) {
      std::printf("%s finds something where no bug is\n", by.name);
      return false;
    }
  }
  return true;
}

/// Who has another's memory mapped is asked for in one place: there such bugs are found soonest.
std::vector<driver> drivers_for(const planted& mutant, const std::string& only) {
  std::vector<driver> all = drivers(only);
  if (std::strcmp(mutant.table, "mapped.txt") == 0)
    std::stable_partition(all.begin(), all.end(), [](const driver& d) {
      return std::strcmp(d.name, "endings") == 0 || std::strcmp(d.name, "mapped") == 0
             || std::strcmp(d.name, "trace_mapped") == 0;
    });
  return all;
}

/// By each driver until one has found it; with `all`, by each.
finding hunt_one(const planted& mutant, const options& asked, const char*& by_whom) {
  finding first;
  for (const driver& by : drivers_for(mutant, asked.driver)) {
    const finding f = hunt(mutant.number, by);
    if (!asked.table && (f.how != verdict::nothing || asked.all))
      show(mutant.name, by, f);
    if (!f.found() || first.found())
      continue;
    first = f;
    by_whom = by.name;
    if (!asked.all)
      break;
  }
  if (!first.found())
    std::printf("%-36s SURVIVES\n", mutant.name);
  std::fflush(stdout);
  return first;
}

std::string invariant(const finding& f) { return f.what.substr(0, f.what.find(':')); }

/// A row of docs/mutants.md.
void show_row(const planted& mutant, const finding& f, const char* by_whom) {
  const finding traced = hunt(mutant.number, drivers_for(mutant, "trace").front());
  const std::string in_trace
    = traced.found() ? invariant(traced) + ", run " + std::to_string(traced.tries)
                     : std::string("no: ") + mutant.unseen;
  std::printf("| `%s` | `%s` | %lu | %lu | %s |\n", mutant.name, by_whom, f.tries, f.steps,
              in_trace.c_str());
  std::fflush(stdout);
}

int hunt_all(const options& asked) {
  if ((asked.only.empty() || asked.only == "none") && !asked.table && !sound(asked))
    return 1;
  std::size_t found = 0, survive = 0;
  for (const planted& mutant : all()) {
    if (!asked.only.empty() && asked.only != mutant.name)
      continue;
    if (asked.driver == "trace" && asked.only.empty() && mutant.unseen[0] != '\0')
      continue; // no message shows it
    const char* by_whom = "";
    const finding f = hunt_one(mutant, asked, by_whom);
    ++(f.found() ? found : survive);
    if (asked.table)
      show_row(mutant, f, by_whom);
  }
  if (!asked.table)
    std::printf("%zu found, %zu survive\n", found, survive);
  return survive == 0 ? 0 : 1;
}

} // namespace

int main(int count, char** words) {
  options asked;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    const bool more = i + 1 < count;
    if (word == "--all")
      asked.all = true;
    else if (word == "--table")
      asked.table = true;
    else if (word == "--only" && more) {
      asked.only = words[++i];
      asked.all = true;
    } else if (word == "--driver" && more) {
      asked.driver = words[++i];
    } else {
      std::fprintf(stderr, "hunt [--all] [--only MUTANT] [--driver NAME] [--table]\n");
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
