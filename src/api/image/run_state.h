// Converts stopped runs between the public RunState and the models' ResumePoint.
#pragma once

#include "api/image/loaded_model.h"

namespace hearth::api {

RunState to_run_state(const models::ResumePoint& state, const Run& run);

// UsageError if the state belongs to a run other than `request` (resolved: `resolved`), or is invalid.
std::shared_ptr<const models::ResumePoint> from_run_state(const RunState& state, const Request& request,
                                                          const models::ResolvedImage& resolved, uint64_t seed, Backend& device);

// The seed of the state's run.
uint64_t seed_of(const RunState& state);

}  // namespace hearth::api
