#include "tests/actors/deterministic_devices.hpp"

#include <algorithm>

namespace baton::tests {

using namespace protocol;
using transport::lane_table;

void device_work::add(const std::string& queue, const char* what, std::function<void()> work) {
  queues_[queue].push_back({what, std::move(work)});
}

std::string device_work::run(std::size_t queue) {
  const auto at = std::next(queues_.begin(), static_cast<std::ptrdiff_t>(queue));
  const std::string name = at->first;
  const item next = std::move(at->second.front());
  at->second.pop_front();
  if (at->second.empty())
    queues_.erase(at);
  next.work();
  return name + ": " + next.what;
}

// ---- transfer -----------------------------------------------------------------------------------

stepped_endpoint::stepped_endpoint(node_name name, incarnation life, std::uint64_t arena_bytes,
                                   const peer_map& peers, device_work& work,
                                   transport::transfer_sink sink)
  : name_(std::move(name)), life_(life), peers_(peers), work_(work), sink_(std::move(sink)),
    table_(nullptr, arena_bytes, {}, transport::integrity::off) {}

void stepped_endpoint::command(const char* what, std::function<void()> run) {
  work_.add("endpoint " + name_.value, what, std::move(run));
}

void stepped_endpoint::tell(const node_name& peer, const char* what,
                            std::function<void(stepped_endpoint&)> hear) {
  stepped_endpoint& to = *peers_.at(peer);
  work_.add(name_.value + " to " + peer.value, what, [&to, hear = std::move(hear)] { hear(to); });
}

void stepped_endpoint::admit(transport::lane_grant grant) {
  command("admit", [this, grant = std::move(grant)] {
    if (failure why = table_.admit(grant))
      sink_(transport::offer_refused{grant.lane, UINT32_MAX, why});
    else
      sink_(transport::lane_admitted{grant.lane});
  });
}

void stepped_endpoint::revoke(lane_id lane, node_name source) {
  command("revoke", [this, lane, source = std::move(source)] {
    table_.begin_stopping(lane);
    stopping_[lane] = source;
    stop_if_quiet(lane);
  });
}

void stepped_endpoint::stop_if_quiet(const lane_id& lane) {
  const auto at = stopping_.find(lane);
  if (at == stopping_.end())
    return;
  if (!table_.finish_stopping(lane) && table_.state_of(lane) == lane_table::lane_state::stopping)
    return; // a receive is outstanding
  tell(at->second, "stopped",
       [lane](auto& source) { source.sink_(transport::reader_stopped{lane}); });
  stopping_.erase(at);
  sink_(transport::lane_stopped{lane});
}

void stepped_endpoint::send_receipt(lane_id lane, node_name source) {
  command("receipt", [this, lane, source = std::move(source)] {
    if (table_.state_of(lane) == lane_table::lane_state::open)
      table_.finish_received(lane);
    else if (table_.state_of(lane) != lane_table::lane_state::received)
      return; // revoked: the source is told `stopped`
    tell(source, "receipt", [lane](auto& to) { to.sink_(transport::receipt_arrived{lane}); });
  });
}

void stepped_endpoint::offer(node_name destination, transport::piece_offer offer) {
  const std::uint64_t size = offer.where.total_bytes();
  const transport::wire::part_header header{offer.lane, offer.piece, offer.block, size, 0,
                                            size,       size,        {}};
  command("offer", [this, header, destination = std::move(destination)] {
    tell(destination, "offer", [this, header](auto& to) { to.arrive(*this, header, {}); });
  });
}

void stepped_endpoint::offer_payload(node_name destination, lane_id lane, std::uint32_t piece,
                                     bytes payload) {
  const std::uint64_t size = payload.size();
  const transport::wire::part_header header{lane, piece, {}, size, 0, size, size, {}};
  command("offer", [this, header, payload = std::move(payload),
                    destination = std::move(destination)] {
    tell(destination, "offer",
         [this, header, payload](auto& to) { to.arrive(*this, header, payload); });
  });
}

void stepped_endpoint::arrive(const stepped_endpoint& source,
                              const transport::wire::part_header& offered, bytes payload) {
  const auto verdict = table_.judge(source.life_, offered);
  if (const auto* refused = std::get_if<transport::part_refused>(&verdict)) {
    const transport::offer_rejected said{offered.lane, offered.piece, refused->error};
    tell(source.name_, "rejected", [said](auto& to) { to.sink_(said); });
    sink_(transport::offer_refused{offered.lane, offered.piece, refused->error});
  } else if (const auto* part = std::get_if<transport::part_accepted>(&verdict)) {
    table_.operation_posted(offered.lane);
    const lane_id& lane = offered.lane;
    const std::string receive
      = "receive " + std::to_string(lane.reservation.number) + ":"
        + std::to_string(lane.source.value) + "-" + std::to_string(lane.destination.value) + "/"
        + std::to_string(offered.piece);
    work_.add(receive, "ends", [this, key = part->key, payload = std::move(payload)] {
      end_receive(key, payload);
    });
  }
}

void stepped_endpoint::end_receive(const transport::part_key& key, const bytes& payload) {
  table_.operation_ended(key.lane);
  if (table_.state_of(key.lane) != lane_table::lane_state::open) {
    table_.forget_part(key); // revoked meanwhile
    stop_if_quiet(key.lane);
    return;
  }
  if (!payload.empty())
    std::copy(payload.begin(), payload.end(), table_.place_of(key.lane, key.piece).base);
  auto landed = table_.land_part(key);
  if (!landed)
    return;
  if (auto* piece = std::get_if<transport::piece_landed>(&*landed))
    sink_(transport::pieces_landed{{std::move(*piece)}});
  else
    sink_(std::get<transport::offer_refused>(std::move(*landed)));
}

void stepped_endpoint::query(lane_id lane, node_name destination) {
  command("query", [this, lane, destination = std::move(destination)] {
    tell(destination, "query", [this, lane](auto& to) { to.answer(lane, name_); });
  });
}

void stepped_endpoint::answer(const lane_id& lane, const node_name& source) {
  switch (table_.state_of(lane)) {
  case lane_table::lane_state::open:
  case lane_table::lane_state::stopping: return; // nothing to say yet
  case lane_table::lane_state::received:
    return tell(source, "receipt",
                [lane](auto& to) { to.sink_(transport::receipt_arrived{lane}); });
  case lane_table::lane_state::stopped:
  case lane_table::lane_state::unknown:
    return tell(source, "stopped",
                [lane](auto& to) { to.sink_(transport::reader_stopped{lane}); });
  }
}

// ---- compute ------------------------------------------------------------------------------------

void stepped_device::enqueue(gpu::step_plan plan) {
  work_.add(queue_, "plan completed", [this, plan = std::move(plan)] {
    gpu::plan_completed done{plan.epoch, plan.step, {}, 0};
    for (const auto& slice : plan.slices) {
      gpu::slice_result result;
      result.sequence = slice.sequence;
      if (slice.sample)
        result.token = 7;
      if (slice.want_hidden)
        result.hidden.assign(hidden_, 1.0F);
      done.results.push_back(std::move(result));
    }
    sink_(std::move(done));
  });
}

} // namespace baton::tests
