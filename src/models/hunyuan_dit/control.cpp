#include "models/hunyuan_dit/control.h"

#include "core/error.h"
#include "models/diffusion/transformer_control.h"
#include "models/hunyuan_dit/controlnet.h"
#include "models/hunyuan_dit/prompts.h"
#include "ops/pointwise.h"

namespace hearth::models::hunyuan_dit {
namespace {

using diffusion::ControlCall, diffusion::ControlInput, diffusion::ControlOutput, diffusion::ControlSettings, diffusion::ControlSight,
    diffusion::TensorLists;

constexpr std::string_view skips = "skips";  // in TensorLists

class TransformerControl final : public diffusion::ControlModel {
 public:
  TransformerControl(TransformerConfig config, float scale, std::string where) : config_(config), scale_(scale), where_(std::move(where)) {}

  std::string class_name() const override { return "HunyuanDiT2DControlNetModel"; }
  std::shared_ptr<const void> build(const Scope& w) const override { return std::make_shared<ControlNet>(w, config_); }
  ControlSight sight() const override { return ControlSight::latents; }

  void check(const ControlSettings& settings, const std::string& mode) const override {
    diffusion::refuse_guess(settings, where_);
    if (!mode.empty()) fail<UsageError>("{}: is for one kind of images, expected no mode, not '{}'", where_, mode);
  }

  TensorLists prepare(const void* network, std::span<const ControlInput> images) const override {
    return {{"hint", {net(network).hint(ops::scaled(images[0].latents, scale_, 0))}}};
  }

  ControlOutput operator()(const void* network, const TensorLists& prepared, const ControlSettings& settings,
                           const ControlCall& call) const override {
    std::vector<Tensor> made = net(network)(call.x, inputs_of(call.given, {&call.timestep, 1}), prepared.at("hint")[0]);
    ControlOutput out;
    out.factors.emplace(skips, std::vector<float>(made.size(), float(settings.scale)));
    out.tensors.emplace(skips, std::move(made));
    return out;
  }

 private:
  static const ControlNet& net(const void* network) { return *static_cast<const ControlNet*>(network); }

  TransformerConfig config_;
  float scale_;  // of the autoencoder
  std::string where_;
};

}  // namespace

std::shared_ptr<const diffusion::ControlModel> control_for(const GivenComponent& given, const HunyuanConfig& model) {
  const std::string where = given.files.at(0).string();
  const TransformerConfig config = given.config.empty() ? control_of_tensors(given.tensors->list(), model.transformer)
                                                        : TransformerConfig::of_control(given.own_config());
  require_same_sizes(config, model.transformer, where);
  return std::make_shared<TransformerControl>(config, model.vae.scaling_factor, where);
}

std::span<const Tensor> added_to_skips(const TensorLists* lists) {
  if (!lists) return {};
  return lists->find(skips)->second;
}

}  // namespace hearth::models::hunyuan_dit
