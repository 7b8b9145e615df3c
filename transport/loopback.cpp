#include "transport/loopback.hpp"

#include "transport/engine.hpp"

#include <chrono>
#include <condition_variable>
#include <shared_mutex>

namespace baton::transport {

using protocol::outcome;
using protocol::reason;

namespace {

struct mail {
  std::vector<std::byte> frame;
  std::vector<std::byte> bytes; ///< of a part; empty with a small frame
};

} // namespace

/// One endpoint's inbox, and its arena as others may read it.
class hub_member {
public:
  explicit hub_member(arena& memory) : base_(memory.base()), bytes_(memory.bytes()) {}

  void post(mail m) {
    const std::lock_guard<std::mutex> lock(inbox_mutex_);
    inbox_.push_back(std::move(m));
    arrived_.notify_one();
  }
  /// False when the inbox is empty.
  bool take(mail& into) {
    const std::lock_guard<std::mutex> lock(inbox_mutex_);
    if (inbox_.empty())
      return false;
    into = std::move(inbox_.front());
    inbox_.pop_front();
    return true;
  }
  void wake() {
    const std::lock_guard<std::mutex> lock(inbox_mutex_);
    woken_ = true;
    arrived_.notify_one();
  }
  void sleep(int timeout_ms) {
    std::unique_lock<std::mutex> lock(inbox_mutex_);
    arrived_.wait_for(lock, std::chrono::milliseconds(timeout_ms),
                      [this] { return woken_ || !inbox_.empty(); });
    woken_ = false;
  }

  std::uint64_t bytes() const { return bytes_; }
  const std::byte* begin_reading() {
    reading_.lock_shared();
    if (base_ == nullptr)
      reading_.unlock_shared();
    return base_;
  }
  void end_reading() { reading_.unlock_shared(); }
  /// Returns when nobody reads the arena any more; nobody will again.
  void withdraw_arena() {
    const std::unique_lock<std::shared_mutex> lock(reading_);
    base_ = nullptr;
  }

private:
  std::mutex inbox_mutex_;
  std::condition_variable arrived_;
  std::deque<mail> inbox_;
  bool woken_ = false;
  std::shared_mutex reading_;
  const std::byte* base_;
  std::uint64_t bytes_;
};

bool hub::enter(const incarnation& life, std::shared_ptr<hub_member> member) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return members_.emplace(life, std::move(member)).second;
}

void hub::leave(const incarnation& life) {
  const std::lock_guard<std::mutex> lock(mutex_);
  members_.erase(life);
}

std::shared_ptr<hub_member> hub::find(const incarnation& life) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto at = members_.find(life);
  return at == members_.end() ? nullptr : at->second;
}

namespace {

class member_view final : public source_view {
public:
  explicit member_view(std::shared_ptr<hub_member> member) : member_(std::move(member)) {}
  std::uint64_t bytes() const override { return member_->bytes(); }
  const std::byte* begin_reading() override { return member_->begin_reading(); }
  void end_reading() override { member_->end_reading(); }

private:
  std::shared_ptr<hub_member> member_;
};

class mailbox_carrier final : public carrier {
public:
  mailbox_carrier(hub& place, incarnation life, std::shared_ptr<hub_member> self)
    : hub_(place), life_(life), self_(std::move(self)) {}
  ~mailbox_carrier() override {
    hub_.leave(life_);
    self_->withdraw_arena();
  }

  void attach(carrier_listener& listener) override { listener_ = &listener; }
  std::vector<std::byte> address() const override { return {}; }
  std::string path(channel_id) override { return "loopback"; }
  bool is_read_remotely(channel_id) override { return false; }

  outcome<channel_id> open(const wire::descriptor& peer) override {
    if (hub_.find(peer.life) == nullptr)
      return gone();
    channels_.emplace(next_channel_, peer.life);
    return next_channel_++;
  }
  void close(channel_id channel) override { channels_.erase(channel); }
  outcome<std::unique_ptr<source_view>> view(const wire::descriptor& peer) override {
    auto member = hub_.find(peer.life);
    if (member == nullptr)
      return gone();
    return std::unique_ptr<source_view>(new member_view(std::move(member)));
  }

  void send(channel_id channel, std::vector<std::byte> frame) override {
    deliver(channel, {std::move(frame), {}});
  }
  posting send_part(channel_id channel, std::vector<std::byte> frame, const std::byte* bytes,
                    std::uint64_t count, bool, std::uint64_t) override {
    const bool sent = deliver(channel, {std::move(frame), {bytes, bytes + count}});
    return sent ? posting::done : posting::failed;
  }
  // Bytes never wait at a loopback source: parts arrive with them, pieces are announced.
  posting receive(void*, std::byte*, std::uint64_t, std::uint64_t) override {
    return posting::failed;
  }
  void drop(void*) override {}

  bool progress() override {
    mail next;
    if (!self_->take(next))
      return false;
    if (next.bytes.empty())
      listener_->frame_arrived(next.frame.data(), next.frame.size());
    else
      listener_->part_arrived(next.frame.data(), next.frame.size(),
                              {eager_bytes{next.bytes.data()}, next.bytes.size()});
    return true;
  }
  void sleep(int timeout_ms) override { self_->sleep(timeout_ms); }
  void nap(std::chrono::microseconds) override {} // never asked for
  void wake() override { self_->wake(); }

private:
  static failure gone() { return {reason::peer_lost, "loopback: the peer has gone"}; }

  bool deliver(channel_id channel, mail m) {
    const auto at = channels_.find(channel);
    if (at == channels_.end())
      return false;
    const auto member = hub_.find(at->second);
    if (member == nullptr) {
      listener_->channel_failed(channel, gone());
      return false;
    }
    member->post(std::move(m));
    return true;
  }

  hub& hub_;
  incarnation life_;
  std::shared_ptr<hub_member> self_;
  carrier_listener* listener_ = nullptr;
  channel_id next_channel_ = 1;
  std::map<channel_id, incarnation> channels_;
};

} // namespace

outcome<std::unique_ptr<endpoint>> make_loopback(hub& meeting_place, node_name name,
                                                 incarnation life, arena& memory,
                                                 const endpoint_limits& limits,
                                                 transfer_sink sink, integrity check) {
  if (failure f = check_limits(limits))
    return f;
  auto self = std::make_shared<hub_member>(memory);
  if (!meeting_place.enter(life, self))
    return failure{reason::duplicate, "loopback: life of " + name.value + " is taken"};
  auto way = std::make_unique<mailbox_carrier>(meeting_place, life, std::move(self));
  return std::unique_ptr<endpoint>(
    new engine({path_kind::loopback, life, &memory, limits, check, std::move(sink)},
               std::move(way)));
}

} // namespace baton::transport
