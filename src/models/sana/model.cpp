#include "models/sana/model.h"

#include "core/error.h"
#include "models/diffusion/checks.h"
#include "models/diffusion/sizes.h"
#include "models/diffusion/transformer_control.h"
#include "models/sana/codec.h"
#include "models/sana/control.h"
#include "models/sana/options.h"
#include "models/sana/prompts.h"
#include "ops/shape_ops.h"

namespace hearth::models::sana {

using diffusion::Role;

Sana::Sana(const Checkpoint& checkpoint) : config_(SanaConfig::from(checkpoint)) {
  encoder_ = components_.add<parts::DecoderTextEncoder>("text_encoder", Role::text_encoder,
                                                        [c = config_.text_encoder](const Scope& w) { return build_text_encoder(w, c); });
  transformer_ =
      components_.add<Transformer>("transformer", Role::denoiser, [c = config_.transformer](const Scope& w) { return Transformer(w, c); });
  codec_ = components_.add<diffusion::Codec>("vae", Role::codec, [c = config_.vae](const Scope& w) { return DcCodec(w, c); });
  const diffusion::CodecConfig codec = codec_config(config_.vae);
  const int64_t latents = config_.transformer.sample_size, side = latents * codec.factor;
  facts_ = {.family = family_name,
            .options = options,
            .codec = codec,
            .scheduler = config_.scheduler,
            .native = {{side, side}},
            .notes = config_.notes,
            .patch = config_.transformer.patch,
            // The reference chooses the table by sample_size, whatever the autoencoder: 16, 32, 64 or 128.
            .size_of_run = latents >= 16 ? diffusion::size_of_run(32 * latents) : nullptr,
            .without_size_of_run = diffusion::no_resolution_binning.name,
            .resizes_to_request = true,
            .rounds_calls_up = true,
            .scale_use = config_.sprint ? diffusion::ScaleUse::input : diffusion::ScaleUse::factor,
            .steps = config_.sprint ? 2 : 20,
            .guidance = 4.5,
            .reference_strengths = {.image = 0.6, .mask = 1}};
}

void Sana::check_guidance(const sampling::Guidance& g) const {
  if (g.method->perturbation != sampling::Perturbation::none)
    fail<UnsupportedError>("guidance '{}': not supported by the transformer of {}", g.method->name, family_name);
}

std::unique_ptr<diffusion::ReadPrompts> Sana::read_prompts(const ImageTask& task, bool use_negative, Backend&,
                                                           ResolvedImage& resolved) const {
  return std::make_unique<Prompts>(config_, encoder_, task, use_negative, resolved);
}

// Sprint's times are those of a flow, 0 to 1: the reference multiplies only SANA's.
Tensor Sana::denoise(const diffusion::Loaded& networks, const Tensor& x, float timestep, const diffusion::Call& call) const {
  const TransformerConfig& t = config_.transformer;
  const float time = config_.sprint ? timestep : timestep * t.timestep_scale;
  const auto guidance = config_.sprint ? std::optional(float(call.embedded_guidance) * t.guidance_scale) : std::nullopt;
  const auto added = call.control ? diffusion::lists_of_blocks(*call.control) : std::vector<std::vector<Tensor>>();
  const Tensor y = networks[transformer_](x, {&time, 1}, guidance, call.given[text_states], call.given.lengths.find(text_states)->second,
                                          bool(call.given[limited_mark]), added);
  if (y.size(3) == x.size(3)) return y;
  return ops::contiguous(y.slice(3, 0, x.size(3)));  // the other half is the variance, which no sampler uses
}

std::shared_ptr<const diffusion::ControlModel> Sana::control_for(GivenComponent& given, const std::shared_ptr<TensorSource>&) const {
  return sana::control_for(given, config_);
}

std::vector<ComponentCheck> check(const Checkpoint& checkpoint, const std::string& variant) {
  diffusion::Checks checks(checkpoint, variant);
  checks.builds(
      "text_encoder", [&] { return text_encoder_of(checkpoint); }, [](const Scope& w, const auto& c) { build_text_encoder(w, c); });
  checks.builds(
      "transformer", [&] { return TransformerConfig::from(checkpoint.config("transformer")); },
      [](const Scope& w, const auto& c) { Transformer(w, c); });
  checks.builds(
      "vae", [&] { return AutoencoderDcConfig::from(checkpoint.config("vae")); }, [](const Scope& w, const auto& c) { DcCodec(w, c); });
  checks.attempt("tokenizer", [&] { tokenizer_of(checkpoint); });
  checks.attempt("scheduler", [&] { scheduler_of(checkpoint); });
  return checks.finish([&] { SanaConfig::from(checkpoint); });
}

std::vector<std::unique_ptr<PromptReader>> prompt_readers(const Checkpoint& checkpoint) {
  std::vector<std::unique_ptr<PromptReader>> readers;
  readers.push_back(std::make_unique<SanaPromptReader>(tokenizer_of(checkpoint)));
  return readers;
}

}  // namespace hearth::models::sana
