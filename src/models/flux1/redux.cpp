#include "models/flux1/redux.h"

#include <numeric>

#include "core/error.h"
#include "core/text/values.h"
#include "models/flux1/prompts.h"
#include "ops/pointwise.h"
#include "ops/shape_ops.h"

namespace hearth::models::flux1 {
namespace {

std::vector<double> scales_of(const OptionValues& given, std::string_view name, size_t images) {
  const auto text = option_of<std::string>(given, name);
  if (!text) return std::vector<double>(images, 1);
  if (images == 0) fail<UsageError>("generate: {} without an image prompt, expected --redux and --reference", name);
  const std::vector<double> values = parse_numbers(*text);
  if (values.size() == 1) return std::vector<double>(images, values[0]);
  if (values.size() != images) fail<UsageError>("generate: {} has {} numbers, expected 1 or {}", name, values.size(), images);
  return values;
}

Tensor times(const Tensor& x, const std::vector<double>& scales) {
  const double sum = std::accumulate(scales.begin(), scales.end(), 0.0);
  return sum == 1 ? x : ops::linear_combination({x}, {float(sum)});
}

}  // namespace

ReduxScales redux_scales(const OptionValues& given, size_t images) {
  return {scales_of(given, redux_scale.name, images), scales_of(given, redux_pooled_scale.name, images)};
}

diffusion::EncodedPrompt with_image_prompt(const image_prompt::Redux& redux, const diffusion::Loaded& networks, const ImageTask& task,
                                           diffusion::EncodedPrompt prompt, Backend& host) {
  const ReduxScales scales = redux_scales(task.request.options, task.references.size());
  diffusion::Conditioning& given = prompt.conditions[0].entries[0].given;
  Tensor &text = given.tensors[std::string(text_states)], &pooled = given.tensors[std::string(pooled_text)];
  std::vector<Tensor> images;
  for (const Pixels& image : task.references) images.push_back(redux.rows(networks, image, host).to(text.backend()));
  const std::vector<float> weights(scales.rows.begin(), scales.rows.end());
  text = ops::concat({times(text, scales.rows), ops::linear_combination(images, weights)}, 1);
  pooled = times(pooled, scales.pooled);
  return prompt;
}

}  // namespace hearth::models::flux1
