/* The core of a hand-off as protocol/ implements it, for a checker that is not ours: spin. A pool
 * of two blocks; one request with two attempts, the second of which starts when the router gives up
 * the first; three reservations, for what is heard twice may be granted twice; two lanes for
 * each. A word that was said may be heard at any later time, in any order, any number of times or
 * never. A device and its lane are neighbours, so are a reservation and its pool: they step as one.
 * Each step prints what it was, and the state, which tests/spin compares with our machines'. A walk
 * (-DWALK=1) also takes steps that change nothing; -DBUG=n plants a mistake of spin_test.cpp. */
#ifndef BUG
#define BUG 0
#define WALK 0
#define LOSSES 1                   /* 0: no node is reported lost */
#define GRANTS 3                   /* reservations at most */
#endif
#define R _pid                     /* processes 0 to 2 are reservations */
#define L (_pid - 3)               /* processes 3 to 8 are lanes, two for each */
#define Q (L / 2)
mtype = { nascent, reserved, receiving, complete, live, retiring, draining, quarantined, reclaiming,
  reclaimed, planned, posted, landed, abort_requested, retired, opening, open, stopped, lost, none,
  reading, quiesced, free, leased }

byte need, granted, nfree = 2, top, cur;  /* blocks of an attempt; top of the free list; attempt */
mtype block[2] = free, rs[3] = nascent, reader[3] = none; /* blocks, reservations, their readers */
byte gen[2] = 1, holder[2];               /* gen: present one, of a free block the next */
byte cgen[2], cfirst[2], committed[2];    /* of an attempt: its commit, once sent; commits heeded */
byte att[3], first[3], rgen[6];           /* the grant: attempt, block of piece 0, generations */
bit over[3], opened[3];                   /* the lease is over; transfer_opened was said */
mtype lane[6] = nascent, status[6] = none; /* the lane; what its reservation knows of it */
byte cov[6], rx[6]; bit stp[6];           /* pieces landed and being received; stop_lane was said */
bit early_free, late_write, bad_commit, two_owners; /* what must never be */
byte weather; /* of walks, so that some get far: calm, mishaps, words repeated, a node lost */
#define MISHAP (!WALK || weather == 0)
#define AGAIN (WALK && weather % 8 == 1)
#define LOSS (LOSSES && (!WALK || weather == 7))
#define FULL ((1 << need) - 1)
#define BEFORE_LIVE(r) (rs[r] == reserved || rs[r] == receiving || rs[r] == complete)
#define ENDING(r) (rs[r] == retiring || rs[r] == draining || rs[r] == quarantined)
#define ENDED(r) (ENDING(r) || rs[r] == reclaiming || rs[r] == reclaimed)
#define HAS(r, a) (rs[r] != nascent && rs[r] != reclaimed && att[r] == a)
#define ASKS(a) (a <= cur && !HAS(0, a) && !HAS(1, a) && !HAS(2, a))
#define OWNER (cur < 2 && cgen[cur] != 0 -> cur + 1 : 0)
#define STALE(r) (cgen[att[r]] != rgen[2 * r] || cfirst[att[r]] != first[r])
#define STOPPED(l) (status[l] == none || status[l] == stopped || (BUG == 4 && stp[l]))
#define QUIET(l) ((lane[l] == nascent && status[l] == none) || lane[l] == retired)
/* I1 and I12, after every step: a block is in the state of its one holder, or free. */
#define AGREES(b) ((block[b] == free) == (holder[b] == 0) && (holder[b] == 0 || \
  (block[b] == leased -> BEFORE_LIVE(holder[b] - 1) : (block[b] == live -> \
   rs[holder[b] - 1] == live : ENDING(holder[b] - 1) || rs[holder[b] - 1] == reclaiming))))
#define CHECK assert(!early_free); assert(!late_write); assert(!bad_commit); assert(!two_owners); \
  assert(AGREES(0) && AGREES(1)); assert(nfree == (block[0] == free) + (block[1] == free))
/* Lanes of a reservation are alike, so the search, which prints nothing, keeps them in order. */
#define KEY(l) (((lane[l] * 32 + status[l]) * 4 + cov[l]) * 8 + rx[l] * 2 + stp[l])
#define SWAP(a, r) a[2 * r] = a[2 * r] ^ a[2 * r + 1]; a[2 * r + 1] = a[2 * r] ^ a[2 * r + 1]; \
  a[2 * r] = a[2 * r] ^ a[2 * r + 1]
#define SORT(r) if :: !WALK && BUG == 0 && KEY(2 * r) > KEY(2 * r + 1) -> SWAP(lane, r); \
  SWAP(status, r); SWAP(cov, r); SWAP(rx, r); SWAP(stp, r) :: else fi
#define THREE(a) printf(" %e %e %e", a[0], a[1], a[2])
#define SIX(a) THREE(a); printf(" %e %e %e", a[3], a[4], a[5])
#define SAID(what, who) printf("did "); printf(what, who); \
  printf(": %d %d %e %d %d", OWNER, nfree, block[0], gen[0], holder[0]); \
  printf(" %e %d %d", block[1], gen[1], holder[1]); \
  THREE(rs); SIX(status); SIX(lane); printf("\n"); CHECK
#define DID(what) SAID(what, R); SORT(R)
#define LANE_DID(what, who) SAID(what, who); SORT(Q)
#define HOLD(b, r, s) block[b] = (holder[b] == r + 1 -> s : block[b])
#define FREE(b, r) nfree = nfree + (holder[b] == r + 1); gen[b] = gen[b] + (holder[b] == r + 1); \
  HOLD(b, r, free); holder[b] = (holder[b] == r + 1 -> 0 : holder[b])
#define BOTH(a, s, r) a[2 * r] = s; a[2 * r + 1] = s
inline give_back(r) { /* I3: not before each lane has stopped, or never was, and no reader is */
  early_free = !QUIET(2 * r) || !QUIET(2 * r + 1) || reader[r] == reading;
  FREE(0, r); FREE(1, r); top = (need == 1 -> first[r] : 1 - first[r]);
  first[r] = (BUG == 0 -> 0 : first[r]);
  rs[r] = reclaimed; reader[r] = none; over[r] = 0; opened[r] = 0;
  BOTH(status, none, r); BOTH(stp, 0, r); if :: BUG == 0 -> BOTH(rgen, 0, r) :: else fi
}
inline wait_as(r, s) { /* reclaim if all evidence is in, else wait for it */
  rs[r] = (STOPPED(2 * r) && STOPPED(2 * r + 1) && (BUG == 10 || reader[r] != reading) -> reclaiming
           : (status[2 * r] == lost || status[2 * r + 1] == lost -> quarantined : s))
}
#define STOP(l) stp[l] = stp[l] || status[l] == opening || status[l] == open || status[l] == landed
#define SETTLE(l) cov[l] = (lane[l] == posted -> cov[l] : 0); \
  status[l] = (status[l] == opening || status[l] == landed -> open : status[l])
inline retire(r, s) {
  HOLD(0, r, quarantined); HOLD(1, r, quarantined); STOP(2 * r); STOP(2 * r + 1); over[r] = 0;
  if :: BUG == 2 && rx[2 * r] + rx[2 * r + 1] + cov[2 * r] + cov[2 * r + 1] == 0 -> give_back(r)
     :: else -> SETTLE(2 * r); SETTLE(2 * r + 1); wait_as(r, s) fi
}
active [3] proctype reservation() {
end: do
  :: d_step { rs[R] == reserved && status[2 * R] == none -> /* manifest_offered, equal */
     if :: over[R] -> retire(R, draining); DID("offered_too_late %d")
        :: else -> BOTH(status, opening, R); DID("offered %d") fi }
  :: d_step { AGAIN && rs[R] != nascent && status[2 * R] != none -> DID("offered_again %d") }
  :: d_step { BEFORE_LIVE(R) && !over[R] && MISHAP -> over[R] = 1; DID("lease_over %d") }
  :: d_step { AGAIN && BEFORE_LIVE(R) && !over[R] -> DID("expired_early %d") }
  :: d_step { BEFORE_LIVE(R) && over[R] -> /* lease_expired */
     if :: BUG == 1 -> give_back(R) :: else -> retire(R, draining) fi; DID("expired %d") }
  :: d_step { AGAIN && (rs[R] == live || ENDED(R)) -> DID("expired_later %d") }
  :: d_step { cur > att[R] && (BEFORE_LIVE(R) || rs[R] == live) -> /* revoke_reservation */
     if :: rs[R] == live -> retire(R, retiring); DID("cancelled %d")
        :: else -> retire(R, draining); DID("revoked %d") fi }
  :: d_step { AGAIN && cur > att[R] && ENDED(R) -> DID("revoked_later %d") }
  :: d_step { rs[R] == complete && (AGAIN || cgen[att[R]] == 0) -> /* transfer_completed: a claim */
     if :: att[R] == cur && cgen[cur] == 0 -> cgen[cur] = rgen[2 * R]; cfirst[cur] = first[R];
           DID("claimed %d")
        :: else -> DID("claim_refused %d") fi }
  :: d_step { (rs[R] == complete || (BUG == 11 && rs[R] == live)) && cgen[att[R]] != 0 &&
     (AGAIN || BUG == 3 || !STALE(R)) -> /* commit */
     if :: STALE(R) && BUG != 3 -> DID("commit_stale %d")
        :: (!STALE(R) || BUG == 3) && over[R] && BUG != 5 -> retire(R, draining);
           DID("commit_too_late %d")
        :: else -> /* I5 and I6 */
           bad_commit = STALE(R) || over[R] || cov[2 * R] != FULL || cov[2 * R + 1] != FULL;
           two_owners = committed[att[R]] > 0 || (OWNER != att[R] + 1 && cur <= att[R]);
           committed[att[R]]++; rs[R] = live; reader[R] = reading; over[R] = 0; HOLD(0, R, live);
           HOLD(1, R, live); DID("committed %d") fi }
  :: d_step { AGAIN && rs[R] != nascent && rs[R] != complete && cgen[att[R]] != 0 ->
     DID("commit_later %d") }
  :: d_step { rs[R] == live -> retire(R, retiring); DID("finished %d") }
  :: d_step { reader[R] == reading -> reader[R] = quiesced; /* sequence_quiesced */
     if :: rs[R] != live -> wait_as(R, rs[R]) :: else fi; DID("quiesced %d") }
  :: d_step { rs[R] == reclaiming -> give_back(R); DID("reclaimed %d") }
  :: d_step { (AGAIN || BUG == 7) && rs[R] == reclaimed -> nfree = nfree + (BUG == 7);
     DID("reclaimed_again %d") } od
}
/* From an offer to the end of its receive. I2: what lands carries the present generation. */
#define BIT(p) (1 << p)
#define FAIL(p) rx[L] = rx[L] - BIT(p)
#define LAND(p) late_write = gen[(p == 0 -> first[Q] : 1 - first[Q])] != rgen[2 * Q + p]; FAIL(p)
#define PIECE_DID(what, p) LANE_DID(what, L + 6 * p)
#define PIECE(p) \
  :: d_step { lane[L] == posted && opened[Q] && p < need && !((rx[L] | cov[L]) & BIT(p)) -> \
     rx[L] = rx[L] | BIT(p); PIECE_DID("receive_posted %d", p) } \
  :: d_step { (rx[L] & BIT(p)) && lane[L] != posted -> LAND(p); PIECE_DID("landed_late %d", p) } \
  :: d_step { (rx[L] & BIT(p)) && lane[L] == posted -> LAND(p); cov[L] = cov[L] | BIT(p); \
     lane[L] = (cov[L] == FULL -> landed : posted); PIECE_DID("landed %d", p) } \
  :: d_step { (AGAIN || BUG == 9) && (cov[L] & BIT(p)) && (lane[L] == posted || lane[L] == landed) \
     -> lane[L] = (BUG == 9 -> landed : lane[L]); PIECE_DID("landed_again %d", p) } \
  :: d_step { (rx[L] & BIT(p)) && rs[Q] == receiving && MISHAP -> FAIL(p); retire(Q, draining); \
     PIECE_DID("receive_failed %d", p) } \
  :: d_step { (rx[L] & BIT(p)) && MISHAP -> FAIL(p); PIECE_DID("receive_failed_unheard %d", p) }
#define BOTH_ARE(s) (status[2 * Q] == s && status[2 * Q + 1] == s)
active [6] proctype lane_end() {
end: do
  :: d_step { (lane[L] == nascent -> status[L] != none : AGAIN || BUG == 8) -> /* open_lane */
     if :: lane[L] == nascent || (BUG == 8 && lane[L] == retired) -> lane[L] = planned;
           LANE_DID("open %d", L)
        :: else -> LANE_DID("open_again %d", L) fi } /* may be one that stop_lane has overtaken */
  :: d_step { lane[L] == planned -> lane[L] = posted; LANE_DID("admitted %d", L) }
  :: d_step { AGAIN && lane[L] == abort_requested -> LANE_DID("admitted_late %d", L) }
  PIECE(0) PIECE(1)
  :: d_step { AGAIN && opened[Q] && (lane[L] == abort_requested || lane[L] == retired) ->
     LANE_DID("offer_late %d", L) }
  :: d_step { stp[L] && lane[L] == nascent -> lane[L] = retired; LANE_DID("stop_unopened %d", L) }
  :: d_step { stp[L] && (lane[L] == planned || lane[L] == posted || lane[L] == landed) ->
     cov[L] = (ENDED(Q) -> 0 : cov[L]); lane[L] = abort_requested; LANE_DID("stop %d", L) }
  :: d_step { AGAIN && (lane[L] == abort_requested || lane[L] == retired) ->
     LANE_DID("stop_again %d", L) }
  :: d_step { lane[L] == abort_requested && (rx[L] == 0 || BUG == 6) -> /* receives_quiesced */
     lane[L] = retired; LANE_DID("stopped %d", L) }
  :: d_step { rs[Q] == reserved && status[L] == opening && lane[L] == posted -> /* lane_opened */
     status[L] = open; opened[Q] = BOTH_ARE(open); rs[Q] = (opened[Q] -> receiving : reserved);
     LANE_DID("heard_opened %d", L) }
  :: d_step { AGAIN && rs[Q] != nascent && (lane[L] == posted || lane[L] == landed) &&
     (rs[Q] != reserved || status[L] == open) -> LANE_DID("heard_opened_again %d", L) }
  :: d_step { rs[Q] == receiving && status[L] == open && lane[L] == landed -> /* lane_landed */
     status[L] = landed;
     if :: BOTH_ARE(landed) -> rs[Q] = complete; STOP(2 * Q); STOP(2 * Q + 1) :: else fi;
     LANE_DID("heard_landed %d", L) }
  :: d_step { AGAIN && (status[L] == landed || lane[L] == landed && ENDED(Q)) ->
     LANE_DID("heard_landed_again %d", L) }
  :: d_step { lane[L] == retired && status[L] != stopped && /* lane_stopped: evidence */
     (rs[Q] == complete || rs[Q] == live || ENDING(Q)) -> status[L] = stopped;
     if :: ENDING(Q) -> wait_as(Q, rs[Q]) :: else fi; LANE_DID("heard_stopped %d", L) }
  :: d_step { AGAIN && lane[L] == retired && (status[L] == stopped || ENDED(Q) && !ENDING(Q)) ->
     LANE_DID("heard_stopped_again %d", L) }
  :: d_step { LOSS && status[L] != none && (BEFORE_LIVE(Q) || status[L] != stopped &&
     status[L] != lost && (rs[Q] == live || rs[Q] == retiring || rs[Q] == draining)) ->
     status[L] = (status[L] == stopped -> stopped : lost); /* lane_lost */
     if :: BEFORE_LIVE(Q) -> retire(Q, draining) :: ENDING(Q) -> wait_as(Q, rs[Q]) :: else fi;
     LANE_DID("heard_lost %d", L) }
  :: d_step { AGAIN && status[L] != none && !BEFORE_LIVE(Q) && (status[L] == stopped ||
     status[L] == lost || rs[Q] == quarantined) -> LANE_DID("heard_lost_again %d", L) } od
}

#define ATTEMPT(a) \
  :: d_step { granted < GRANTS && nfree >= need && ASKS(a) -> \
     rs[granted] = reserved; att[granted] = a; first[granted] = top; nfree = nfree - need; \
     block[top] = leased; holder[top] = granted + 1; rgen[2 * granted] = gen[top]; \
     if :: need == 2 -> block[1 - top] = leased; holder[1 - top] = granted + 1; \
           rgen[2 * granted + 1] = gen[1 - top] :: else fi; \
     top = (nfree == 1 -> 1 - top : 0); granted = granted + 1; SAID("granted %d", a) } \
  :: d_step { AGAIN && ASKS(a) && nfree < need -> SAID("reserve_refused %d", a) } \
  :: d_step { AGAIN && a <= cur && !ASKS(a) -> SAID("asked_again %d", a) } \
  :: d_step { cur == a && MISHAP -> cur = cur + 1; SAID("gave_up %d", a) }
active proctype pool_and_router() {
  select (weather : 0 .. 31 * WALK); select (need : 1 .. 2); SAID("need %d", need);
end: do
  ATTEMPT(0) ATTEMPT(1)
  :: d_step { WALK -> weather = (weather + 1) % 32 } od
}
