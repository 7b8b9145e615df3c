#include "actors/messages_caf.hpp"

#include "actors/device_messages.hpp"
#include "actors/status_messages.hpp"
#include "actors/unique_node.hpp"
#include "protocol/attempt.hpp"
#include "protocol/block_pool.hpp"
#include "protocol/feed.hpp"
#include "protocol/lane.hpp"
#include "protocol/membership.hpp"
#include "protocol/messages_mapped.hpp"
#include "protocol/rank_group.hpp"
#include "protocol/request.hpp"
#include "protocol/reservation.hpp"
#include "protocol/source_hold.hpp"
#include "protocol/trace_record.hpp"

#include <algorithm>
#include <caf/io/middleman.hpp>
#include <chrono>

namespace baton::actors {

namespace {

using namespace protocol;

constexpr std::int64_t beats_before_timeout = 5;

template <class... Ts>
void add(caf::actor_system_config& config) {
  (config.add_message_type<Ts>(Ts::type), ...);
}

template <class... Ts>
void add_all(caf::actor_system_config& config, std::variant<Ts...>*) {
  add<Ts...>(config);
}

/// Every event and effect of a machine may be a message.
template <class Event, class Effect>
void add_machine(caf::actor_system_config& config) {
  add_all(config, static_cast<Event*>(nullptr));
  add_all(config, static_cast<Effect*>(nullptr));
}

void add_messages(caf::actor_system_config& config) {
  add_machine<pool::event, pool::effect>(config);
  add_machine<reservation::event, reservation::effect>(config);
  add_machine<lane::event, lane::effect>(config);
  add_machine<feed::event, feed::effect>(config);
  add_machine<source_hold::event, source_hold::effect>(config);
  add_machine<attempt::event, attempt::effect>(config);
  add_machine<request::event, request::effect>(config);
  add_machine<rank_group::event, rank_group::effect>(config);
  add_machine<membership::event, membership::effect>(config);
  add<message_header, submit_request, request_accepted, keep_resume, forget_attempt>(config);
  add<watch_sequence, resume_offer, feed_ended, lane_ended, resume_landed, plan_ended,
      channel_failed, connect_peer, channel_ready, attempt_started, frame_text>(config);
  add<ask_writer, writer_stopped, sequence_ended, end_writing, writing_ended, writers_due>(config);
  add<hello, peer_found, connect_due, channel_due, heartbeat, tick, end_node, ask_router, router_is,
      join_heard, ask_status, pool_status, node_status, link_measured, process_died, process_reaped,
      watch_refused, connection_judged>(config);
  config.add_message_type<std::vector<caf::strong_actor_ptr>>("handles");
}

} // namespace

void configure_workers(caf::actor_system_config& config) {
  config.set("scheduler.policy", caf::atom("sharing"));
  config.set("scheduler.max-threads", std::size_t{2});
  config.set("scheduler.max-throughput", std::size_t{10});
}

void configure(caf::actor_system_config& config, std::int64_t heartbeat_ms,
               std::int64_t peer_timeout_ms) {
  add_messages(config);
  config.load<caf::io::middleman>().load<unique_node>();
  configure_workers(config);
  config.set("middleman.workers", std::size_t{1});
  config.set("middleman.enable-automatic-connections", false);
  const auto span = [](std::int64_t ms) { return caf::timespan(std::chrono::milliseconds(ms)); };
  // Our own heartbeats keep a connection busy; these are for one on which nobody says anything.
  const std::int64_t beats_ms = std::max(heartbeat_ms, peer_timeout_ms / beats_before_timeout);
  config.set("middleman.heartbeat-interval", span(beats_ms));
  config.set("middleman.connection-timeout", span(peer_timeout_ms));
}

} // namespace baton::actors
