#include "sampling/guidance/denoiser.h"

#include <memory>

#include "core/error.h"
#include "ops/shape_ops.h"
#include "sampling/steps/vectors.h"

namespace hearth::sampling {
namespace {

Denoiser denoiser(GuidedNetwork network, Parameterization prediction, Guidance guidance, Unconditional unconditional,
                  std::shared_ptr<GuidanceMemory> memory) {
  return [=, network = std::move(network), g = resolve(std::move(guidance))](const Tensor& x, const Level& level) -> Estimate {
    const Branches asked = branches(g, level, *memory, unconditional);
    Tensor input = network_input(x, level, prediction);
    if (asked.count() > 1) input = ops::repeat_batch(input, asked.count());
    const Tensor output = ops::cast(network(input, network_time(level, prediction), asked), DType::f32);
    if (output.shape() != input.shape())
      fail<ShapeError>("denoiser: the network returned shape {} for an input of shape {}", output.shape(), input.shape());
    const int64_t B = x.size(0), prompt = asked.negative ? B : 0;
    const Predictions predictions{.negative = asked.negative ? output.slice(0, 0, B) : Tensor(),
                                  .prompt = output.slice(0, prompt, prompt + B),
                                  .perturbed = asked.perturbed ? output.slice(0, prompt + B, prompt + 2 * B) : Tensor(),
                                  .imageless = asked.imageless ? output.slice(0, input.size(0) - B, input.size(0)) : Tensor()};
    const Tensor x0 = guided_x0(g, x, predictions, level, prediction, *memory);
    return {x0, unconditional == Unconditional::needed ? x0_of(x, predictions.negative, level, prediction) : Tensor()};
  };
}

}  // namespace

Denoiser make_denoiser(GuidedNetwork network, Parameterization prediction, const Guidance& guidance, Unconditional unconditional,
                       GuidanceMemory& memory) {
  return denoiser(std::move(network), prediction, guidance, unconditional, std::shared_ptr<GuidanceMemory>(&memory, [](auto*) {}));
}

Denoiser make_denoiser(Network network, Parameterization prediction, double scale, Unconditional unconditional) {
  GuidedNetwork both = [network = std::move(network)](const Tensor& x, float timestep, const Branches&) { return network(x, timestep); };
  return denoiser(std::move(both), prediction, {.scale = scale}, unconditional, std::make_shared<GuidanceMemory>());
}

}  // namespace hearth::sampling
