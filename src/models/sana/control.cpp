#include "models/sana/control.h"

#include "core/error.h"
#include "models/diffusion/transformer_control.h"
#include "models/sana/controlnet.h"
#include "models/sana/prompts.h"
#include "ops/pointwise.h"

namespace hearth::models::sana {
namespace {

using diffusion::ControlCall, diffusion::ControlInput, diffusion::ControlOutput, diffusion::ControlSettings, diffusion::ControlSight,
    diffusion::TensorLists;

class TransformerControl final : public diffusion::ControlModel {
 public:
  TransformerControl(TransformerConfig config, float latent_scale, float timestep_scale, std::string where)
      : config_(std::move(config)), latent_scale_(latent_scale), timestep_scale_(timestep_scale), where_(std::move(where)) {}

  std::string class_name() const override { return "SanaControlNetModel"; }
  std::shared_ptr<const void> build(const Scope& w) const override { return std::make_shared<ControlNet>(w, config_); }
  ControlSight sight() const override { return ControlSight::latents; }

  void check(const ControlSettings& settings, const std::string& mode) const override {
    diffusion::refuse_guess(settings, where_);
    if (!mode.empty()) fail<UsageError>("{}: is for one kind of images, expected no mode, not '{}'", where_, mode);
  }

  TensorLists prepare(const void* network, std::span<const ControlInput> images) const override {
    return {{"hint", {net(network).hint(ops::scaled(images[0].latents, latent_scale_, 0))}}};
  }

  ControlOutput operator()(const void* network, const TensorLists& prepared, const ControlSettings& settings,
                           const ControlCall& call) const override {
    const float time = call.timestep * timestep_scale_;
    std::vector<Tensor> made = net(network)(call.x, {&time, 1}, call.given[text_states], call.given.lengths.find(text_states)->second,
                                            prepared.at("hint")[0], bool(call.given[limited_mark]));
    return diffusion::output_of_blocks(std::move(made), settings.scale);
  }

 private:
  static const ControlNet& net(const void* network) { return *static_cast<const ControlNet*>(network); }

  TransformerConfig config_;
  float latent_scale_, timestep_scale_;
  std::string where_;
};

}  // namespace

std::shared_ptr<const diffusion::ControlModel> control_for(const GivenComponent& given, const SanaConfig& model) {
  const std::string where = given.files.at(0).string();
  if (model.sprint) fail<UnsupportedError>("{}: control networks are for SANA, expected a model that is not SANA-Sprint", where);
  const TransformerConfig config =
      given.config.empty() ? control_of_tensors(given.tensors->list(), model.transformer) : control_config(given.own_config());
  require_same_sizes(config, model.transformer, where);
  return std::make_shared<TransformerControl>(config, model.vae.scaling_factor, model.transformer.timestep_scale, where);
}

}  // namespace hearth::models::sana
