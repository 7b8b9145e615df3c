#include "tests/sim/marks.hpp"

namespace baton::sim {

namespace {

std::vector<mark> marks_of_lanes() {
  return {
    {"a piece lands after its lane was told to stop", kind::lane, "abort_requested",
     "piece_landed", "abort_requested"},
    {"a lane is stopped before its table entry exists", kind::lane, "planned", "stop_lane",
     "abort_requested"},
    {"a lane is stopped with reads outstanding", kind::lane, "posted", "stop_lane",
     "abort_requested"},
    {"a repeated stop finds the lane stopping", kind::lane, "abort_requested", "stop_lane",
     "abort_requested"},
    {"a read ends in an error when its source is dead", kind::lane, "posted", "offer_refused", "*"},
    {"the reader stops before everything was offered", kind::feed, "offering", "reader_stopped",
     "stopped"},
    {"a receipt arrives at a feed that was withdrawn", kind::feed, "withdrawn", "receipt_arrived",
     "received"},
    {"a lost receipt is asked for again", kind::feed, "offered", "query_due", "offered"},
    {"a withdrawn feed asks whether its reader has stopped", kind::feed, "withdrawn", "query_due",
     "withdrawn"},
    {"an offer is turned away", kind::feed, "*", "offer_rejected", "*"},
  };
}

std::vector<mark> marks_of_owners() {
  return {
    {"a lease ends before any lane is open", kind::reservation, "reserved", "lease_expired",
     "*"},
    {"a lease ends while bytes arrive", kind::reservation, "receiving", "lease_expired",
     "draining"},
    {"a lease ends when everything has landed", kind::reservation, "complete", "lease_expired",
     "*"},
    {"a lease ends after the commit and means nothing", kind::reservation, "live",
     "lease_expired", "live"},
    {"a commit comes at the end of the lease", kind::reservation, "complete", "commit", "draining"},
    {"a commit comes to a reservation that drains", kind::reservation, "draining", "commit",
     "draining"},
    {"a commit is repeated", kind::reservation, "live", "commit", "live"},
    {"a lane fails while another is still arriving", kind::reservation, "receiving",
     "lane_failed", "draining"},
    {"a reservation is revoked while it decodes", kind::reservation, "live", "revoke_reservation",
     "retiring"},
    {"a revoked reservation waits for the last lane", kind::reservation, "draining",
     "lane_stopped", "draining"},
    {"a source is cancelled while its kernels run", kind::hold, "computing", "cancel_source",
     "draining"},
    {"a source is cancelled after it has offered everything", kind::hold, "offered",
     "cancel_source", "*"},
    {"the receipt overtakes the slowest rank's completion", kind::hold, "computing",
     "feed_received", "computing"},
    {"a retained source is given up", kind::hold, "retained", "retention_expired", "releasing"},
  };
}

std::vector<mark> marks_of_requests() {
  return {
    {"a grant arrives after the attempt was given up", kind::attempt, "abandoned",
     "reserve_granted", "abandoned"},
    {"a prefill is accepted after the attempt was given up", kind::attempt, "abandoned",
     "prefill_accepted", "abandoned"},
    {"an attempt loses its group while it waits for it", kind::attempt, "reserving", "group_lost",
     "*"},
    {"an attempt loses its decode group in mid-stream", kind::attempt, "decoding", "group_lost",
     "*"},
    {"a commit is refused after the claim was granted", kind::attempt, "committing",
     "commit_refused", "abandoned"},
    {"a request is tried again", kind::request, "open", "attempt_failed", "open"},
    {"a stream is interrupted", kind::request, "streaming", "attempt_failed", "interrupted"},
    {"a client leaves in mid-stream", kind::request, "streaming", "cancel_request", "cancelled"},
    {"an ended request refuses a late claim", kind::request, "cancelled", "claim_commit",
     "cancelled"},
    {"an attempt stops waiting for room", kind::pool, "ready", "withdraw_attempt", "ready"},
    {"nobody makes room in time", kind::pool, "ready", "wait_expired", "ready"},
  };
}

std::vector<mark> join() {
  std::vector<mark> all = marks_of_lanes();
  for (const auto& more : {marks_of_owners(), marks_of_requests()})
    all.insert(all.end(), more.begin(), more.end());
  return all;
}

} // namespace

const std::vector<mark>& all_marks() {
  static const std::vector<mark> marks = join();
  return marks;
}

std::vector<std::uint64_t>& marks_reached() {
  static thread_local std::vector<std::uint64_t> reached(all_marks().size());
  return reached;
}

void reach_marks(kind machine, const std::string& before, const std::string& event,
                 const std::string& after) {
  const auto fits = [](const char* wanted, const std::string& is) {
    return *wanted == '*' || is == wanted;
  };
  auto& reached = marks_reached();
  for (std::size_t i = 0; i < all_marks().size(); ++i) {
    const mark& m = all_marks()[i];
    if (m.machine == machine && event == m.event && fits(m.before, before) && fits(m.after, after))
      ++reached[i];
  }
}

std::vector<std::string> marks_missed() {
  std::vector<std::string> missed;
  for (std::size_t i = 0; i < all_marks().size(); ++i)
    if (marks_reached()[i] == 0)
      missed.emplace_back(all_marks()[i].sentence);
  return missed;
}

} // namespace baton::sim
