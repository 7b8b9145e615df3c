// The bench of computing: tokens a second of one rank of a real model, without a cluster around it.
#pragma once

#include <cstdint>
#include <string>

namespace baton::actors::bench {

/// As llama-bench counts: `pp`, one prompt of 512 tokens in one plan; `tg`, 128 tokens one after
/// the other behind it, greedy. Prints a line for each; both compare with a memcpy of all weights
/// once a token, as many threads. A shorter prompt where the model has fewer positions. Ends the
/// process with the reason when the folder holds no such model.
int engine(const std::string& model_folder, std::uint32_t threads, std::uint32_t rounds);

} // namespace baton::actors::bench
