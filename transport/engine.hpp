// The rules of a transfer endpoint, over any carrier: who may send, what may land, who is told.
// One thread owns everything here; members of `endpoint` only queue a command and wake it.
//
//   caller ─▶ command_queue ─▶ engine thread ─▶ carrier (mailbox | UCX)
//   sink   ◀──────────────────      │
//                             lane_table (destination)   peer_record::queue (source)
//
// Small things travel together: neighbouring pieces in one message, announcements in one frame,
// what has landed in one notice a turn. Each piece is judged, counted and refused by itself all
// the same.
#pragma once

#include "transport/arena.hpp"
#include "transport/carrier.hpp"
#include "transport/commands.hpp"
#include "transport/digest.hpp"
#include "transport/fair_queue.hpp"
#include "transport/lane_table.hpp"

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <thread>

namespace baton::transport {

struct engine_setup {
  path_kind path;
  incarnation life;
  arena* memory; ///< must outlive the engine
  endpoint_limits limits;
  integrity check;
  transfer_sink sink;
};

/// Errors: bad_input naming the limit that is 0 or contradicts another.
failure check_limits(const endpoint_limits& limits);

class engine final : public endpoint, private carrier_listener {
public:
  static constexpr std::size_t peers_max = 1024;
  static constexpr std::size_t queued_offers_per_peer_max = 65536;
  static constexpr std::size_t waiting_arrivals_max = 4096;
  static constexpr std::size_t copy_jobs_max = 65536;
  static constexpr std::uint64_t copy_slice_bytes = 2ULL << 20;
  static constexpr std::uint64_t taken_notice_bytes = 4ULL << 20;
  /// Receives posted at once: four keep every carrier busy, over TCP more cost CPU time. What waits
  /// behind them can still be overtaken by a lane that has had less.
  static constexpr std::size_t posted_receives_max = 4;
  /// While a peer has this much to read by itself, and more is queued or nothing, hearing of each
  /// part that it has read is of no use: the source looks for that once in nap_time.
  static constexpr std::uint64_t nap_bytes_min = 16ULL << 20;
  static constexpr std::chrono::microseconds nap_time{1000};
  static constexpr std::chrono::seconds greeting_patience{10};
  /// How long a revoked lane waits for its receives before the peer's channel is force-closed,
  /// which makes them call back: a stopped or cut-off peer is reported by nothing else.
  static constexpr std::chrono::seconds stop_patience{2};
  static constexpr std::chrono::seconds drain_patience{3};
  /// A peer that says nothing is asked each ping_interval, and given up after silence_patience. UCX
  /// reports neither a stopped nor a cut-off peer, nor one that dies while the wires are set up.
  static constexpr std::chrono::seconds ping_interval{1};
  static constexpr std::chrono::seconds silence_patience{8};

  engine(engine_setup setup, std::unique_ptr<carrier> way);
  ~engine() override;

  std::vector<std::byte> descriptor() const override { return descriptor_; }
  void connect(node_name peer, incarnation life, std::vector<std::byte> descriptor) override;
  void disconnect(node_name peer) override;
  void admit(lane_grant grant) override;
  void revoke(lane_id lane, node_name source) override;
  void send_receipt(lane_id lane, node_name source) override;
  void offer(node_name destination, piece_offer offer) override;
  void offer_payload(node_name destination, lane_id lane, std::uint32_t piece,
                     std::vector<std::byte> bytes) override;
  void withdraw(lane_id lane, node_name destination) override;
  void query(lane_id lane, node_name destination) override;
  counters read_counters() const override;

private:
  using clock = std::chrono::steady_clock;

  /// A source's offer on its way out; `next_offset` bytes of it have been posted.
  struct queued_offer {
    lane_id lane;
    std::uint32_t piece = 0;
    block_ref block;
    strided where;
    std::shared_ptr<std::vector<std::byte>> payload; ///< null: the piece lies in the arena
    std::uint64_t next_offset = 0;
    std::optional<std::uint64_t> digest;
  };
  enum class peer_phase : std::uint8_t { greeting, up };
  struct peer_record {
    node_name name;
    incarnation life;
    channel_id channel = 0;
    peer_phase phase = peer_phase::greeting;
    clock::time_point greeting_deadline;
    clock::time_point last_heard;
    clock::time_point last_asked;
    fair_queue<queued_offer> queue;
    std::uint64_t window_bytes = 0; ///< posted and not yet called back (or taken)
    std::uint64_t announced_bytes = 0; ///< destination: not dealt with yet
    std::uint64_t taken_bytes = 0;     ///< destination: dealt with, and the source not told
    bool read_remotely = false; ///< its reads of our bytes need nothing from us
    std::unique_ptr<source_view> view;
  };
  /// Bytes that a reader may be at: kept until its send succeeded or its lane is evidenced over.
  struct posted_part {
    channel_id channel = 0;
    lane_id lane;
    std::uint64_t bytes = 0;
    std::uint64_t staging_bytes = 0;
    std::shared_ptr<std::vector<std::byte>> buffer; ///< null: the part lies in the arena
  };
  /// An accepted part, and where its bytes begin in the message that brings them.
  struct wanted_part {
    part_accepted part;
    std::uint64_t message_offset = 0;
  };
  /// Bytes that came or wait at the source; only those of `wanted` may land.
  struct incoming_message {
    channel_id channel = 0;
    lane_id lane;
    std::uint64_t bytes = 0;
    std::vector<wanted_part> wanted;
    void* handle = nullptr;
  };
  struct posted_receive {
    incoming_message message;
    std::uint64_t charged_bytes = 0;
    std::unique_ptr<std::byte[]> staging; ///< null: received in place
  };
  struct copy_job {
    channel_id channel = 0;
    part_accepted part;
    strided from;
    std::uint64_t done_bytes = 0;
  };
  struct stopping_lane {
    node_name source;
    clock::time_point deadline;
  };
  struct failed_channel {
    channel_id channel = 0;
    failure error;
  };

  // engine.cpp: the loop
  void submit(command c);
  void run();
  bool run_commands();
  bool turn();
  void rest();
  bool may_nap() const;
  int patience_ms() const;
  void drain();
  void emit(transfer_event e) {
    tell_landed();
    setup_.sink(std::move(e));
  }
  void publish_counters();
  void measure_moving();

  // engine_peers.cpp: channels
  void execute(connect_command& c);
  void execute(disconnect_command& c);
  void execute(shutdown_command& c);
  failure open_peer(const connect_command& c);
  void finish_greeting(peer_record& peer);
  void close_peer(const node_name& name, const failure& why);
  bool is_failed(channel_id channel) const;
  bool close_failed_channels();
  bool watch_peers();
  void watch(peer_record& peer, clock::time_point now);
  void send_to(const peer_record& peer, const wire::message& m);
  void tell(const node_name& name, const wire::message& m);
  peer_record* peer_named(const node_name& name);
  peer_record* peer_living(const incarnation& life);
  peer_record* peer_on(channel_id channel);
  void channel_failed(channel_id channel, failure error) override;

  // engine_source.cpp
  void execute(offer_command& c);
  void execute(payload_command& c);
  void execute(withdraw_command& c);
  void execute(query_command& c);
  void enqueue(const node_name& destination, queued_offer offer);
  bool pump_offers();
  bool post_next(peer_record& peer);
  bool announces(const queued_offer& offer) const;
  std::uint64_t next_bytes(const queued_offer& offer) const;
  bool give_turn(peer_record& peer);
  bool fits_window(const peer_record& peer, std::uint64_t bytes, std::uint64_t had_bytes) const;
  void add_digest(queued_offer& offer);
  void announce(peer_record& peer);
  std::size_t run_length(peer_record& peer);
  void post_run(peer_record& peer, std::size_t pieces);
  std::uint64_t part_bytes_of(std::uint64_t total) const;
  bool post_part(peer_record& peer, queued_offer& offer);
  void post_message(peer_record& peer, const wire::message& header, const std::byte* from,
                    posted_part part, bool wait_for_reader);
  void release_buffers(const lane_id& lane);
  void part_sent(std::uint64_t token, bool ok) override;

  // engine_frames.cpp: what arrives
  void frame_arrived(const std::byte* frame, std::size_t size) override;
  void part_arrived(const std::byte* frame, std::size_t size, const arrival& data) override;
  static std::vector<wire::part_header> offered_by(const wire::message& m);
  incoming_message judge_message(peer_record& peer, const std::vector<wire::part_header>& offered,
                                 std::uint64_t bytes);
  void take(peer_record& peer, wire::hello& m);
  void take(peer_record& peer, wire::part_header& m);
  void take(peer_record& peer, wire::run_header& m);
  void take(peer_record& peer, wire::announcements& m);
  void take_announced(peer_record& peer, const wire::announcement& m);
  void take(peer_record& peer, wire::taken& m);
  void take(peer_record& peer, wire::receipt& m);
  void take(peer_record& peer, wire::stopped& m);
  void take(peer_record& peer, wire::query& m);
  void take(peer_record& peer, wire::rejected& m);
  void take(peer_record& peer, wire::farewell& m);
  void stranger(const incarnation& from, const wire::message& m);

  // engine_in_place.cpp
  std::uint64_t moved_bytes(const strided& piece) const;
  void take_written(peer_record& peer, const wire::announcement& m);

  // engine_destination.cpp
  void execute(admit_command& c);
  void execute(revoke_command& c);
  void execute(receipt_command& c);
  void place_parts(const incoming_message& m, const std::byte* data);
  void land_eager(const incoming_message& m, const std::byte* data);
  void receive_or_wait(incoming_message m);
  std::byte* direct_place(const incoming_message& m);
  bool fits_budget(const incoming_message& m);
  bool may_post(const incoming_message& m);
  std::uint64_t charge_of(const incoming_message& m);
  void post_receive(incoming_message m);
  bool post_waiting();
  void part_received(std::uint64_t token, const failure& error) override;
  void finish_receive(const posted_receive& receive, const failure& error);
  void message_failed(const incoming_message& m, const failure& error);
  void forget(const incoming_message& m);
  void part_failed(const part_key& key, channel_id channel, failure error);
  void part_landed(const part_key& key, channel_id channel);
  bool tell_landed();
  void refuse(const lane_id& lane, std::uint32_t piece, channel_id channel, failure error);
  void drop_pending_of(const lane_id& lane);
  void fail_pending_of(channel_id channel, const failure& error);
  bool finish_stopping_lanes();

  // engine_copies.cpp
  bool copy_some();
  std::uint64_t copy_slice(std::uint64_t bytes_max);
  void give_back(peer_record& peer, std::uint64_t bytes);
  void drop_copies_of(const lane_id& lane);
  void fail_copies_of(channel_id channel, const failure& error);

  engine_setup setup_;
  std::unique_ptr<carrier> carrier_;
  std::vector<std::byte> descriptor_;
  command_queue commands_;
  std::atomic<bool> stopping_{false};

  std::map<node_name, peer_record> peers_;
  std::deque<failed_channel> failed_channels_;
  lane_table table_;
  std::map<lane_id, stopping_lane> stopping_lanes_;
  std::uint64_t next_token_ = 1;
  std::map<std::uint64_t, posted_part> posted_parts_;
  std::multimap<lane_id, posted_part> retained_parts_;
  std::uint64_t staging_bytes_ = 0;
  std::map<std::uint64_t, posted_receive> receives_;
  std::uint64_t inflight_bytes_ = 0;
  fair_queue<incoming_message> waiting_;
  fair_queue<copy_job> copies_;
  std::vector<piece_landed> landed_; ///< not told yet
  std::optional<clock::time_point> moving_since_; ///< none: nothing is outstanding
  counters now_;

  mutable std::mutex counters_mutex_;
  counters published_;
  std::thread thread_; ///< last: starts when everything above is there
};

} // namespace baton::transport
