#include "actors/bench_processes.hpp"

#include "actors/bench_report.hpp"
#include "actors/messages_caf.hpp"
#include "actors/run_directory.hpp"

#include <caf/all.hpp>
#include <caf/io/all.hpp>
#include <cstdio>
#include <fcntl.h>
#include <future>
#include <sys/wait.h>
#include <unistd.h>

namespace baton::actors::bench {

namespace {

/// The program itself, with these words; its output goes to `log`. The exit code.
int run_self(std::vector<std::string> words, const std::string& log) {
  words.insert(words.begin(), "baton");
  std::vector<char*> argv;
  for (auto& word : words)
    argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t pid = fork();
  if (pid == 0) {
    const int out = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
    execv("/proc/self/exe", argv.data());
    std::_Exit(127);
  }
  int status = 0;
  if (pid < 0 || waitpid(pid, &status, 0) < 0)
    give_up("fork failed");
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

void configure_raw(caf::actor_system_config& config) {
  config.load<caf::io::middleman>();
  configure_workers(config);
  config.set("middleman.workers", std::size_t{1});
}

caf::behavior echoing(caf::event_based_actor*) {
  return {[](std::uint64_t number) { return number; }};
}

} // namespace

own_cluster::own_cluster(const std::string& cluster_text) {
  std::string name = (std::filesystem::temp_directory_path() / "baton-bench-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr)
    give_up(name + " cannot be made");
  dir_ = name;
  const std::string file = (dir_ / "asked.json").string();
  if (const auto why = write_file(file, cluster_text))
    give_up(why.text);
  run({"up", file, "--dir", (dir_ / "run").string(), "--detach"});
  up_ = true;
}

own_cluster::~own_cluster() {
  if (up_)
    run_self({"down", "--dir", (dir_ / "run").string()}, (dir_ / "log").string());
  std::error_code unheard;
  std::filesystem::remove_all(dir_, unheard);
}

void own_cluster::run(std::vector<std::string> words) {
  const std::string log = (dir_ / "log").string();
  const std::string command = words.front();
  if (run_self(std::move(words), log) == 0)
    return;
  const auto said = read_file(log);
  give_up("baton " + command + " failed: " + (said ? said.value() : said.error().text));
}

void own_cluster::play(const std::string& script_text) {
  const std::string file = (dir_ / "script.json").string();
  if (const auto why = write_file(file, script_text))
    give_up(why.text);
  run({"run", file, "--dir", (dir_ / "run").string()});
}

trace_stats own_cluster::stop() {
  run({"down", "--dir", (dir_ / "run").string()});
  up_ = false;
  const auto files = trace_files::open((dir_ / "run").string(), node_state::unknown);
  if (!files)
    give_up(files.error().text);
  return gather_stats(*files.value());
}

struct raw_round_trips::parts {
  caf::actor_system_config config;
  std::unique_ptr<caf::actor_system> system;
  caf::actor there;
};

raw_round_trips::raw_round_trips()
  : echo_(start_partner("echo", {})), parts_(std::make_unique<parts>()) {
  configure_raw(parts_->config);
  parts_->system = std::make_unique<caf::actor_system>(parts_->config);
  const auto port = static_cast<std::uint16_t>(echo_.pipe.receive());
  auto there = parts_->system->middleman().remote_actor("127.0.0.1", port);
  if (!there)
    give_up("the other actor of the bench cannot be reached");
  parts_->there = *there;
}

raw_round_trips::~raw_round_trips() {
  parts_.reset();
  end_partner(std::move(echo_));
}

double raw_round_trips::median_ms(std::uint32_t trips) {
  std::promise<std::vector<double>> done;
  auto times = done.get_future();
  parts_->system->spawn(
    [&done, there = parts_->there, trips](caf::event_based_actor* self) -> caf::behavior {
      auto taken = std::make_shared<std::vector<double>>();
      auto begin = std::make_shared<double>(clock_s());
      self->send(there, std::uint64_t{1});
      return {[=, &done](std::uint64_t) {
        taken->push_back((clock_s() - *begin) * 1e3);
        if (taken->size() == trips) {
          done.set_value(std::move(*taken));
          self->quit();
          return;
        }
        *begin = clock_s();
        self->send(there, std::uint64_t{1});
      }};
    });
  if (times.wait_for(std::chrono::seconds(60)) != std::future_status::ready)
    give_up("the other actor of the bench does not answer");
  return median(times.get());
}

int raw_round_trips::run_echo() {
  pipe_end up = pipe_to_starter();
  caf::actor_system_config config;
  configure_raw(config);
  caf::actor_system system{config};
  const auto port = system.middleman().publish(system.spawn(echoing), 0, "127.0.0.1");
  if (!port)
    give_up("the other actor of the bench cannot be published");
  up.send(*port);
  std::uint64_t unused = 0;
  up.receive_or_end(unused);
  std::_Exit(0);
}

} // namespace baton::actors::bench
