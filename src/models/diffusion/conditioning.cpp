#include "models/diffusion/conditioning.h"

#include <algorithm>

#include "core/error.h"
#include "ops/pointwise.h"
#include "ops/shape_ops.h"
#include "text/prompt/prompt_schedule.h"

namespace hearth::models::diffusion {
namespace {

Tensor times(const Tensor& t, int64_t n) { return n == 1 || !t ? t : ops::repeat_batch(t, n); }

}  // namespace

const Tensor& Conditioning::operator[](std::string_view name) const {
  static const Tensor none;
  const auto found = tensors.find(name);
  return found == tensors.end() ? none : found->second;
}

Conditioning repeated(const Conditioning& one, int64_t n) {
  Conditioning all;
  for (const auto& [name, x] : one.tensors) all.tensors[name] = times(x, n);
  for (const auto& [name, length] : one.lengths) all.lengths[name].assign(size_t(n), length.at(0));
  return all;
}

Conditioning concat(const Conditioning& a, const Conditioning& b) {
  Conditioning both;
  for (const auto& [name, x] : a.tensors) both.tensors[name] = ops::concat({x, b[name]}, 0);
  for (const auto& [name, lengths] : a.lengths) {
    std::vector<int64_t>& all = both.lengths[name] = lengths;
    const std::vector<int64_t>& others = b.lengths.find(name)->second;
    all.insert(all.end(), others.begin(), others.end());
  }
  return both;
}

bool batchable(const Conditioning& a, const Conditioning& b) {
  return std::ranges::equal(a.tensors, b.tensors, [](const auto& x, const auto& y) {
    return x.first == y.first && std::ranges::equal(std::span(x.second.shape()).subspan(1), std::span(y.second.shape()).subspan(1));
  });
}

const Conditioning& given_at(const EncodedCondition& condition, int64_t step) {
  return condition.entries[text::schedule_entry(condition.entries, step)].given;
}

EncodedPrompt moved(EncodedPrompt prompt, Backend& to) {
  for (EncodedCondition& condition : prompt.conditions)
    for (EncodedEntry& entry : condition.entries)
      for (auto& [name, x] : entry.given.tensors)
        if (x) x = x.to(to);
  return prompt;
}

EncodedPrompt zeros_like(const EncodedPrompt& prompt) {
  EncodedEntry zeros = prompt.conditions[0].entries[0];
  for (auto& [name, x] : zeros.given.tensors) x = Tensor::zeros(x.backend(), x.shape());
  return {.conditions = {{.entries = {std::move(zeros)}}}};
}

Tensor predict_under_prompts(const AskUnder& ask, const Tensor& x, int64_t step, const sampling::Branches& branches,
                             const EncodedPrompt* negative, const EncodedPrompt& prompt) {
  const int64_t B = x.size(0) / branches.count(), perturbed = branches.perturbed ? B : 0;
  const Tensor one = x.slice(0, 0, B);
  // Under one conditioning, without and, if requested, with the perturbation.
  const auto under = [&](const Conditioning& given) {
    return ask(times(one, branches.perturbed ? 2 : 1), repeated(given, B + perturbed), {.perturbed = perturbed});
  };
  const Conditioning& first = given_at(prompt.conditions[0], step);
  if (!prompt.composed() && !branches.negative) return under(first);
  const Conditioning& without = given_at(negative->conditions[0], step);
  if (!prompt.composed()) {
    if (batchable(without, first)) return ask(x, concat(repeated(without, B), repeated(first, B + perturbed)), {B, perturbed});
    return ops::concat({ask(one, repeated(without, B), {.negative = B}), under(first)}, 0);
  }
  const Tensor base = ops::cast(ask(one, repeated(without, B), {.negative = B}), DType::f32);
  std::vector<Tensor> answers = {times(base, branches.perturbed ? 2 : 1)};
  std::vector<float> factors = {1};
  for (const EncodedCondition& c : prompt.conditions) {
    answers.push_back(ops::cast(under(given_at(c, step)), DType::f32));
    factors.push_back(float(c.weight));
    factors[0] -= float(c.weight);
  }
  const Tensor composed = ops::linear_combination(answers, factors);
  return branches.negative ? ops::concat({base, composed}, 0) : composed;
}

}  // namespace hearth::models::diffusion
