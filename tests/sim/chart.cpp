#include "tests/sim/chart.hpp"

#include <cstdio>

namespace baton::sim {

namespace {

constexpr std::size_t lines_shown_max = 300;

class scribe : public run_observer, public world::observer {
public:
  void begins(world& w) override {
    w.watch(this);
    prefill_groups_ = w.setup().shape.prefill_groups;
  }
  void acts(const world& w, const action& a) override { line(w.describe(a)); }
  void heals(const world&) override {
    lines_.push_back("      -- faults stop; what is down is restarted --\n");
  }

  void stepped(const world& w, std::uint32_t who, std::uint32_t, std::uint32_t before,
               std::uint32_t event, const reaction& made) override {
    const address a = address::unpacked(who);
    const auto& known = w.known();
    const std::string was = known.state_name(a.what, before);
    const std::string is = made.broken == 0 ? known.state_name(a.what, made.next) : "BROKEN";
    if (was != is)
      lines_.push_back("         " + to_string(a, prefill_groups_) + ": " + was + " -> " + is + " ("
                       + known.event_name(a.what, event) + ")\n");
  }

  /// The first lines and the last: a run that never rests says the same for ever.
  std::string shown() const {
    if (lines_.size() <= lines_shown_max)
      return join(0, lines_.size());
    const std::size_t half = lines_shown_max / 2;
    return join(0, half) + "      … " + std::to_string(lines_.size() - lines_shown_max)
           + " lines …\n" + join(lines_.size() - half, lines_.size());
  }

  void line(const std::string& what) {
    char number[16];
    std::snprintf(number, sizeof number, "%4u  ", ++count_);
    lines_.push_back(number + what + "\n");
  }

private:
  std::string join(std::size_t from, std::size_t to) const {
    std::string text;
    for (std::size_t i = from; i < to; ++i)
      text += lines_[i];
    return text;
  }

  std::vector<std::string> lines_;
  std::uint32_t count_ = 0;
  std::uint8_t prefill_groups_ = 1;
};

} // namespace

std::string chart_of(const tape& t) {
  scribe s;
  const run_result r = replay(t, &s);
  return s.shown() + (r.broken.empty() ? "      nothing broke\n" : "      " + r.broken + "\n");
}

std::string chart_of(const world_setup& setup, const std::vector<action>& way) {
  scribe s;
  catalogue known(setup.shape);
  world w(known, setup);
  s.begins(w);
  std::vector<std::uint32_t> canonical;
  for (const action& a : way) {
    w.save(canonical); // the search counts in canonical order
    const std::uint32_t* in = canonical.data();
    w.load(in);
    s.acts(w, a);
    w.apply(a);
  }
  return s.shown();
}

} // namespace baton::sim
