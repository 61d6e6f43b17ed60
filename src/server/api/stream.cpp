#include "server/api/stream.h"

#include <fmt/format.h>

#include <ctime>
#include <random>

#include "hearth/hearth.h"

namespace hearth::server {

std::string new_id(const char* prefix) {
  static constexpr std::string_view letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  std::random_device random;  // an id is all that a client needs to ask for a response again: nobody may guess it
  std::uniform_int_distribution<size_t> pick(0, letters.size() - 1);
  std::string id = prefix;
  for (int i = 0; i < 24; ++i) id += letters[pick(random)];
  return id;
}

int64_t unix_seconds() { return int64_t(std::time(nullptr)); }

Json usage_json(const engine::Usage& u, int64_t reasoning) {
  return {{"prompt_tokens", u.prompt},
          {"completion_tokens", u.completion},
          {"total_tokens", u.prompt + u.completion},
          {"prompt_tokens_details", {{"cached_tokens", u.cached}}},
          {"completion_tokens_details",
           {{"reasoning_tokens", reasoning},
            {"accepted_prediction_tokens", u.accepted},
            {"rejected_prediction_tokens", u.drafted - u.accepted}}}};
}

std::string fingerprint() { return fmt::format("hearth-{}", version()); }

}  // namespace hearth::server
