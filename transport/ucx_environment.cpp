#include "transport/ucx_environment.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <ifaddrs.h>
#include <netinet/in.h>

namespace baton::transport {

using protocol::failure;
using protocol::reason;

namespace {

const std::string transports = "UCX_TLS=";
const std::string devices = "UCX_NET_DEVICES=";

std::vector<std::string> environment_at_start() {
  std::ifstream file("/proc/self/environ", std::ios::binary);
  std::vector<std::string> lines;
  std::string line;
  while (std::getline(file, line, '\0'))
    lines.push_back(line);
  return lines;
}

bool starts_with(const std::string& text, const std::string& beginning) {
  return text.compare(0, beginning.size(), beginning) == 0;
}

/// "lo" where no interface has the address: the node's own listening socket will say so.
std::string interface_of(const std::string& host) {
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0)
    return "lo";
  std::string name = "lo";
  for (const ifaddrs* i = all; i != nullptr; i = i->ifa_next) {
    if (i->ifa_addr == nullptr || i->ifa_addr->sa_family != AF_INET)
      continue;
    sockaddr_in address{};
    std::memcpy(&address, i->ifa_addr, sizeof address);
    char text[INET_ADDRSTRLEN] = {};
    inet_ntop(AF_INET, &address.sin_addr, text, sizeof text);
    if (host == text)
      name = i->ifa_name;
  }
  freeifaddrs(all);
  return name;
}

/// UCX would take a list, or "all", and listen on every one.
bool names_one_device(const std::vector<std::string>& lines) {
  return std::any_of(lines.begin(), lines.end(), [](const std::string& line) {
    return starts_with(line, devices) && line.size() > devices.size()
           && line.find(',') == std::string::npos && line != devices + "all";
  });
}

} // namespace

std::vector<std::string> ucx_environment() {
  return {
    "UCX_ERROR_SIGNALS=",      // no handlers of SIGSEGV and its like
    "UCX_HANDLE_ERRORS=none",  // no debugger on a crash
    "UCX_DEBUG_SIGNO=0",       // leave SIGHUP alone
    "UCX_MEM_EVENTS=n",        // do not patch mmap and munmap
    "UCX_TLS=posix,cma,tcp",
    "UCX_NET_DEVICES=lo",
    "UCX_POSIX_ERROR_HANDLING=y",    // or error mode PEER silently falls back to tcp
    "UCX_CMA_MEMORY_INVALIDATE=y",   // same, for CMA
    "UCX_KEEPALIVE_INTERVAL=1s",
    "UCX_MAX_EAGER_RAILS=1",         // small messages keep their order
    "UCX_WARN_UNUSED_ENV_VARS=n",    // with tcp alone some of these have no use
  };
}

void set_ucx_environment(const std::string& host, const std::string& narrowed_to) {
  for (const std::string& line : ucx_environment()) {
    const std::size_t equals = line.find('=');
    setenv(line.substr(0, equals).c_str(), line.c_str() + equals + 1, 1);
  }
  setenv("UCX_NET_DEVICES", interface_of(host).c_str(), 1);
  if (!narrowed_to.empty())
    setenv("UCX_TLS", narrowed_to.c_str(), 1);
}

failure check_ucx_environment() {
  const std::vector<std::string> started_with = environment_at_start();
  const auto has = [&](const std::string& line) {
    return std::find(started_with.begin(), started_with.end(), line) != started_with.end();
  };
  for (const std::string& line : ucx_environment()) {
    const bool narrowed = starts_with(line, transports)
                          && (has(transports + "tcp") || has(transports + "posix"));
    const bool elsewhere = starts_with(line, devices) && names_one_device(started_with);
    if (!has(line) && !narrowed && !elsewhere)
      return {reason::bad_input,
              "environment: " + line + ": must be set before the process starts"};
  }
  for (const std::string& line : started_with)
    if (starts_with(line, "UCX_RNDV_SCHEME=put"))
      return {reason::bad_input, "environment: " + line + ": the destination must be the only "
                                                          "writer of its memory"};
  return {};
}

} // namespace baton::transport
