#include "sampling/tokens/history.h"

namespace hearth::sampling {
namespace {

void decrease(std::unordered_map<int32_t, int64_t>& count, int32_t token) {
  const auto at = count.find(token);
  if (--at->second == 0) count.erase(at);
}

}  // namespace

void History::start(std::span<const int32_t> prompt) {
  tokens.clear();
  count.clear();
  answer_count.clear();
  for (const int32_t token : prompt) add(token, false);
  prompt_tokens = int64_t(prompt.size());
}

void History::push(int32_t token) { add(token, true); }

void History::add(int32_t token, bool of_answer) {
  tokens.push_back(token);
  ++count[token];
  if (of_answer) ++answer_count[token];
  const int64_t leaves = int64_t(tokens.size()) - 1 - window_;
  if (window_ < 0 || leaves < 0) return;
  decrease(count, tokens[leaves]);
  if (of_answer && leaves >= prompt_tokens) decrease(answer_count, tokens[leaves]);
}

}  // namespace hearth::sampling
