#include "models/z_image/model.h"

#include <algorithm>

#include "core/error.h"
#include "models/diffusion/checks.h"
#include "models/language_encoder/config.h"
#include "models/z_image/control.h"
#include "models/z_image/options.h"
#include "models/z_image/prompts.h"

namespace hearth::models::z_image {

using diffusion::Role;

ZImage::ZImage(const Checkpoint& checkpoint) : config_(ZImageConfig::from(checkpoint)) {
  encoder_ = components_.add<parts::DecoderTextEncoder>("text_encoder", Role::text_encoder,
                                                        [c = config_.text_encoder](const Scope& w) { return build_text_encoder(w, c); });
  transformer_ =
      components_.add<Transformer>("transformer", Role::denoiser, [c = config_.transformer](const Scope& w) { return Transformer(w, c); });
  codec_ =
      components_.add<diffusion::Codec>("vae", Role::codec, [c = config_.vae](const Scope& w) { return diffusion::Autoencoder(w, c); });
  const std::vector<int64_t>& places = config_.transformer.places;
  facts_ = {.family = family_name,
            .options = options,
            .codec = config_.vae.codec,
            .scheduler = config_.scheduler,
            .native = {{1024, 1024}},
            .notes = config_.notes,
            .patch = TransformerConfig::patch,
            .most_side = std::min(places[1], places[2]) * TransformerConfig::patch * config_.vae.codec.factor,
            .rounds_calls_up = true,
            .guidance = 5,
            .guidance_is_beyond_prompt = true,
            .reference_strengths = {.image = 0.6, .mask = 1},
            .flow_in_a1111 = sampling::FlowTable{.shift = config_.scheduler.shift, .entries = config_.scheduler.num_train_timesteps}};
}

void ZImage::check_guidance(const sampling::Guidance& g) const {
  if (g.method->perturbation != sampling::Perturbation::none)
    fail<UnsupportedError>("guidance '{}': not supported by the transformer of {}", g.method->name, family_name);
}

std::unique_ptr<diffusion::ReadPrompts> ZImage::read_prompts(const ImageTask& task, bool use_negative, Backend&,
                                                             ResolvedImage& resolved) const {
  return std::make_unique<Prompts>(config_, encoder_, task, use_negative, resolved);
}

// The prediction is the image minus the noise.
Tensor ZImage::denoise(const diffusion::Loaded& networks, const Tensor& x, float timestep, const diffusion::Call& call) const {
  const float time = time_of(timestep);
  const AddedAfterLayers added = call.control ? added_after_layers(*call.control) : AddedAfterLayers();
  return ops::scaled(networks[transformer_](x, {&time, 1}, call.given[text_states], added), -1, 0);
}

std::shared_ptr<const diffusion::ControlModel> ZImage::control_for(GivenComponent& given,
                                                                   const std::shared_ptr<TensorSource>& denoiser) const {
  return z_image::control_for(given, denoiser, config_);
}

std::vector<ComponentCheck> check(const Checkpoint& checkpoint, const std::string& variant) {
  diffusion::Checks checks(checkpoint, variant);
  checks.builds(
      "text_encoder", [&] { return text_encoder_of(checkpoint); }, [](const Scope& w, const auto& c) { build_text_encoder(w, c); });
  checks.builds(
      "transformer", [&] { return TransformerConfig::from(checkpoint.config("transformer")); },
      [](const Scope& w, const auto& c) { Transformer(w, c); });
  checks.builds(
      "vae", [&] { return diffusion::AutoencoderConfig::from(checkpoint); },
      [](const Scope& w, const auto& c) { diffusion::Autoencoder(w, c); });
  checks.attempt("tokenizer", [&] { tokenizer_of(checkpoint); });
  checks.attempt("scheduler", [&] { scheduler_of(checkpoint); });
  return checks.finish([&] { ZImageConfig::from(checkpoint); });
}

std::vector<std::unique_ptr<PromptReader>> prompt_readers(const Checkpoint& checkpoint) {
  std::vector<std::unique_ptr<PromptReader>> readers;
  readers.push_back(std::make_unique<language_encoder::ChatPromptReader>(tokenizer_of(checkpoint), "text_encoder", chat_form,
                                                                         language_encoder::RowLength{.most = default_length}));
  return readers;
}

}  // namespace hearth::models::z_image
