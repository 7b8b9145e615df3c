// Steps of hand_off.pml, as spin printed them, against our machines. check.py runs spin and names
// the folder of its output in BATON_SPIN_FOLDER; without it only the cases without spin run.
#include "tests/spin/machines.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

using namespace baton::tests::spin;

namespace {

namespace files = std::filesystem;

/// How far our machines followed, and why no farther.
struct course {
  std::size_t steps = 0;
  std::string parted_at; ///< name of the step; empty: they followed to the end
  std::string why;
};

course follow(const std::vector<model_step>& steps) {
  machines ours;
  course result;
  for (const auto& step : steps) {
    result.why = ours.take(step);
    if (!result.why.empty()) {
      result.parted_at = step.what;
      return result;
    }
    ++result.steps;
  }
  return result;
}

std::vector<model_step> steps_of(const files::path& file) {
  std::ifstream in(file);
  return read_steps(in);
}

/// Every kind of word of a state at rest, then what differs from the state before.
const char* const granted_and_given_up
  = "did need 1: 0 2 free 1 0 free 1 0 nascent nascent nascent none none none none none none "
    "nascent nascent nascent nascent nascent nascent\n"
    "did granted 0: 0 1 leased 1 1 free 1 0 reserved nascent nascent none none none none none none "
    "nascent nascent nascent nascent nascent nascent\n"
    "a line of the simulator\n"
    "did gave_up 0: 0 1 leased 1 1 free 1 0 reserved nascent nascent none none none none none none "
    "nascent nascent nascent nascent nascent nascent\n"
    "did revoked 0: 0 1 quarantined 1 1 free 1 0 reclaiming nascent nascent none none none none "
    "none none nascent nascent nascent nascent nascent nascent\n"
    "did reclaimed 0: 0 2 free 2 0 free 1 0 reclaimed nascent nascent none none none none none "
    "none nascent nascent nascent nascent nascent nascent\n"
    "did granted 0: 0 1 leased 2 2 free 1 0 reclaimed reser-------------\n";

course follow_text(const std::string& text) {
  std::istringstream in(text);
  return follow(read_steps(in));
}

std::string changed(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

std::vector<files::path> printed(const std::string& prefix) {
  std::vector<files::path> found;
  const char* folder = std::getenv("BATON_SPIN_FOLDER");
  if (folder == nullptr)
    return found;
  for (const auto& entry : files::directory_iterator(folder))
    if (entry.path().filename().string().rfind(prefix, 0) == 0)
      found.push_back(entry.path());
  return found;
}

/// A planted mistake: the last step that our machines do not take, and what they say.
struct mistake {
  int number;
  std::string what;
  std::string parted_at;
  std::string why;
};

const mistake mistakes[] = {
  {1, "blocks are freed when the lease ends", "expired",
   "free blocks: 2 in the model, 1 here"},
  {2, "blocks wait in quarantine only if a write is known to be posted", "revoked",
   "free blocks: 2 in the model, 1 here"},
  {3, "a commit of another grant is heeded", "committed", "the commit is not heeded"},
  {4, "blocks are reclaimed when lanes were asked to stop, not when they have", "revoked",
   "reservation 0: reclaiming in the model, draining here"},
  {5, "a commit is heeded after the lease", "committed", "the commit is not heeded"},
  {6, "a device says that nothing lands any more while a receive is posted", "landed_late",
   "assertion: !\"this event cannot happen in this state of a lane\""},
  {7, "a second reclaim frees again", "reclaimed_again", "free blocks: 3 in the model, 2 here"},
  {8, "a late open_lane opens a stopped lane", "open", "the lane does not open"},
  {9, "a piece that lands twice counts twice", "landed_again",
   "lane 1: landed in the model, posted here"},
  {10, "blocks are reclaimed while a reader is active", "finished",
   "reservation 0: reclaiming in the model, retiring here"},
  {11, "a commit is heeded twice", "committed", "the commit is not heeded"},
};

} // namespace

TEST_CASE("every step of the model's random walks is a step of our machines") {
  const auto walks = printed("walk-");
  if (walks.empty())
    MESSAGE("skipped: no walks; tests/spin/check.py makes them");
  std::size_t steps = 0;
  for (const auto& walk : walks) {
    const course c = follow(steps_of(walk));
    CHECK_MESSAGE(c.parted_at == "", walk.filename().string(), ", step ", c.steps + 1, ", ",
                  c.parted_at, ": ", c.why);
    steps += c.steps;
  }
  MESSAGE(walks.size(), " walks, ", steps, " steps");
}

TEST_CASE("our machines leave a model with a planted mistake where the mistake is") {
  if (printed("mistake-").empty())
    MESSAGE("skipped: no counterexamples; tests/spin/check.py makes them");
  for (const auto& file : printed("mistake-")) {
    const int number = std::stoi(file.filename().string().substr(std::string("mistake-").size()));
    const mistake& m = mistakes[number - 1];
    const auto steps = steps_of(file);
    const course c = follow(steps);
    INFO("mistake ", number, ": ", m.what);
    MESSAGE("mistake ", number, ", step ", c.steps + 1, " of ", steps.size(), ", ", c.parted_at,
            ": ", c.why);
    CHECK(c.parted_at == m.parted_at);
    CHECK(c.why == m.why);
  }
}

TEST_CASE("a short walk is followed to its end, and lines that are no steps are passed over") {
  const course c = follow_text(granted_and_given_up);
  CHECK(c.why == "");
  CHECK(c.steps == 5);
}

TEST_CASE("a state, a word and a step that our machines do not know are named") {
  const auto why = [](const char* from, const char* to) {
    return follow_text(changed(granted_and_given_up, from, to)).why;
  };
  CHECK(why("reclaimed 0: 0 2 free 2", "reclaimed 0: 0 2 free 1")
        == "block 0 generation: 1 in the model, 2 here");
  CHECK(why("did gave_up 0", "did asked_again 0") == "nobody gave the attempt up");
  CHECK(why("did revoked 0", "did heard_stopped 0") == "the lane never said lane_stopped");
  CHECK(why("did revoked 0", "did reclaimed 0") == "the pool was not asked to reclaim");
  CHECK(why("did revoked 0", "did withdrawn 0") == "no step of ours has this name");
  CHECK(why("did revoked 0", "did finished 0").rfind("assertion: ", 0) == 0);
}
