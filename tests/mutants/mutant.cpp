#include "tests/mutants/mutant.hpp"

namespace baton::mutants {

namespace {
int active = 0;
} // namespace

void activate(int number) { active = number; }

bool is(int number) { return active == number; }

int number_of(const std::string& name) {
  for (std::size_t i = 0; i < all().size(); ++i)
    if (name == all()[i].name)
      return static_cast<int>(i) + 1;
  return 0;
}

} // namespace baton::mutants
