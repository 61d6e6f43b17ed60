#include "models/qwen_image/control.h"

#include "core/error.h"
#include "models/diffusion/transformer_control.h"
#include "models/qwen_image/controlnet.h"
#include "models/qwen_image/prompts.h"
#include "parts/autoencoder_wan/autoencoder_wan.h"

namespace hearth::models::qwen_image {
namespace {

using diffusion::ControlCall, diffusion::ControlInput, diffusion::ControlOutput, diffusion::ControlSettings, diffusion::ControlSight,
    diffusion::TensorLists;

class TransformerControl final : public diffusion::ControlModel {
 public:
  TransformerControl(ControlNetConfig config, parts::AutoencoderWanConfig vae, std::string where)
      : config_(std::move(config)), vae_(std::move(vae)), where_(std::move(where)) {}

  std::string class_name() const override { return "QwenImageControlNetModel"; }
  std::shared_ptr<const void> build(const Scope& w) const override { return std::make_shared<ControlNet>(w, config_); }
  ControlSight sight() const override { return config_.fills() ? ControlSight::masked_latents : ControlSight::latents; }
  // The reference's pipeline of networks that fill draws from torch's global generator instead.
  bool draws() const override { return !config_.fills(); }
  bool sees_prompt_only() const override { return true; }

  void check(const ControlSettings& settings, const std::string& mode) const override {
    diffusion::refuse_guess(settings, where_);
    if (!mode.empty()) fail<UsageError>("{}: tells kinds of images apart by itself, expected no mode, not '{}'", where_, mode);
  }

  TensorLists prepare(const void* network, std::span<const ControlInput> images) const override {
    const ControlInput& input = images[0];
    Tensor seen = parts::to_model(vae_, {input.latents});
    if (config_.fills()) seen = diffusion::with_kept(seen, input.mask);
    return {{"hint", {net(network).hint(seen)}}};
  }

  ControlOutput operator()(const void* network, const TensorLists& prepared, const ControlSettings& settings,
                           const ControlCall& call) const override {
    const Tensor x = pack(call.x);
    std::vector<Tensor> made =
        net(network)(x, grid_of(call.x), {.text = call.given[text_states], .timesteps = {&call.timestep, 1}}, prepared.at("hint")[0]);
    return diffusion::output_of_blocks(std::move(made), settings.scale);
  }

 private:
  static const ControlNet& net(const void* network) { return *static_cast<const ControlNet*>(network); }

  ControlNetConfig config_;
  parts::AutoencoderWanConfig vae_;
  std::string where_;
};

}  // namespace

std::shared_ptr<const diffusion::ControlModel> control_for(GivenComponent& given, const QwenImageConfig& model) {
  const std::string where = given.files.at(0).string();
  const ControlNetConfig config = given.config.empty() ? ControlNetConfig::of_tensors(given.tensors->list(), model.transformer, where)
                                                       : ControlNetConfig::from(given.own_config());
  require_same_sizes(config, model.transformer, where);
  return std::make_shared<TransformerControl>(config, model.vae, where);
}

}  // namespace hearth::models::qwen_image
