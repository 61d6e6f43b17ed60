// A request as A1111's generation parameters, the text that its web UI and most tools read (media/metadata/parameters.h).
#pragma once

#include <string>

#include "hearth/hearth.h"
#include "media/metadata/parameters.h"

namespace hearth::api {

struct RecipeFacts;

// With A1111's names of samplers and schedules, in its order. `used`: the settings that the run used.
Parameters to_parameters(const RecipeFacts& facts, const Request& used);

// Values as A1111 writes them; "": left out.
std::string a1111_sampler(const Request& used);
std::string a1111_schedule(const Request& used);
std::string a1111_emphasis(const Request& used);
std::string a1111_inpaint_fill(const Request& used);
std::string a1111_rng(const Request& used);

}  // namespace hearth::api
