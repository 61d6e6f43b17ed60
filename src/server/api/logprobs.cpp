#include "server/api/logprobs.h"

#include "core/text/utf8.h"

namespace hearth::server {

Json logprob_json(const TokenBytes& token_bytes, const engine::TokenLogprob& row) {
  const auto entry = [&](int32_t token, float value) {
    const std::string bytes = token_bytes(token);
    Json numbers = Json::array();
    for (const char c : bytes) numbers.push_back(uint8_t(c));
    return Json{{"token", valid_utf8(bytes)}, {"logprob", value}, {"bytes", numbers}};
  };
  Json made = entry(row.token, row.logprob);
  made["top_logprobs"] = Json::array();
  for (const auto& [token, value] : row.top) made["top_logprobs"].push_back(entry(token, value));
  return made;
}

}  // namespace hearth::server
