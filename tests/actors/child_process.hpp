// A child of the test that does nothing until it is killed.
#pragma once

#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

namespace baton::actors {

class child_process {
public:
  child_process() : number_(fork()) {
    while (number_ == 0)
      pause();
  }
  ~child_process() {
    kill();
    reap();
  }
  child_process(const child_process&) = delete;
  child_process& operator=(const child_process&) = delete;

  pid_t number() const { return number_; }

  void kill() {
    if (!reaped_)
      ::kill(number_, SIGKILL);
  }

  void reap() {
    if (!reaped_)
      waitpid(number_, nullptr, 0);
    reaped_ = true;
  }

private:
  const pid_t number_;
  bool reaped_ = false;
};

} // namespace baton::actors
