// Names of samplers, schedules, guidance methods and files, as typed. UsageError with what was probably meant.
#pragma once

#include <string>
#include <vector>

#include "hearth/hearth.h"

namespace hearth::api {

void check_sampler(const std::string& name);  // alone, or followed by the name of a schedule
void check_schedule(const std::string& name);
void check_guidance(const std::string& name);

// "[NAME=]FILE".
Embedding read_embedding(const std::string& text);

std::vector<std::string> names_of(const std::vector<Named>& table);

}  // namespace hearth::api
