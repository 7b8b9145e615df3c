#include "actors/run_directory.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <netinet/in.h>
#include <random>
#include <set>
#include <sstream>
#include <sys/socket.h>
#include <unistd.h>

namespace baton::actors {

using namespace protocol;

namespace {

constexpr std::uint32_t port_first = 20'000;
constexpr std::uint32_t port_count = 12'000; // Linux gives outgoing connections 32,768 and above

/// Keeps its port until the set of ports is complete, so that none is chosen twice.
class probe {
public:
  probe() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {}
  probe(probe&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  probe(const probe&) = delete;
  ~probe() {
    if (fd_ >= 0)
      close(fd_);
  }

  /// Below the range from which the system takes the ports of outgoing connections: one of those
  /// could be taken between this choice and the node's start.
  outcome<std::uint16_t> free_port(const std::string& host) const {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    if (inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1)
      return failure{reason::bad_input, "host: '" + host + "' is no IPv4 address"};
    std::random_device draw;
    for (int tries = 0; tries < 1000; ++tries) {
      const auto port = static_cast<std::uint16_t>(port_first + draw() % port_count);
      address.sin_port = htons(port);
      if (bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0)
        return port;
    }
    return failure{reason::bad_input,
                   "host: no port of " + host + " can be bound: " + std::strerror(errno)};
  }

private:
  int fd_;
};

/// True for what a run of these nodes leaves behind: their logs and traces, those of clients.
bool is_left_over(const std::string& file, const std::set<std::string>& nodes) {
  for (const std::string end : {".trace.jsonl", ".log"}) {
    const std::size_t stem = file.size() - std::min(file.size(), end.size());
    if (file.compare(stem, std::string::npos, end) == 0)
      return nodes.count(file.substr(0, stem)) != 0 || file.rfind("client-", 0) == 0;
  }
  return false;
}

/// Other people's files in the folder stay.
void remove_last_run(const std::string& dir, const cluster_config& cluster) {
  std::set<std::string> names = {"all", "up"};
  const auto add = [&names](const cluster_config& c) {
    for (const auto& node : nodes(c))
      names.insert(node.name.value);
  };
  add(cluster);
  if (const auto last = read_cluster(dir + "/cluster.json"))
    add(last.value());
  std::error_code error;
  std::vector<std::filesystem::path> left;
  for (const auto& entry : std::filesystem::directory_iterator(dir, error))
    if (is_left_over(entry.path().filename().string(), names))
      left.push_back(entry.path());
  for (const auto& path : left)
    std::filesystem::remove(path, error);
}

std::string random_hex() {
  std::random_device draw;
  const std::uint64_t high = (std::uint64_t{draw()} << 32) | draw();
  const std::uint64_t low = (std::uint64_t{draw()} << 32) | draw();
  return to_hex(high, low);
}

} // namespace

outcome<std::string> read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in)
    return failure{reason::bad_input, path + ": " + std::strerror(errno)};
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

failure write_file(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << text;
  out.close();
  if (!out)
    return {reason::bad_input, path + ": cannot be written: " + std::strerror(errno)};
  return {};
}

outcome<cluster_config> read_cluster(const std::string& path) {
  auto text = read_file(path);
  if (!text)
    return text.error();
  return parse_cluster(text.value(), path);
}

outcome<started_cluster> read_started_cluster(const std::string& dir) {
  const std::string doubt = " (is " + dir + " the directory of a running `baton up`?)";
  auto cluster = read_cluster(dir + "/cluster.json");
  if (!cluster)
    return failure{reason::bad_input, cluster.error().text + doubt};
  if (port_of(cluster.value(), {"router"}) == 0)
    return failure{reason::bad_input,
                   dir + "/cluster.json: ports.router: not set; is the cluster up?"};
  auto run_id = read_file(dir + "/run_id");
  if (!run_id)
    return failure{reason::bad_input, run_id.error().text + doubt};
  return started_cluster{std::move(cluster.value()), std::move(run_id.value())};
}

outcome<cluster_config> with_ports(cluster_config cluster, const std::string& file) {
  std::vector<probe> probes;
  ports_by_node ports;
  for (const auto& node : nodes(cluster)) {
    std::uint16_t port = node.port;
    if (port == 0) {
      probes.emplace_back();
      auto found = probes.back().free_port(cluster.host);
      if (!found)
        return failure{found.error().why, file + ": " + found.error().text};
      port = found.value();
    }
    ports.ports.emplace_back(node.name, port);
  }
  cluster.ports = std::move(ports);
  return cluster;
}

std::uint16_t port_of(const cluster_config& cluster, const node_name& name) {
  for (const auto& node : nodes(cluster))
    if (node.name == name)
      return node.port;
  return 0;
}

failure make_run_directory(const std::string& dir, const cluster_config& cluster) {
  if (const int pid = running_supervisor(dir))
    return {reason::duplicate,
            dir + ": a cluster runs here already (process " + std::to_string(pid)
              + "); stop it with: baton down --dir " + dir};
  std::error_code error;
  std::filesystem::create_directories(dir, error);
  if (error)
    return {reason::bad_input, dir + ": " + error.message()};
  const bool used = std::filesystem::exists(dir + "/run_id", error);
  if (!used && std::filesystem::exists(dir + "/cluster.json", error))
    return {reason::bad_input, dir + "/cluster.json: is here already and no cluster ran here; "
                                     "choose another --dir, it would be overwritten"};
  remove_last_run(dir, cluster);
  if (failure why = write_file(dir + "/cluster.json", resolved(cluster)))
    return why;
  return write_file(dir + "/run_id", random_hex());
}

std::string group_memory_name(const std::string& run_id, const group_name& group) {
  return "/baton-" + run_id + "-" + group.value;
}

outcome<int> claim_run_directory(const std::string& dir) {
  const std::string path = dir + "/up.pid";
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0)
    return failure{reason::bad_input, path + ": " + std::strerror(errno)};
  struct flock lock {};
  lock.l_type = F_WRLCK;
  if (fcntl(fd, F_OFD_SETLK, &lock) != 0) {
    close(fd);
    return failure{reason::duplicate, dir + ": another supervisor has just started here"};
  }
  const std::string pid = std::to_string(getpid());
  if (ftruncate(fd, 0) != 0 || write(fd, pid.data(), pid.size()) < 0) {
    const failure why{reason::bad_input, path + ": " + std::strerror(errno)};
    close(fd);
    return why;
  }
  return fd;
}

int running_supervisor(const std::string& dir) {
  const std::string path = dir + "/up.pid";
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return 0;
  struct flock lock {};
  lock.l_type = F_WRLCK;
  const bool held = fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
  close(fd);
  const auto text = read_file(path);
  return held && text ? std::atoi(text.value().c_str()) : 0;
}

} // namespace baton::actors
