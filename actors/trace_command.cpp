#include "actors/trace_command.hpp"

#include "actors/trace_blocks.hpp"
#include "actors/trace_export.hpp"
#include "actors/trace_path_report.hpp"
#include "actors/trace_show.hpp"
#include "actors/trace_stats.hpp"
#include "actors/trace_whole.hpp"
#include "protocol/trace_check.hpp"

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>

namespace baton::actors {

namespace {

using namespace protocol;

struct arguments {
  std::string directory;
  std::string request;
  std::vector<std::string> words; ///< path: perhaps a request, and the directory
  std::string perfetto;  ///< export: a file to write
  std::string json_file; ///< export: a file to write
  std::string blocks;    ///< blocks: GROUP or GROUP:BLOCK
  bool all = false;
  bool partial = false;
  bool idle = false;
  bool as_json = false;
};

int fail(const failure& why) {
  std::cerr << "baton trace: " << why.text << "\n";
  return 1;
}

trace_verdict check_files(const std::string& directory, const trace_files& files,
                          trace_extent extent) {
  const check_report report = check_trace(files, extent);
  const completeness whole = look_for_whole(directory, files);
  std::string text;
  for (const auto& v : report.violations)
    text += to_text(v);
  for (const auto& line : files.broken())
    text += "unreadable: " + line + "\n";
  for (const auto& line : whole.missing)
    text += "missing: " + line + "\n";
  if (!whole.note.empty())
    text += "note: " + whole.note + "\n";
  for (const auto& line : files.torn())
    text += "note: " + line + "\n";
  for (const auto& line : report.notes)
    text += "note: " + line + "\n";
  const std::uint64_t wrong
    = report.violations_count + files.broken().size() + whole.missing.size();
  if (wrong == 0)
    return {true, "trace check: ok (" + std::to_string(report.records) + " records, "
                    + std::to_string(report.actors) + " actors, "
                    + std::to_string(report.requests) + " requests)\n" + text};
  return {false, text + "trace check: " + std::to_string(wrong) + " violations\n"};
}

/// For those who only read: 1 when a line cannot be read or a node's records are not there, each
/// said on stderr, for what was printed is then not the whole.
int say_what_is_not_here(const arguments& args, const trace_files& files) {
  const completeness whole = look_for_whole(args.directory, files);
  for (const auto& line : files.broken())
    std::cerr << "baton trace: unreadable: " << line << "\n";
  for (const auto& line : whole.missing)
    std::cerr << "baton trace: missing: " << line << "\n";
  return files.broken().empty() && whole.missing.empty() ? 0 : 1;
}

int check(const arguments& args) {
  const auto files = trace_files::open(args.directory, args.idle ? node_state::idle_and_flushed
                                                                 : node_state::unknown);
  if (!files)
    return fail(files.error());
  const auto verdict = check_files(args.directory, *files.value(),
                                   args.partial ? trace_extent::partial : trace_extent::whole);
  std::cout << verdict.text;
  return verdict.ok ? 0 : 1;
}

int show(const arguments& args) {
  const auto files = trace_files::open(args.directory, node_state::unknown);
  if (!files)
    return fail(files.error());
  const failure why = show_request(*files.value(), args.request,
                                   args.all ? chart_extent::all : chart_extent::folded, std::cout);
  const int rest = say_what_is_not_here(args, *files.value());
  return why ? fail(why) : rest;
}

int stats(const arguments& args) {
  const auto files = trace_files::open(args.directory, node_state::unknown);
  if (!files)
    return fail(files.error());
  trace_stats gathered = gather_stats(*files.value());
  std::cout << (args.as_json ? to_json_text(gathered) + "\n" : to_table(gathered));
  const int rest = say_what_is_not_here(args, *files.value());
  if (gathered.unreadable == 0)
    return rest;
  return fail({reason::bad_input, "unreadable: " + std::to_string(gathered.unreadable)
                                    + " records, the first: " + gathered.first_unreadable.text});
}

int path(arguments args) {
  if (args.words.size() == 2)
    args.request = args.words.front();
  args.directory = args.words.back();
  const auto files = trace_files::open(args.directory, node_state::unknown);
  if (!files)
    return fail(files.error());
  const trace_files& all = *files.value();
  const path_extent extent = args.all ? path_extent::all : path_extent::folded;
  failure why;
  if (args.request.empty())
    why = args.as_json ? print_all_paths_json(all, std::cout) : print_all_paths(all, std::cout);
  else
    why = args.as_json ? print_path_json(all, args.request, std::cout)
                       : print_path(all, args.request, extent, std::cout);
  const int rest = say_what_is_not_here(args, all);
  return why ? fail(why) : rest;
}

int blocks(const arguments& args) {
  const auto choice = parse_block_choice(args.blocks);
  if (!choice)
    return fail(choice.error());
  const auto files = trace_files::open(args.directory, node_state::unknown);
  if (!files)
    return fail(files.error());
  const trace_files& all = *files.value();
  const failure why
    = args.as_json
        ? print_blocks_json(all, choice.value(), std::cout)
        : print_blocks(all, choice.value(),
                       args.all ? strip_extent::all : strip_extent::screenful, std::cout);
  const int rest = say_what_is_not_here(args, all);
  return why ? fail(why) : rest;
}

/// What would be taken for a node's file the next time.
bool is_trace_name(const std::string& path) {
  constexpr std::string_view suffix = ".trace.jsonl";
  return path.size() >= suffix.size()
         && path.compare(path.size() - suffix.size(), suffix.size(), suffix) == 0;
}

int write_export(const arguments& args) {
  const std::string& path = args.perfetto.empty() ? args.json_file : args.perfetto;
  if (is_trace_name(path))
    return fail({reason::bad_input, path + ": a file of this name would be read as a trace"});
  const auto files = trace_files::open(args.directory, node_state::unknown);
  if (!files)
    return fail(files.error());
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  if (!out)
    return fail({reason::bad_input, path + ": cannot write: " + std::strerror(errno)});
  const export_result done = args.perfetto.empty() ? export_json(*files.value(), out)
                                                   : export_perfetto(*files.value(), out);
  out.close();
  if (!out)
    return fail({reason::bad_input, path + ": cannot write all of it"});
  std::cout << path << ": " << done.slices << (args.perfetto.empty() ? " records" : " slices");
  if (done.flows > 0)
    std::cout << ", " << done.flows << " flows";
  if (done.backward > 0)
    std::cout << " (" << done.backward << " against the clock are left out)";
  std::cout << "\n";
  const int rest = say_what_is_not_here(args, *files.value());
  if (done.unreadable == 0)
    return rest;
  return fail({reason::bad_input, "unreadable: " + std::to_string(done.unreadable)
                                    + " records, the first: " + done.first_unreadable.text});
}

void describe_arguments(CLI::App& app, arguments& args) {
  app.require_subcommand(1);
  auto* show = app.add_subcommand("show", "print one request's messages in causal order");
  show->add_option("request", args.request, "external id, or how the trace's hexadecimal id begins")
    ->required();
  show->add_flag("--all", args.all, "do not fold long runs of tokens and pieces");
  auto* check = app.add_subcommand("check", "replay every machine and look for broken invariants");
  check->add_flag("--partial", args.partial, "leave out what must hold at the end");
  check->add_flag("--idle", args.idle, "the nodes still run, are idle and have flushed");
  auto* stats = app.add_subcommand("stats", "outcomes, latencies, bytes, waits");
  stats->add_flag("--json", args.as_json, "as one JSON object");
  auto* path = app.add_subcommand("path", "where the time to the first token went, and between "
                                          "tokens: of one request, or of all");
  path->add_option("words", args.words, "perhaps a request (as for show), and the run directory")
    ->type_name("[REQUEST] DIR")->required()->expected(1, 2);
  path->add_flag("--all", args.all, "print the short stretches, too");
  path->add_flag("--json", args.as_json, "as one JSON object");
  auto* blocks = app.add_subcommand("blocks", "who owned the blocks of a group's pool when");
  blocks->add_option("blocks", args.blocks, "a group, or one block of it")
    ->type_name("GROUP[:BLOCK]")->required();
  blocks->add_flag("--all", args.all, "print every row");
  blocks->add_flag("--json", args.as_json, "every grant, as one JSON object");
  auto* written = app.add_subcommand("export", "write the trace for other programs");
  auto* formats = written->add_option_group("format");
  formats->add_option("--perfetto", args.perfetto, "as a JSON trace for Perfetto's UI")
    ->type_name("FILE");
  formats->add_option("--json", args.json_file, "as lines of JSON, all nodes in causal order")
    ->type_name("FILE");
  formats->require_option(1);
  for (auto* command : {show, check, stats, blocks, written})
    command->add_option("directory", args.directory, "run directory")->required();
}

} // namespace

int trace_main(int argc, char** argv) {
  CLI::App app("Reads the traces of a run.", "baton trace");
  arguments args;
  describe_arguments(app, args);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (app.got_subcommand("show"))
    return show(args);
  if (app.got_subcommand("path"))
    return path(args);
  if (app.got_subcommand("blocks"))
    return blocks(args);
  if (app.got_subcommand("export"))
    return write_export(args);
  return app.got_subcommand("check") ? check(args) : stats(args);
}

outcome<trace_verdict> check_idle_cluster(const std::string& directory) {
  const auto files = trace_files::open(directory, node_state::idle_and_flushed);
  if (!files)
    return files.error();
  return check_files(directory, *files.value(), trace_extent::whole);
}

} // namespace baton::actors
