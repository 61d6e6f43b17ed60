// Prompts that change while an image is drawn, as A1111 writes them (stable-diffusion-webui 1.10).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::text {

struct ScheduledText {
  int64_t end = 0;  // the last step at which it is used, counted as schedule_entry() counts
  std::string text;

  bool operator==(const ScheduledText&) const = default;
};

// What the prompt is, step by step, for a run of `steps`:
//   [from:to:when]   `from` up to step `when`, then `to`; `when` with a point is a part of the run (0.4), otherwise a step
//   [to:when]        nothing, then `to`            [from::when]   `from`, then nothing
//   [a|b|c]          a, b, c, a … one step each; any of them may be empty
// They may stand inside of each other and of ( ) and [ ], which stay as they are. A bracket that does not form one of these is text, and
// so is what it holds; where that leaves a '|', or a backslash before a line break or the end, the whole prompt is taken as it stands.
// `when` acts as A1111 has it: numbers beyond the run are its end, below 1 there is no `from`. In a second pass (`before`: the first one's
// steps, 0 where there is none) steps are counted on from the first one's, and parts from 1 to 2: an edit of the first pass is over.
// One entry at least, ends ascending, the last of them `steps`. Time is O(entries · length), whatever the brackets' depth.
std::vector<ScheduledText> prompt_schedule(std::string_view prompt, int64_t steps, int64_t before = 0);

// The entry of step `step`, counted from 0: the first whose end is at least `step`. So [a:b:10] draws steps 0 … 10 from a: eleven of
// them, and [a|b] begins with a twice. This is A1111's count, and images depend on it.
template <class Entry> size_t schedule_entry(const std::vector<Entry>& schedule, int64_t step) {
  for (size_t i = 0; i < schedule.size(); ++i)
    if (step <= schedule[i].end) return i;
  return schedule.size() - 1;
}

// "a AND b:0.7": prompts that act together, each with a weight of its own, 1 where none is given.
struct WeightedPrompt {
  std::string text;
  double weight = 1;

  bool operator==(const WeightedPrompt&) const = default;
};

// Cuts at AND as a word of its own. A number behind the last colon of each part is its weight, also where the prompt has but one part;
// white space at the end is left out. Never empty. UsageError for a weight that f32 cannot hold.
std::vector<WeightedPrompt> split_at_and(std::string_view prompt);

}  // namespace hearth::text
