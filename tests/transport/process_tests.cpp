#include "tests/transport/roles.hpp"
#include "transport/digest.hpp"

#include <csignal>

using namespace baton::transport;
using namespace baton::transport::testing;

namespace {

/// A destination here and a source in another process, with its offers on their way.
struct remote_source {
  remote_source(path_kind path, std::uint64_t inflight_bytes_max)
    : process(std::string("source:") + to_string(path)) {
    node_options options = role_options();
    options.limits.inflight_bytes_max = inflight_bytes_max;
    here = make_node(path, unused, "test", options);
    fill_poison(*here);
    process.meet();
    grant = role_grant(process.life());
    admit(*here, grant);
    process.introduce_to(*here);
  }
  std::uint64_t digest() const { return digest_of(here->memory->base(), here->memory->bytes()); }

  hub unused;
  child process;
  std::unique_ptr<node> here;
  lane_grant grant;
};

constexpr std::uint64_t small_budget = 4 << 20; // most of a lane still waits when it is cut off

} // namespace

TEST_CASE_TEMPLATE("96 pieces come from another process", P, over_pull, over_shared_arena) {
  remote_source remote(P::path, 256 << 20);
  wait_landed(*remote.here, remote.grant.lane, role_pieces);
  std::vector<std::byte> expected(role_pieces * role_piece_bytes);
  fill_pattern(expected.data(), expected.size(), role_seed);
  CHECK(std::memcmp(expected.data(), remote.here->at(0), expected.size()) == 0);
}

TEST_CASE_TEMPLATE("a source killed in mid-transfer leaves lanes that stop, and nothing changes "
                   "afterwards",
                   P, over_pull, over_shared_arena) {
  remote_source remote(P::path, small_budget);
  wait_landed(*remote.here, remote.grant.lane, 1);
  remote.process.kill_and_reap();
  remote.here->device->revoke(remote.grant.lane, remote.process.name());
  REQUIRE(remote.here->events.next<lane_stopped>());
  const std::uint64_t at_stop = remote.digest();
  REQUIRE(remote.here->events.next<peer_failed>());
  CHECK(remote.digest() == at_stop);
  CHECK(remote.here->device->read_counters().receives_outstanding == 0);
  CHECK(remote.here->device->read_counters().lanes == 0);
}

TEST_CASE_TEMPLATE("a killed source is reported once, and its pieces as lost", P, over_pull,
                   over_shared_arena) {
  remote_source remote(P::path, small_budget);
  wait_landed(*remote.here, remote.grant.lane, 1);
  remote.process.kill_and_reap();
  REQUIRE(remote.here->events.next<peer_failed>());
  remote.here->device->revoke(remote.grant.lane, remote.process.name());
  REQUIRE(remote.here->events.next<lane_stopped>());
  CHECK(remote.here->events.count<peer_failed>() == 0);
}

TEST_CASE_TEMPLATE("lanes of a source that is stopped by a signal can be revoked", P, over_pull,
                   over_shared_arena) {
  remote_source remote(P::path, small_budget);
  wait_landed(*remote.here, remote.grant.lane, 1);
  remote.process.send_signal(SIGSTOP);
  remote.here->device->revoke(remote.grant.lane, remote.process.name());
  REQUIRE(remote.here->events.next<lane_stopped>());
  const std::uint64_t at_stop = remote.digest();
  remote.process.send_signal(SIGCONT);
  remote.process.kill_and_reap();
  REQUIRE(remote.here->events.next<peer_failed>());
  CHECK(remote.digest() == at_stop);
}

TEST_CASE_TEMPLATE("a source survives the death of its destination and serves another", P,
                   over_pull, over_shared_arena) {
  hub unused;
  child process(std::string("destination:") + to_string(P::path));
  const std::unique_ptr<node> source = make_node(P::path, unused, "test", role_options());
  const std::unique_ptr<node> other = make_node(P::path, unused, "D1.0", role_options());
  introduce(*source, *other);
  process.meet();
  process.introduce_to(*source);
  const lane_grant doomed = role_grant(source->life);
  for (std::uint32_t i = 0; i < role_pieces; ++i)
    source->device->offer(process.name(), plain_offer(doomed, i));
  process.kill_and_reap();
  REQUIRE(source->events.next<peer_failed>());
  const lane_grant grant = plain_grant(lane_numbered(2), source->life, 64, role_piece_bytes);
  fill_pattern(source->at(0), 64 * role_piece_bytes, 8);
  admit(*other, grant);
  for (std::uint32_t i = 0; i < 64; ++i)
    source->device->offer(other->name, plain_offer(grant, i));
  wait_landed(*other, grant.lane, 64);
  CHECK(std::memcmp(source->at(0), other->at(0), 64 * role_piece_bytes) == 0);
  source->device->offer(process.name(), plain_offer(doomed, 0));
  const auto rejected = source->events.next<offer_rejected>();
  REQUIRE(rejected);
  CHECK(rejected->error.why == baton::protocol::reason::peer_lost);
}
