#include "actors/trace_recorder.hpp"

#include "protocol/limits.hpp"
#include "protocol/trace_line.hpp"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <deque>
#include <fcntl.h>
#include <mutex>
#include <thread>
#include <unistd.h>

namespace baton::actors {

namespace {

using protocol::failure;
using protocol::reason;
using protocol::trace_record;

/// Records turned into text between two writes; bounds the text in memory.
constexpr std::size_t records_per_write_max = 256;
constexpr auto flush_wait_max = std::chrono::seconds(5);
/// Records wait so long for others. A writer that woke for each would take the core from the actor
/// that the next message is for; what a killed node may lose is bounded by this.
constexpr auto gathering_time = std::chrono::milliseconds(10);

/// A record and its event, or a gap in the records at this place.
struct pending {
  trace_record record;
  std::function<protocol::json()> event;
  std::uint64_t lost = 0;
};

std::string to_text(pending& p) {
  if (p.lost > 0)
    return protocol::to_line(protocol::trace_loss{p.lost}) + '\n';
  p.record.event = p.event ? p.event() : protocol::json::object();
  return protocol::to_line(p.record) + '\n';
}

/// Only whole lines are handed to the file, so that a killed node tears at most the last one.
class file_recorder final : public trace_recorder {
public:
  file_recorder(int file, std::string path)
    : file_(file), path_(std::move(path)), writer_([this] { write_until_closed(); }) {}

  ~file_recorder() override {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      phase_ = phase::closing;
    }
    work_.notify_one();
    writer_.join();
    if (ending_ == ending::whole)
      put(gap_text() + protocol::to_line(protocol::trace_end{written_}) + '\n');
    ::close(file_);
  }

  file_recorder(const file_recorder&) = delete;
  file_recorder& operator=(const file_recorder&) = delete;

  void record(trace_record record, std::function<protocol::json()> event) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (unwritten_ >= protocol::limits::trace_records_unwritten_max) {
      lose_one();
      return;
    }
    ++unwritten_;
    queue_.push_back({std::move(record), std::move(event), 0});
    if (queue_.size() == 1 || queue_.size() == records_per_write_max)
      work_.notify_one();
  }

  void flush() override {
    std::unique_lock<std::mutex> lock(mutex_);
    const std::uint64_t target = taken_ + queue_.size();
    ++flushing_;
    work_.notify_one();
    progress_.wait_for(lock, flush_wait_max, [&] { return settled_ >= target; });
    --flushing_;
  }

  void leave_open() override { ending_ = ending::cut; }

private:
  enum class phase : std::uint8_t { open, closing };
  enum class ending : std::uint8_t { whole, cut };

  /// The gap stands where the records would have stood, so that replay knows where to stop.
  void lose_one() {
    if (queue_.empty() || queue_.back().lost == 0)
      queue_.push_back({});
    ++queue_.back().lost;
    work_.notify_one();
  }

  void write_until_closed() {
    for (;;) {
      std::deque<pending> batch = take();
      if (batch.empty())
        return;
      std::string text = gap_text();
      std::size_t records = 0;
      std::uint64_t gaps = 0;
      for (auto& p : batch) {
        records += p.lost == 0 ? 1 : 0;
        gaps += p.lost;
        text += to_text(p);
      }
      const bool written = put(text);
      unwritable_ = written ? 0 : unwritable_ + records + gaps;
      settle(batch.size(), records, written);
    }
  }

  /// What a full disk has swallowed is said as soon as there is room again.
  std::string gap_text() const {
    return unwritable_ == 0 ? "" : protocol::to_line(protocol::trace_loss{unwritable_}) + '\n';
  }

  /// Waits for work; an empty batch says that the recorder closes.
  std::deque<pending> take() {
    std::unique_lock<std::mutex> lock(mutex_);
    work_.wait(lock, [&] { return !queue_.empty() || phase_ == phase::closing; });
    work_.wait_for(lock, gathering_time, [&] {
      return queue_.size() >= records_per_write_max || flushing_ > 0 || phase_ == phase::closing;
    });
    std::deque<pending> batch;
    while (!queue_.empty() && batch.size() < records_per_write_max) {
      batch.push_back(std::move(queue_.front()));
      queue_.pop_front();
    }
    taken_ += batch.size();
    return batch;
  }

  void settle(std::size_t taken, std::size_t records, bool written) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      unwritten_ -= records;
      written_ += written ? records : 0;
      settled_ += taken;
    }
    progress_.notify_all();
  }

  /// All of it or nothing: after a write that fell short the file is cut back to its whole lines.
  bool put(const std::string& text) {
    const off_t before = ::lseek(file_, 0, SEEK_END);
    std::size_t done = 0;
    while (done < text.size()) {
      const ssize_t n = ::write(file_, text.data() + done, text.size() - done);
      if (n < 0 && errno == EINTR)
        continue;
      if (n <= 0) {
        complain();
        if (before < 0 || ::ftruncate(file_, before) != 0)
          ending_ = ending::cut; // a torn line stays in it
        return false;
      }
      done += static_cast<std::size_t>(n);
    }
    return true;
  }

  void complain() {
    if (!complained_)
      std::fprintf(stderr, "baton: %s: cannot write the trace: %s\n", path_.c_str(),
                   std::strerror(errno));
    complained_ = true;
  }

  const int file_;
  const std::string path_;
  std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable progress_;
  std::deque<pending> queue_;
  phase phase_ = phase::open;
  std::uint32_t flushing_ = 0; ///< who waits for what has been recorded
  std::uint64_t unwritten_ = 0; ///< queued, and taken but not in the file
  std::uint64_t taken_ = 0;
  std::uint64_t settled_ = 0;
  std::uint64_t written_ = 0;
  std::uint64_t unwritable_ = 0; ///< records that no line stands for yet; the writer's own
  std::atomic<ending> ending_{ending::whole};
  bool complained_ = false; ///< a full disk is said once
  std::thread writer_;      ///< last: it uses everything above
};

failure cannot(const std::string& path, const char* what) {
  return {reason::bad_input, path + ": " + what + ": " + std::strerror(errno)};
}

/// True when the file is not empty and its last line has no end: its node was killed.
bool is_torn(int file) {
  const off_t size = ::lseek(file, 0, SEEK_END);
  char last = '\n';
  return size > 0 && ::pread(file, &last, 1, size - 1) == 1 && last != '\n';
}

} // namespace

protocol::outcome<std::unique_ptr<trace_recorder>>
trace_recorder::open(const std::string& path, const protocol::trace_header& header) {
  // A node that starts again adds a section; what its last life wrote is evidence.
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0)
    return cannot(path, "cannot open the trace");
  const std::string start = (is_torn(file) ? "\n" : "") + protocol::to_line(header) + '\n';
  if (::write(file, start.data(), start.size()) != static_cast<ssize_t>(start.size())) {
    failure why = cannot(path, "cannot write the trace's header");
    ::close(file);
    return why;
  }
  return std::unique_ptr<trace_recorder>(std::make_unique<file_recorder>(file, path));
}

} // namespace baton::actors
