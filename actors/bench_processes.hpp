// A cluster of real processes for a bench, started and asked by the product's own commands, and a
// raw CAF round trip between two processes beside it.
#pragma once

#include "actors/bench_pipe.hpp"
#include "actors/trace_stats.hpp"

#include <filesystem>
#include <string>

namespace baton::actors::bench {

/// `baton up`, in a folder that is removed at the end. Every step that fails ends the process with
/// what the command had to say.
class own_cluster {
public:
  explicit own_cluster(const std::string& cluster_text);
  ~own_cluster();
  own_cluster(const own_cluster&) = delete;

  /// `baton run`.
  void play(const std::string& script_text);
  /// `baton down`; what its nodes have recorded.
  trace_stats stop();

private:
  void run(std::vector<std::string> words);

  std::filesystem::path dir_;
  bool up_ = false;
};

/// One actor here, one in a process of its own, nothing but CAF between them.
class raw_round_trips {
public:
  raw_round_trips();
  ~raw_round_trips();
  raw_round_trips(const raw_round_trips&) = delete;

  /// One number there and back, so many times, one after the other; the median in milliseconds.
  double median_ms(std::uint32_t trips);

  /// The other process.
  static int run_echo();

private:
  struct parts;
  partner echo_;
  std::unique_ptr<parts> parts_;
};

} // namespace baton::actors::bench
