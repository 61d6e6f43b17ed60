// What a denoiser is asked under: conditionings, and prompts that change during a run and are composed of several.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/tensor.h"
#include "sampling/guidance/guidance.h"

namespace hearth::models::diffusion {

// What n images are denoised under: tensors [n, …] by name ("context", "pooled"), and of those whose rows differ in length how much of
// axis 1 counts in each row.
struct Conditioning {
  std::map<std::string, Tensor, std::less<>> tensors;
  std::map<std::string, std::vector<int64_t>, std::less<>> lengths;

  const Tensor& operator[](std::string_view name) const;  // undefined where there is none
};
// [1, …] → [n, …], and [n, …], [m, …] → [n + m, …] of the same names.
Conditioning repeated(const Conditioning& one, int64_t n);
Conditioning concat(const Conditioning& a, const Conditioning& b);
// Whether two conditionings can go through the network in one batch: their shapes are equal but for the batch axis.
bool batchable(const Conditioning& a, const Conditioning& b);

struct EncodedEntry {
  int64_t end = 0;  // as text::ScheduledText::end
  Conditioning given;
};
struct EncodedCondition {
  double weight = 1;
  std::vector<EncodedEntry> entries;
};
struct EncodedPrompt {
  std::vector<EncodedCondition> conditions;
  bool composed() const { return conditions.size() > 1 || conditions[0].weight != 1; }
};
// The conditioning that holds at a step.
const Conditioning& given_at(const EncodedCondition& condition, int64_t step);
// On another backend.
EncodedPrompt moved(EncodedPrompt prompt, Backend& to);
// Zeros of the shapes of a prompt's first conditioning.
EncodedPrompt zeros_like(const EncodedPrompt& prompt);

// The network: x [n, H, W, C] under n conditionings, the last `disturbed` of them with the guidance's disturbance → its answer, as x.
using AskUnder = std::function<Tensor(const Tensor& x, const Conditioning& given, int64_t disturbed)>;

// What the denoiser asks for at step `step` (from 0): x, a batch for each branch → as many answers. `negative` must be there where it is
// a branch or the prompt is composed. A composed prompt's answer (Liu et al. 2022, arXiv 2206.01714) is
//   negative + Σ weightᵢ · (answerᵢ − negative)
// so that guidance by s on it is A1111's sum of differences times s·weightᵢ; it is f32.
Tensor ask_under_prompts(const AskUnder& ask, const Tensor& x, int64_t step, const sampling::Branches& branches,
                         const EncodedPrompt* negative, const EncodedPrompt& prompt);

}  // namespace hearth::models::diffusion
