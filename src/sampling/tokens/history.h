// The tokens so far, and how often each one occurs among the last of them.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace hearth::sampling {

struct History {
  // The last n tokens of prompt and answer are counted; −1: all of them.
  explicit History(int64_t window = -1) : window_(window) {}

  void start(std::span<const int32_t> prompt);  // forgets everything before
  void push(int32_t token);                     // one token of the answer

  int64_t answered() const { return int64_t(tokens.size()) - prompt_tokens; }

  std::vector<int32_t> tokens;  // prompt, then answer
  int64_t prompt_tokens = 0;
  std::unordered_map<int32_t, int64_t> count;         // of prompt and answer, inside the window
  std::unordered_map<int32_t, int64_t> answer_count;  // of the answer alone, inside the window

 private:
  void add(int32_t token, bool of_answer);

  int64_t window_;
};

}  // namespace hearth::sampling
