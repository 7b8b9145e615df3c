#include "gpu/bpe.hpp"

#include "gpu/tokenizer_utf8.hpp"

#include <queue>

namespace baton::gpu {

namespace {

std::uint64_t pair_key(std::int32_t left, std::int32_t right) {
  return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
}

protocol::failure malformed(std::string text) {
  return {protocol::reason::bad_input, std::move(text)};
}

} // namespace

protocol::outcome<bpe> bpe::build(bpe_vocabulary vocabulary,
                                  const std::vector<std::pair<std::string, std::string>>& merges,
                                  bpe_settings settings) {
  bpe made;
  made.settings_ = settings;
  made.vocabulary_ = std::move(vocabulary);
  const auto& known = made.vocabulary_;
  made.merges_.reserve(merges.size());
  std::uint32_t rank = 0;
  for (const auto& [left, right] : merges) {
    const auto l = known.find(left);
    const auto r = known.find(right);
    const auto joined = known.find(left + right);
    if (l == known.end() || r == known.end() || joined == known.end())
      return malformed("model.merges[" + std::to_string(rank)
                       + "]: a part or the result is not in model.vocab");
    made.merges_.emplace(pair_key(l->second, r->second), merge{rank, joined->second});
    ++rank;
  }
  const bool bytes = settings.alphabet == bpe_alphabet::bytes;
  for (unsigned b = 0; b < 256; ++b) {
    const auto byte = static_cast<std::uint8_t>(b);
    const auto found = known.find(bytes ? byte_symbol(byte) : fallback_symbol(byte));
    if (bytes && found == known.end())
      return malformed("model.vocab: no token for byte " + std::to_string(b));
    made.byte_ids_[b] = found == known.end() ? -1 : found->second;
  }
  return made;
}

void bpe::encode_word(std::string_view word, std::vector<std::int32_t>& ids) const {
  if (word.empty() || (settings_.ignore_merges && append_whole(word, ids)))
    return;
  auto symbols = split(word);
  join(symbols);
  for (const auto& s : symbols)
    if (s.id >= 0)
      ids.push_back(s.id);
}

bool bpe::append_whole(std::string_view word, std::vector<std::int32_t>& ids) const {
  std::string spelled;
  if (settings_.alphabet == bpe_alphabet::bytes)
    for (const char c : word)
      spelled += byte_symbol(static_cast<std::uint8_t>(c));
  else
    spelled = word;
  const auto found = vocabulary_.find(spelled);
  if (found == vocabulary_.end())
    return false;
  ids.push_back(found->second);
  return true;
}

std::vector<bpe::symbol> bpe::split(std::string_view word) const {
  std::vector<symbol> symbols;
  symbols.reserve(word.size());
  if (settings_.alphabet == bpe_alphabet::bytes) {
    for (const char c : word)
      symbols.push_back({byte_ids_[static_cast<std::uint8_t>(c)], -1, -1});
  } else {
    while (!word.empty()) {
      const auto character = word.substr(0, first_utf8(word).bytes);
      append_character(character, symbols);
      word.remove_prefix(character.size());
    }
  }
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    symbols[i].left = static_cast<std::int32_t>(i) - 1;
    symbols[i].right = i + 1 < symbols.size() ? static_cast<std::int32_t>(i) + 1 : -1;
  }
  return symbols;
}

void bpe::append_character(std::string_view character, std::vector<symbol>& symbols) const {
  const auto found = vocabulary_.find(std::string(character));
  if (found != vocabulary_.end()) {
    symbols.push_back({found->second, -1, -1});
    return;
  }
  bool spellable = settings_.byte_fallback;
  for (const char c : character)
    spellable = spellable && byte_ids_[static_cast<std::uint8_t>(c)] >= 0;
  if (spellable) {
    for (const char c : character)
      symbols.push_back({byte_ids_[static_cast<std::uint8_t>(c)], -1, -1});
    return;
  }
  if (!settings_.unknown)
    return;
  const bool fused = settings_.fuse_unknown && !symbols.empty()
                     && symbols.back().id == *settings_.unknown;
  if (!fused)
    symbols.push_back({*settings_.unknown, -1, -1});
}

/// The merge of the symbol at `at` with its right neighbour, if there is one.
const bpe::merge* bpe::find_merge(const std::vector<symbol>& symbols, std::int32_t at) const {
  if (at < 0 || symbols[at].id < 0 || symbols[at].right < 0)
    return nullptr;
  const auto found = merges_.find(pair_key(symbols[at].id, symbols[symbols[at].right].id));
  return found == merges_.end() ? nullptr : &found->second;
}

void bpe::join(std::vector<symbol>& symbols) const {
  std::vector<candidate> first;
  first.reserve(symbols.size());
  for (std::int32_t at = 0; at < static_cast<std::int32_t>(symbols.size()); ++at)
    if (const auto* possible = find_merge(symbols, at))
      first.push_back({*possible, at});
  std::priority_queue<candidate> queue(std::less<candidate>(), std::move(first));
  const auto note = [&](std::int32_t at) {
    if (const auto* possible = find_merge(symbols, at))
      queue.push({*possible, at});
  };
  while (!queue.empty()) {
    const auto next = queue.top();
    queue.pop();
    // Neighbours may have changed since; like the reference, what counts is the merge's result.
    const auto* possible = find_merge(symbols, next.at);
    if (!possible || possible->result != next.what.result)
      continue;
    auto& left = symbols[next.at];
    auto& right = symbols[left.right];
    left.id = next.what.result;
    right.id = -1;
    left.right = right.right;
    if (left.right >= 0)
      symbols[left.right].left = next.at;
    note(left.left);
    note(next.at);
  }
}

} // namespace baton::gpu
