#include "actors/trace_export.hpp"

#include "actors/trace_tracks.hpp"
#include "protocol/trace_ledger.hpp"
#include "protocol/trace_line.hpp"
#include "protocol/trace_order.hpp"
#include "protocol/trace_text.hpp"

#include <algorithm>

namespace baton::actors {

namespace {

using namespace protocol;

class perfetto_export {
public:
  perfetto_export(const trace_files& files, std::ostream& out)
    : files_(files), ledgers_(read_ledgers(files)), causes_(files.keys()),
      tracks_(files.sections(), files.keys(), ledgers_.begin_ns, out) {}

  export_result run() {
    tracks_.open();
    for (std::size_t i = 0; i < files_.keys().size(); ++i)
      if (const auto read = files_.record(i))
        take(i, read.value());
      else if (done_.unreadable++ == 0)
        done_.first_unreadable = read.error();
    for (const auto& pool : ledgers_.pools)
      count(pool);
    tracks_.close();
    return std::move(done_);
  }

private:
  void take(std::size_t i, const trace_record& r) {
    const trace_key& key = files_.keys()[i];
    json args{{"id", message_id_text(r.header.id)}, {"from", r.header.sender}};
    if (r.header.sent_ns > 0)
      args["wait_us"] = std::max<std::int64_t>(0, r.wait_ns()) / 1000;
    if (!r.machine.empty())
      args["state"] = r.before == r.after ? r.before : r.before + " -> " + r.after;
    if (!r.effects.empty())
      args["effects"] = r.effects;
    if (r.request != request_id{})
      args["request"] = to_string(r.request) + "." + std::to_string(r.attempt);
    if (std::string fields = salient_fields(r.event); !fields.empty())
      args["fields"] = std::move(fields);
    tracks_.slice(key, r.actor, r.message, {r.begin_ns, r.end_ns}, args);
    ++done_.slices;
    if (r.message == "plan_ended" && r.machine.empty())
      take_kernels(key, r);
    if (const auto cause = causes_.cause_of(i))
      take_flow(i, *cause, r.message);
  }

  /// compute_ns ends when the device's thread said so.
  void take_kernels(const trace_key& key, const trace_record& r) {
    const auto took = r.event.find("compute_ns");
    const auto step = r.event.find("step");
    if (took == r.event.end() || step == r.event.end() || !took->is_number_integer())
      return;
    tracks_.kernels(key.section, "step " + step->dump(),
                    {r.header.sent_ns - took->get<std::int64_t>(), r.header.sent_ns});
    ++done_.slices;
  }

  void take_flow(std::size_t to, std::size_t from, const std::string& message) {
    const auto& keys = files_.keys();
    if (keys[to].begin_ns < keys[from].begin_ns) {
      ++done_.backward;
      return;
    }
    tracks_.flow(to + 1, keys[from], keys[to], message);
    ++done_.flows;
  }

  void count(const pool_ledger& pool) {
    for (const ledger_count& c : counts_of(pool)) {
      json blocks;
      for (std::size_t k = 0; k < block_conditions; ++k)
        blocks[to_string(static_cast<block_condition>(k))] = c.blocks[k];
      tracks_.counter(pool.section, "blocks of " + pool.formed.group.value, c.at_ns, blocks);
    }
  }

  const trace_files& files_;
  const trace_ledgers ledgers_;
  const cause_index causes_;
  track_writer tracks_;
  export_result done_;
};

} // namespace

export_result export_perfetto(const trace_files& files, std::ostream& out) {
  return perfetto_export(files, out).run();
}

export_result export_json(const trace_files& files, std::ostream& out) {
  export_result done;
  const auto order = order_records(files.keys(), cause_index(files.keys()));
  for (const std::uint32_t i : order.records) {
    const auto& section = files.sections()[files.keys()[i].section];
    out << "{\"node\":" << to_text(json(section.header.node.value)) << ','
        << files.line(i).substr(1) << '\n';
    ++done.slices;
  }
  return done;
}

} // namespace baton::actors
