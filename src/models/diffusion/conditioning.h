// The denoiser's conditionings, including prompts that change during a run and composed prompts.
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

// Conditioning of n images: tensors [n, …] by name ("context", "pooled"), and for tensors whose rows differ in length, how many entries
// of axis 1 are valid in each row.
struct Conditioning {
  std::map<std::string, Tensor, std::less<>> tensors;
  std::map<std::string, std::vector<int64_t>, std::less<>> lengths;

  const Tensor& operator[](std::string_view name) const;  // undefined if there is none
};
// Repeats [1, …] → [n, …], and concatenates [n, …], [m, …] → [n + m, …] of the same names.
Conditioning repeated(const Conditioning& one, int64_t n);
Conditioning concat(const Conditioning& a, const Conditioning& b);
// Whether two conditionings can share a batch: their shapes are equal except for the batch axis.
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
// The conditioning at a step.
const Conditioning& given_at(const EncodedCondition& condition, int64_t step);
// Copies to another backend.
EncodedPrompt moved(EncodedPrompt prompt, Backend& to);
// Zeros with the shapes of a prompt's first conditioning.
EncodedPrompt zeros_like(const EncodedPrompt& prompt);

// The network: x [n, H, W, C] under n conditionings, the first `negative` of them the negative prompt's, the last `perturbed` with the
// guidance's perturbation → its prediction, as x.
struct Portions {
  int64_t negative = 0, perturbed = 0;
};
using AskUnder = std::function<Tensor(const Tensor& x, const Conditioning& given, Portions portions)>;

// The network of the denoiser at step `step` (from 0): x, a batch for each branch → one prediction per branch. `negative` is required if it
// is a branch or the prompt is composed. The prediction under a composed prompt (Liu et al. 2022, arXiv 2206.01714) is
//   negative + Σ weightᵢ · (predictionᵢ − negative)
// so that a guidance scale s on it gives A1111's sum of differences times s·weightᵢ; it is f32.
Tensor predict_under_prompts(const AskUnder& ask, const Tensor& x, int64_t step, const sampling::Branches& branches,
                             const EncodedPrompt* negative, const EncodedPrompt& prompt);

}  // namespace hearth::models::diffusion
