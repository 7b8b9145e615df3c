#include "tests/sim/chart.hpp"

#include <cstdio>

namespace baton::sim {

namespace {

class scribe : public run_observer, public world::observer {
public:
  void begins(world& w) override {
    w.watch(this);
    prefill_groups_ = w.setup().shape.prefill_groups;
  }
  void acts(const world& w, const action& a) override { line(w.describe(a)); }
  void heals(const world&) override {
    text += "      -- faults stop; what is down is restarted --\n";
  }

  void stepped(const world& w, std::uint32_t who, std::uint32_t, std::uint32_t before,
               std::uint32_t event, const reaction& made) override {
    const address a = address::unpacked(who);
    const auto& known = w.known();
    const std::string was = known.state_name(a.what, before);
    const std::string is = made.broken.empty() ? known.state_name(a.what, made.next) : "BROKEN";
    if (was != is)
      text += "         " + to_string(a, prefill_groups_) + ": " + was + " -> " + is + " ("
              + known.event_name(a.what, event) + ")\n";
  }

  void line(const std::string& what) {
    char number[16];
    std::snprintf(number, sizeof number, "%4u  ", ++count_);
    text += number + what + "\n";
  }

  std::string text;

private:
  std::uint32_t count_ = 0;
  std::uint8_t prefill_groups_ = 1;
};

} // namespace

std::string chart_of(const tape& t) {
  scribe s;
  const run_result r = replay(t, &s);
  return s.text + (r.broken.empty() ? "      nothing broke\n" : "      " + r.broken + "\n");
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
  return s.text;
}

} // namespace baton::sim
