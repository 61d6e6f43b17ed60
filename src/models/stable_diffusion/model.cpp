#include "models/stable_diffusion/model.h"

#include <array>

#include "core/error.h"
#include "models/slots.h"
#include "models/stable_diffusion/control.h"
#include "models/stable_diffusion/prompts.h"
#include "ops/shape_ops.h"

namespace hearth::models::stable_diffusion {
namespace {

using diffusion::Role;

// Tensors of a text encoder that do not affect states of a layer before the last one, if these are not pooled: some merged files
// have NaN there.
std::vector<std::string> idle_tensors(const Family& family, const parts::ClipTextConfig& c) {
  if (family.clip_skip < 2 || family.final_norm || c.projection) return {};
  return {fmt::format("text_model.encoder.layers.{}.*", c.layers - 1), "text_model.final_layer_norm.*"};
}

// The blocks that perturbed attention perturbs.
parts::UnetConfig::Blocks perturbed_blocks(const sampling::Guidance& g) { return parts::UnetConfig::Blocks(int(g.options.at("layers"))); }

}  // namespace

StableDiffusion::StableDiffusion(const Checkpoint& checkpoint, const Family& family)
    : config_(StableDiffusionConfig::from(checkpoint, family)) {
  for (const clip::Tower& tower : config_.towers)
    text_encoders_.push_back(components_.add<parts::ClipTextModel>(
        std::string(tower.names.encoder), Role::text_encoder,
        [config = tower.config](const Scope& w) { return parts::ClipTextModel(w, config); }, idle_tensors(family, tower.config)));
  if (const std::string encoder(slots::image_encoder.name); checkpoint.is_added(encoder)) {
    const parts::ClipVisionConfig tower = parts::ClipVisionConfig::from(checkpoint.config(encoder));
    if (tower.channels != 3)
      fail<UnsupportedError>("{}: the image encoder reads images of {} channels, expected 3", checkpoint.root().string(), tower.channels);
    image_encoder_ = {tower, components_.add<parts::ClipVisionModel>(encoder, Role::image_encoder,
                                                                     [tower](const Scope& w) { return parts::ClipVisionModel(w, tower); })};
  }
  unet_ = components_.add<parts::Unet>("unet", Role::denoiser, [config = config_.unet](const Scope& w) { return parts::Unet(w, config); });
  codec_ = components_.add<diffusion::Codec>("vae", Role::codec,
                                             [config = config_.vae](const Scope& w) { return diffusion::Autoencoder(w, config); });
  facts_ = {.family = family.name,
            .options = family.options,
            .codec = config_.vae.codec,
            .scheduler = config_.scheduler,
            .native = config_.native,
            .notes = config_.notes,
            .beside = config_.beside(),
            .image_beside_is_scaled = config_.input_image_is_scaled,
            .scale_use = config_.unet.guidance != 0 ? diffusion::ScaleUse::input : diffusion::ScaleUse::factor,
            .steps = config_.beside() == diffusion::Beside::image ? 100 : 50,
            .strengths = family.strengths,
            .reference_strengths = family.reference_strengths,
            .step_tables = family.step_tables};
}

void StableDiffusion::check_guidance(const sampling::Guidance& g) const {
  if (g.method->perturbation == sampling::Perturbation::skipped_layers)
    fail<UnsupportedError>("guidance '{}': not supported for a UNet, which has no layers that can be skipped", g.method->name);
  if (g.method->perturbation == sampling::Perturbation::identity_attention && !config_.unet.attends_to_itself(perturbed_blocks(g)))
    fail<UnsupportedError>("guidance '{}': this UNet has no self-attention in its {} blocks", g.method->name,
                           std::array{"mid", "down", "up"}[size_t(perturbed_blocks(g))]);
}

std::unique_ptr<diffusion::ReadPrompts> StableDiffusion::read_prompts(const ImageTask& task, bool use_negative, Backend& host,
                                                                      ResolvedImage& resolved) const {
  return std::make_unique<UnetPrompts>(config_, text_encoders_, task, use_negative, host, resolved);
}

Tensor StableDiffusion::denoise(const diffusion::Loaded& networks, const Tensor& x, float timestep, const diffusion::Call& call) const {
  const diffusion::Conditioning& given = call.given;
  parts::Perturbed perturbed;
  if (call.perturbed > 0) perturbed = {perturbed_blocks(*call.guidance), call.perturbed};
  parts::UnetResiduals residuals;
  if (call.control) {
    const auto named = [&](std::string_view name) {
      const auto found = call.control->find(name);
      return found == call.control->end() ? std::vector<Tensor>() : found->second;
    };
    residuals.skips = named(of_skips), residuals.features = named(of_features);
    if (const std::vector<Tensor> middle = named(of_middle); !middle.empty()) residuals.mid = middle[0];
  }
  const Tensor input = call.beside ? ops::concat({x, call.beside}, 3) : x;
  const std::vector<parts::ImagePrompt> images = attended(call.image_prompts, given, config_.unet, x.shape(), config_.vae.codec.factor);
  return networks[unet_](input, {&timestep, 1},
                         {.context = given["context"], .added = given["added"], .guidance = given["guidance"], .images = images}, perturbed,
                         residuals);
}

std::shared_ptr<const diffusion::ControlModel> StableDiffusion::control_for(GivenComponent& given,
                                                                            const std::shared_ptr<TensorSource>& denoiser) const {
  return stable_diffusion::control_for(given, denoiser, config_.unet, config_.vae.codec.factor);
}

std::shared_ptr<const diffusion::ImagePromptModel> StableDiffusion::image_prompt_for(const GivenComponent& given,
                                                                                     const std::shared_ptr<TensorSource>& denoiser) const {
  return stable_diffusion::image_prompt_for(given, denoiser, config_.unet, image_encoder_);
}

void StableDiffusion::require_refiner(const diffusion::LatentModel& refiner, const std::string& where) const {
  if (!config_.family->can_be_refined) return LatentModel::require_refiner(refiner, where);
  if (!refiner.autoencoder())
    fail<WeightError>("{}: a refiner of the family {} has different latents than {}", where, refiner.facts().family, facts_.family);
  diffusion::require_same_latents(*refiner.autoencoder(), config_.vae, where);
}

}  // namespace hearth::models::stable_diffusion
