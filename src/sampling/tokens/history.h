// The tokens so far, and how often each occurs among the last of them.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace hearth::sampling {

struct History {
  // Counts the last n tokens of prompt and completion; −1: all.
  explicit History(int64_t window = -1) : window_(window) {}

  void start(std::span<const int32_t> prompt);  // discards all earlier tokens
  void push(int32_t token);                     // one token of the completion

  int64_t answered() const { return int64_t(tokens.size()) - prompt_tokens; }

  std::vector<int32_t> tokens;  // prompt, then completion
  int64_t prompt_tokens = 0;
  std::unordered_map<int32_t, int64_t> count;         // in prompt and completion, among the last n
  std::unordered_map<int32_t, int64_t> answer_count;  // in the completion alone, among the last n

 private:
  void add(int32_t token, bool of_answer);

  int64_t window_;
};

}  // namespace hearth::sampling
