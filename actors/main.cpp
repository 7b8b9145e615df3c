// The one program: `baton COMMAND ...`. Each command parses its own arguments.
#include "actors/bench_command.hpp"
#include "actors/hang_up.hpp"
#include "actors/node_process.hpp"
#include "actors/run_command.hpp"
#include "actors/status_command.hpp"
#include "actors/trace_command.hpp"
#include "actors/up_command.hpp"

#include <cstring>
#include <iostream>

namespace {

struct command {
  const char* name;
  const char* help;
  int (*run)(int argc, char** argv);
};

constexpr command commands[] = {
  {"up", "start the nodes of a cluster file on this host", baton::actors::up_main},
  {"run", "play a script against a cluster, or ask one question", baton::actors::run_main},
  {"trace", "show, check or summarise what happened", baton::actors::trace_main},
  {"status", "show the pools and nodes of a running cluster", baton::actors::status_main},
  {"down", "stop a cluster that was started with --detach", baton::actors::down_main},
  {"bench", "how fast this machine and Baton on it are, as ratios", baton::actors::bench_main},
  {"node", "one node of a cluster (what `up` starts)", baton::actors::node_main},
};

int usage(std::ostream& out, int code) {
  out << "baton: hands a prompt's KV cache from a prefill group to a decode group, with proof.\n\n"
         "  baton COMMAND [options]        baton COMMAND --help\n\n";
  for (const auto& c : commands)
    out << "  " << c.name << std::string(8 - std::strlen(c.name), ' ') << c.help << "\n";
  out << "\n  deploy/quickstart shows all of them at work.\n";
  return code;
}

/// A result that nobody could be told is no success.
int said(int code) {
  if (std::cout.flush() || code != 0)
    return code;
  std::cerr << "baton: standard output cannot be written\n";
  return 1;
}

} // namespace

int main(int argc, char** argv) {
  baton::actors::restore_hang_up();
  if (argc < 2)
    return usage(std::cerr, 2);
  const std::string name = argv[1];
  if (name == "--help" || name == "-h" || name == "help")
    return usage(std::cout, 0);
  if (name == "--version") {
    std::cout << "baton 0.1.0\n";
    return 0;
  }
  for (const auto& c : commands)
    if (name == c.name)
      return said(c.run(argc - 1, argv + 1));
  std::cerr << "baton: there is no command '" << name << "'\n\n";
  return usage(std::cerr, 2);
}
