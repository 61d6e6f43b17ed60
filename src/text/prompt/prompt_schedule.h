// Prompts that change during sampling, in A1111's syntax (stable-diffusion-webui 1.10).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::text {

struct ScheduledText {
  int64_t end = 0;  // the last step at which it is used, counted as in schedule_entry()
  std::string text;

  bool operator==(const ScheduledText&) const = default;
};

// The prompt at each step of a run of `steps`:
//   [from:to:when]   `from` up to step `when`, then `to`; `when` with a decimal point is a fraction of the run (0.4), otherwise a step
//   [to:when]        nothing, then `to`            [from::when]   `from`, then nothing
//   [a|b|c]          a, b, c, a … one step each; any of them may be empty
// They can be nested in each other and in ( ) and [ ], which stay unchanged. A bracket that forms none of these is text, and so are its
// contents; if a '|' remains, or a backslash before a line break or the end, the whole prompt is used unchanged. As in A1111, a `when`
// beyond the run means its end, and below 1 `from` is never used. In a second pass (`before`: the steps of the first one, 0 if there is
// none) step numbers continue from the first pass, and fractions go from 1 to 2, so that the edits of the first pass are over. Returns at
// least one entry, with ascending ends, the last of which is `steps`. Time is O(entries · length) for any nesting depth.
std::vector<ScheduledText> prompt_schedule(std::string_view prompt, int64_t steps, int64_t before = 0);

// The entry of step `step`, counted from 0: the first whose end is at least `step`. [a:b:10] therefore uses a for the eleven steps 0 … 10,
// and [a|b] starts with a twice. This is A1111's count, and images depend on it.
template <class Entry> size_t schedule_entry(const std::vector<Entry>& schedule, int64_t step) {
  for (size_t i = 0; i < schedule.size(); ++i)
    if (step <= schedule[i].end) return i;
  return schedule.size() - 1;
}

// "a AND b:0.7": prompts that are combined, each with a weight, 1 by default.
struct WeightedPrompt {
  std::string text;
  double weight = 1;

  bool operator==(const WeightedPrompt&) const = default;
};

// Splits at the word AND. A number after the last colon of each part is its weight, even if the prompt has only one part; white space at
// the end is removed. Never empty. UsageError for a weight that f32 cannot represent.
std::vector<WeightedPrompt> split_at_and(std::string_view prompt);

}  // namespace hearth::text
