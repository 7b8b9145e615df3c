#include "tests/mutants/mutant.hpp"

namespace baton::mutants {

namespace {
int active = 0;
} // namespace

void activate(int number) { active = number; }

asleep::asleep() : was_(active) { active = 0; }
asleep::~asleep() { active = was_; }

bool is(int number) { return active == number; }

} // namespace baton::mutants
