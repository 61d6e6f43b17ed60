#include "models/z_image/control.h"

#include "core/error.h"
#include "models/diffusion/transformer_control.h"
#include "models/z_image/controlnet.h"
#include "models/z_image/prompts.h"
#include "ops/pointwise.h"
#include "ops/shape_ops.h"
#include "weights/completed.h"

namespace hearth::models::z_image {
namespace {

using diffusion::ControlCall, diffusion::ControlInput, diffusion::ControlOutput, diffusion::ControlSettings, diffusion::ControlSight,
    diffusion::TensorLists;

class TransformerControl final : public diffusion::ControlModel {
 public:
  TransformerControl(ControlNetConfig config, float scale, float shift, std::string where)
      : config_(std::move(config)), scale_(scale), shift_(shift), where_(std::move(where)) {}

  std::string class_name() const override { return "ZImageControlNetModel"; }
  std::shared_ptr<const void> build(const Scope& w) const override { return std::make_shared<ControlNet>(w, config_); }
  ControlSight sight() const override { return ControlSight::latents; }
  bool fills() const override { return config_.fills(); }

  void check(const ControlSettings& settings, const std::string& mode) const override {
    diffusion::refuse_guess(settings, where_);
    if (!mode.empty()) fail<UsageError>("{}: tells kinds of images apart by itself, expected no mode, not '{}'", where_, mode);
  }

  // A network that fills sees where a run keeps its image, and that part, beside the control image; zeros in a run that fills nothing.
  TensorLists prepare(const void* network, std::span<const ControlInput> images) const override {
    const ControlInput& input = images[0];
    Tensor seen = ops::scaled(input.latents, scale_, -shift_ * scale_);
    if (input.to_fill) {
      const int64_t B = input.to_fill.size(0);
      const Tensor mask = input.to_fill.slice(3, 0, 1), image = input.to_fill.slice(3, 1, input.to_fill.size(3));
      seen = ops::concat({ops::repeat_batch(seen, B / seen.size(0)), ops::scaled(mask, -1, 1), image}, 3);
    } else if (config_.fills()) {
      seen = ops::concat({seen, Tensor::zeros(seen.backend(), {seen.size(0), seen.size(1), seen.size(2), config_.channels - seen.size(3)})},
                         3);
    }
    return {{"hint", {net(network).hint(seen)}}};
  }

  ControlOutput operator()(const void* network, const TensorLists& prepared, const ControlSettings& settings,
                           const ControlCall& call) const override {
    const float time = time_of(call.timestep);
    const auto scale = float(settings.scale);
    ControlOutput out;
    for (auto& [layer, x] : net(network)(call.x, {&time, 1}, call.given[text_states], prepared.at("hint")[0], scale)) {
      const std::string name = std::to_string(layer);
      out.tensors.emplace(name, std::vector{x});
      out.factors.emplace(name, std::vector{scale});
    }
    return out;
  }

 private:
  static const ControlNet& net(const void* network) { return *static_cast<const ControlNet*>(network); }

  ControlNetConfig config_;
  float scale_, shift_;  // of the autoencoder
  std::string where_;
};

// Of the transformer's tensors, those that its control networks share.
bool shared(const std::string& name) {
  for (const char* prefix :
       {"t_embedder.", "all_x_embedder.", "cap_embedder.", "noise_refiner.", "context_refiner.", "x_pad_token", "cap_pad_token"})
    if (name.starts_with(prefix)) return true;
  return false;
}

}  // namespace

std::shared_ptr<const diffusion::ControlModel> control_for(GivenComponent& given, const std::shared_ptr<TensorSource>& denoiser,
                                                           const ZImageConfig& model) {
  ControlNetConfig config = given.config.empty() ? ControlNetConfig::of_tensors(*given.tensors, model.transformer)
                                                 : ControlNetConfig::from(given.own_config(), model.transformer);
  given.tensors = completed(given.tensors, denoiser, shared);
  return std::make_shared<TransformerControl>(std::move(config), model.vae.scaling_factor, model.vae.shift_factor,
                                              given.files.at(0).string());
}

AddedAfterLayers added_after_layers(const TensorLists& lists) {
  AddedAfterLayers all;
  for (const auto& [name, tensors] : lists) all.emplace(std::stoll(name), tensors[0]);
  return all;
}

}  // namespace hearth::models::z_image
