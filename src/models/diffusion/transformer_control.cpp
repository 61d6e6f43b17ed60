#include "models/diffusion/transformer_control.h"

#include "core/error.h"
#include "ops/pointwise.h"
#include "ops/shape_ops.h"

namespace hearth::models::diffusion {

void refuse_guess(const ControlSettings& settings, const std::string& where) {
  if (settings.guess) fail<UsageError>("{}: guess mode is for ControlNets of a UNet, expected guess=off", where);
}

Tensor with_kept(const Tensor& x, const Tensor& mask) {
  const Tensor kept = ops::scaled(mask, -1, 1);
  return ops::concat({x, x.size(0) == 1 ? kept : ops::repeat_batch(kept, x.size(0))}, 3);
}

ControlOutput output_of_blocks(std::vector<Tensor> blocks, double scale) {
  const std::string name = fmt::format("{} blocks", blocks.size());
  ControlOutput out;
  out.factors.emplace(name, std::vector<float>(blocks.size(), float(scale)));
  out.tensors.emplace(name, std::move(blocks));
  return out;
}

std::vector<std::vector<Tensor>> lists_of_blocks(const TensorLists& lists) {
  std::vector<std::vector<Tensor>> all;
  for (const auto& [name, tensors] : lists) all.push_back(tensors);
  return all;
}

}  // namespace hearth::models::diffusion
