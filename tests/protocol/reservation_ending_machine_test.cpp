#include "tests/protocol/reservation_states.hpp"

#include <doctest/doctest.h>

using namespace baton::tests::reservation_states;

// T retiring: a retiring reservation takes evidence and nothing else
// T retiring_lanes_stopped: the readers' quiescence is the last evidence of a retiring reservation
// T draining: a draining reservation refuses commits while its lanes may still be written
// T draining_last: the last lane's stop evidence reclaims a draining reservation
// T quarantined: late evidence is the way out of the quarantine
// T quarantined_readers: a quarantined reservation with readers is not reclaimed by one of two proofs
// T reclaiming: a reservation being reclaimed waits for the pool's word alone
// T reclaimed: a reclaimed reservation is told everything in vain
