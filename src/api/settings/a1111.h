// A request in A1111's words: the text that its web UI and most tools read (media/parameters.h).
#pragma once

#include <string>

#include "hearth/hearth.h"
#include "media/parameters.h"

namespace hearth::api {

struct RecipeFacts;

// With A1111's names of samplers and schedules, in its order. `told`: what was used.
Parameters to_parameters(const RecipeFacts& facts, const Request& told);

// Values as A1111 writes them; "" where it does not.
std::string a1111_sampler(const Request& told);
std::string a1111_schedule(const Request& told);
std::string a1111_emphasis(const Request& told);
std::string a1111_rng(const Request& told);

}  // namespace hearth::api
