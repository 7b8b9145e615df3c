// What tracing costs: the same requests through two clusters that differ in `trace` alone.
#pragma once

#include <cstdint>
#include <string>

namespace baton::actors::bench {

/// Requests a second of five processes with every message recorded, against the same without. 64
/// prompt and 32 output tokens each, 16 open at once; `model_folder` "" is the synthetic executor,
/// which computes nothing, so that recording is as large a share as it can be.
int recording(const std::string& model_folder, std::uint32_t requests, std::uint32_t rounds);

} // namespace baton::actors::bench
