#include "protocol/rank_group_steps.hpp"

#include "protocol/assert.hpp"

#include <algorithm>
#include <limits>

namespace baton::protocol::rank_group {

namespace {

std::uint64_t ended_on_all(const body& data) {
  return *std::min_element(data.ended_steps.begin(), data.ended_steps.end());
}

/// Last step that names the sequence; 0 when it was never planned.
std::uint64_t last_step_of(const body& data, const sequence_id& sequence) {
  const auto it = data.work.last_step.find(sequence);
  return it == data.work.last_step.end() ? 0 : it->second;
}

/// A rank that is lost has no kernel left that could read.
bool is_lost(const body& data, std::size_t rank) {
  return data.ended_steps[rank] == std::numeric_limits<std::uint64_t>::max();
}

bool untouched(const body& data, const leaving& gone) {
  if (gone.last_step > ended_on_all(data))
    return false;
  for (std::size_t rank = 0; rank < gone.digested.size(); ++rank)
    if (!gone.digested[rank] && !is_lost(data, rank))
      return false;
  return true;
}

/// The digest of a sequence that was cancelled meanwhile: only the end of its reading counts.
void note_digest(body& data, const kv_digested& e, effects_list& effects) {
  const auto gone = data.work.leaving_ones.find(e.sequence);
  if (gone == data.work.leaving_ones.end() || gone->second.digested.empty())
    return;
  BATON_ASSERT(e.rank.value < gone->second.digested.size());
  gone->second.digested[e.rank.value] = true;
  report_settled(data, effects);
}

void finish(body& data, decode_job job, token_emitted last, effects_list& effects) {
  const sequence_id sequence = job.asked.sequence;
  const auto prompt = static_cast<std::uint32_t>(job.asked.prompt.ids.size());
  sequence_finished finished{sequence, last.finish, {}, job.emitted};
  if (job.asked.record_kv_digest) { // the last token's own KV was never computed
    data.digests[sequence] = {std::move(last), std::move(finished), prompt + job.emitted - 1,
                              {}};
    return;
  }
  data.work.leaving_ones[sequence] = {last_step_of(data, sequence), leaver::decoded};
  effects.push_back(std::move(last));
  effects.push_back(std::move(finished));
}

finish_reason finish_of(const decode_job& job, const slice_output& result) {
  if (result.is_eos && !job.asked.ignore_eos)
    return finish_reason::stop;
  return job.emitted >= job.asked.output_tokens ? finish_reason::length : finish_reason::none;
}

void ask_digests(body& data, effects_list& effects) {
  for (auto& [sequence, digest] : data.digests) {
    if (!digest.heard.empty() || last_step_of(data, sequence) > ended_on_all(data))
      continue;
    digest.heard.assign(data.formed.ranks, false);
    effects.push_back(digest_kv{sequence, digest.tokens});
  }
}

} // namespace

void enter(body& data, const submit_prefill& e, effects_list& effects) {
  effects.push_back(
    begin_sequence{e.sequence, e.attempt, e.prompt, e.blocks, {}, false, e.in_place});
  data.work.prefills.push_back({e, 0});
}

void enter(body& data, const activate_sequence& e, effects_list& effects) {
  BATON_ASSERT(data.work.decodes.count(e.sequence) == 0);
  effects.push_back(begin_sequence{e.sequence, e.attempt, e.prompt, e.blocks, e.sampling,
                                   e.record_logits, false});
  data.work.decodes.emplace(e.sequence, decode_job{e, 0, {}});
}

void leave(body& data, const sequence_id& sequence, effects_list& effects) {
  auto& work = data.work;
  const auto waits = [&](const prefill_job& job) { return job.asked.sequence == sequence; };
  const auto it = std::find_if(work.prefills.begin(), work.prefills.end(), waits);
  const bool was_here = it != work.prefills.end() || work.decodes.count(sequence) > 0
                        || data.digests.count(sequence) > 0;
  if (!was_here)
    return; // it has left already: its quiescence is said or on the way
  const leaver what = it != work.prefills.end() ? leaver::cancelled_prompt : leaver::decoded;
  if (it != work.prefills.end())
    work.prefills.erase(it);
  work.decodes.erase(sequence);
  leaving gone{last_step_of(data, sequence), what};
  if (const auto digest = data.digests.find(sequence); digest != data.digests.end()) {
    gone.digested = digest->second.heard; // a digest reads the blocks until its rank has answered
    data.digests.erase(digest);
  }
  work.leaving_ones[sequence] = std::move(gone);
  report_settled(data, effects);
}

void plan_next(body& data, effects_list& effects) {
  if (data.ended_steps[0] < data.issued_step)
    return; // the leader's device is still at work
  auto slices = plan_step(data.work, data.issued_step + 1, data.formed.prefill_chunk_tokens);
  if (slices.empty())
    return;
  ++data.issued_step;
  effects.push_back(run_step{data.epoch, {data.issued_step}, std::move(slices)});
}

void step_ended(body& data, rank_id rank, step_number step) {
  BATON_ASSERT(rank.value < data.ended_steps.size());
  BATON_ASSERT(step.value <= data.issued_step);
  auto& ended = data.ended_steps[rank.value];
  ended = std::max(ended, step.value);
}

void take_results(body& data, const step_completed& e, effects_list& effects) {
  for (const auto& result : e.results) {
    const auto it = data.work.decodes.find(result.sequence);
    if (!result.sampled || it == data.work.decodes.end())
      continue; // a prompt chunk, or cancelled since the plan was issued
    decode_job& job = it->second;
    job.last_token = result.token;
    const std::uint32_t index = job.emitted++;
    token_emitted token{job.asked.attempt, index,         result.token,
                        finish_of(job, result), result.logits, 0};
    if (token.finish == finish_reason::none) {
      effects.push_back(std::move(token));
      continue;
    }
    decode_job finished = std::move(job);
    data.work.decodes.erase(it);
    finish(data, std::move(finished), std::move(token), effects);
  }
}

void report_settled(body& data, effects_list& effects) {
  auto& leaving_ones = data.work.leaving_ones;
  for (auto it = leaving_ones.begin(); it != leaving_ones.end();) {
    if (!untouched(data, it->second)) {
      ++it;
      continue;
    }
    if (it->second.what == leaver::computed_prompt)
      effects.push_back(prefill_computed{it->first});
    // The ranks still answer feeds about a prompt: its source hold ends it there.
    if (it->second.what == leaver::decoded)
      effects.push_back(end_sequence{it->first});
    effects.push_back(sequence_quiesced{it->first});
    data.work.last_step.erase(it->first);
    it = leaving_ones.erase(it);
  }
  ask_digests(data, effects);
}

void take_digest(body& data, const kv_digested& e, effects_list& effects) {
  const auto it = data.digests.find(e.sequence);
  if (it == data.digests.end())
    return note_digest(data, e, effects);
  auto& digest = it->second;
  BATON_ASSERT(e.rank.value < digest.heard.size());
  if (digest.heard[e.rank.value])
    return; // said twice
  digest.heard[e.rank.value] = true;
  digest.last.kv_digest ^= e.digest;
  if (std::find(digest.heard.begin(), digest.heard.end(), false) != digest.heard.end())
    return;
  data.work.leaving_ones[e.sequence] = {last_step_of(data, e.sequence), leaver::decoded};
  effects.push_back(std::move(digest.last));
  effects.push_back(std::move(digest.finished));
  data.digests.erase(it);
  report_settled(data, effects);
}

void fail_all(body& data, const failure& why, effects_list& effects) {
  std::vector<sequence_id> all;
  for (const auto& job : data.work.prefills)
    all.push_back(job.asked.sequence);
  for (const auto& [sequence, job] : data.work.decodes)
    all.push_back(sequence);
  for (const auto& [sequence, digest] : data.digests)
    all.push_back(sequence);
  for (auto& [sequence, gone] : data.work.leaving_ones)
    if (gone.what == leaver::computed_prompt && gone.last_step > ended_on_all(data)) {
      gone.what = leaver::cancelled_prompt; // planned, but now it will not be computed
      effects.push_back(sequence_finished{sequence, finish_reason::none, why, 0});
    }
  for (const auto& sequence : all) {
    effects.push_back(sequence_finished{sequence, finish_reason::none, why, 0});
    leave(data, sequence, effects);
  }
}

} // namespace baton::protocol::rank_group
