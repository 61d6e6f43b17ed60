// Stopped runs between the public RunState and the pipeline's.
#pragma once

#include "api/image/loaded_model.h"

namespace hearth::api {

RunState to_run_state(const models::ResumePoint& state, const Run& run);

// UsageError where the state is that of another run than `request` asks for (`resolved`), or not a state at all.
std::shared_ptr<const models::ResumePoint> from_run_state(const RunState& state, const Request& request,
                                                          const models::ResolvedImage& resolved, uint64_t seed, Backend& device);

// The seed that the state's run was drawn from.
uint64_t seed_of(const RunState& state);

}  // namespace hearth::api
