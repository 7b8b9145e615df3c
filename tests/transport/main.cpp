#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include "tests/transport/roles.hpp"
#include "transport/ucx_environment.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

/// UCX reads its environment before main(), so the program starts itself again where it is missing.
int main(int argc, char** argv) {
  if (baton::transport::check_ucx_environment()) {
    if (std::getenv("BATON_STARTED_AGAIN") != nullptr) {
      std::fprintf(stderr, "transport_tests: the UCX environment is not in force\n");
      return 1;
    }
    setenv("BATON_STARTED_AGAIN", "1", 1);
    const bool tcp_only = std::getenv("UCX_TLS") != nullptr
                          && std::strcmp(std::getenv("UCX_TLS"), "tcp") == 0;
    for (std::string line : baton::transport::ucx_environment()) {
      const auto equals = line.find('=');
      const std::string name = line.substr(0, equals);
      if (!(tcp_only && name == "UCX_TLS"))
        setenv(name.c_str(), line.c_str() + equals + 1, 1);
    }
    execv("/proc/self/exe", argv);
    return 1;
  }
  doctest::Context context(argc, argv);
  if (argc > 1 && std::strncmp(argv[1], "role=", 5) == 0) {
    context.setAsDefaultForAssertsOutOfTestCases();
    context.setAssertHandler([](const doctest::AssertData& failed) {
      std::fprintf(stderr, "child: %s:%d: %s\n", failed.m_file, failed.m_line, failed.m_expr);
      std::_Exit(5);
    });
    return baton::transport::testing::play_role(argv[1] + 5);
  }
  return context.run();
}
