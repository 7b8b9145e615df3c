#include "protocol/trace_path_index.hpp"

namespace baton::protocol {

const char* to_string(path_kind kind) {
  switch (kind) {
  case path_kind::way: return "way and mailbox";
  case path_kind::handling: return "handling";
  case path_kind::queue: return "queue";
  case path_kind::device_wait: return "device wait";
  case path_kind::compute: return "compute";
  case path_kind::transfer: return "transfer";
  case path_kind::device: return "transfer device";
  case path_kind::timer: return "timer";
  case path_kind::unexplained: return "unexplained";
  }
  return "?";
}

const char* to_string(path_phase phase) {
  switch (phase) {
  case path_phase::submit: return "submit";
  case path_phase::place: return "place";
  case path_phase::reserve: return "reserve";
  case path_phase::prefill: return "prefill";
  case path_phase::hand_off: return "hand-off";
  case path_phase::commit: return "commit";
  case path_phase::step: return "step";
  case path_phase::stream: return "stream";
  case path_phase::other: return "other";
  }
  return "?";
}

const std::vector<relayed_word>& relayed_words() {
  static const std::vector<relayed_word> words = {
    {"open_lane", {"open_lane"}, false, path_kind::device},
    {"lane_admitted", {"admit_lane"}, true, path_kind::device},
    {"open_feed", {"open_feed"}, false, path_kind::device},
    {"piece_landed", {"offer_piece", "offer_resume"}, true, path_kind::transfer},
    {"source_ready", {"feed_opened"}, true, path_kind::device}, // it was computed before
    {"receipt_arrived", {"send_receipt"}, true, path_kind::device},
    {"stop_lane", {"stop_lane"}, false, path_kind::device},
    {"receives_quiesced", {"revoke_lane"}, true, path_kind::device},
    {"reader_stopped", {"withdraw_offers"}, true, path_kind::device},
  };
  return words;
}

path_phase phase_of_message(const std::string& message) {
  using p = path_phase;
  static const std::unordered_map<std::string, path_phase> phases = {
    {"submit_request", p::submit},     {"request_arrived", p::submit},
    {"open_request", p::submit},       {"start_attempt", p::place},
    {"place_attempt", p::place},       {"attempt_placed", p::place},
    {"reserve_request", p::reserve},   {"begin_reservation", p::reserve},
    {"reserve_granted", p::reserve},   {"start_prefill", p::prefill},
    {"begin_hold", p::prefill},        {"submit_prefill", p::prefill},
    {"prefill_accepted", p::prefill},  {"prefill_computed", p::prefill},
    {"prefill_finished", p::prefill},  {"manifest_offered", p::hand_off},
    {"open_lane", p::hand_off},        {"lane_admitted", p::hand_off},
    {"lane_opened", p::hand_off},      {"transfer_opened", p::hand_off},
    {"open_feed", p::hand_off},        {"feed_opened", p::hand_off},
    {"source_ready", p::hand_off},     {"stall_ended", p::hand_off},
    {"piece_landed", p::hand_off},     {"lane_landed", p::hand_off},
    {"transfer_completed", p::hand_off}, {"claim_commit", p::commit},
    {"commit_claimed", p::commit},     {"commit", p::commit},
    {"committed", p::commit},          {"activate_sequence", p::commit},
    {"token_emitted", p::stream},      {"frame_forwarded", p::stream}};
  const auto it = phases.find(message);
  return it == phases.end() ? path_phase::other : it->second;
}

} // namespace baton::protocol
