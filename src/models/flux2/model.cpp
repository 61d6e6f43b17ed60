#include "models/flux2/model.h"

#include "core/error.h"
#include "models/diffusion/checks.h"
#include "models/flux2/options.h"
#include "models/flux2/prompts.h"
#include "ops/shape_ops.h"
#include "sampling/schedules/flow_schedules.h"

namespace hearth::models::flux2 {
namespace {

using diffusion::ReferenceImages, diffusion::Role, diffusion::ScaleUse;

parts::DecoderTextEncoder build_text_encoder(const Scope& w, const parts::DecoderConfig& config, const Texts& texts) {
  return {w, config, {texts.states.begin(), texts.states.end()}};
}

// Latents [n, h, w, C] → tokens [n, h·w, C], row by row.
Tensor tokens_of(const Tensor& latents) {
  return ops::contiguous(latents).view({latents.size(0), latents.size(1) * latents.size(2), latents.size(3)});
}

}  // namespace

Flux2::Flux2(const Checkpoint& checkpoint) : config_(Flux2Config::from(checkpoint)) {
  encoder_ = components_.add<parts::DecoderTextEncoder>(
      "text_encoder", Role::text_encoder,
      [c = config_.text_encoder, t = config_.texts](const Scope& w) { return build_text_encoder(w, c, t); });
  transformer_ =
      components_.add<Transformer>("transformer", Role::denoiser, [c = config_.transformer](const Scope& w) { return Transformer(w, c); });
  codec_ = components_.add<diffusion::Codec>("vae", Role::codec, [c = config_.vae](const Scope& w) { return PatchAutoencoder(w, c); });
  const bool input = config_.transformer.guidance;
  facts_ = {.family = family_name,
            .options = options,
            .codec = config_.vae.codec,
            .scheduler = config_.scheduler,
            .native = {{1024, 1024}},
            .notes = config_.notes,
            .rounds_calls_up = true,
            .reference_images = ReferenceImages::as_latents,
            .scale_use = input               ? ScaleUse::input
                         : config_.distilled ? ScaleUse::none
                                             : ScaleUse::factor,
            .guidance = config_.distilled ? 1.0 : 4.0,
            .mu = sampling::empirical_mu};
}

void Flux2::check_guidance(const sampling::Guidance& g) const {
  if (g.method->perturbation != sampling::Perturbation::none)
    fail<UnsupportedError>("guidance '{}': not supported by the transformer of {}", g.method->name, family_name);
}

std::unique_ptr<diffusion::ReadPrompts> Flux2::read_prompts(const ImageTask& task, bool use_negative, Backend&,
                                                            ResolvedImage& resolved) const {
  return std::make_unique<Prompts>(config_, encoder_, task, use_negative, resolved);
}

Tensor Flux2::denoise(const diffusion::Loaded& networks, const Tensor& x, float timestep, const diffusion::Call& call) const {
  std::vector<Position> positions;
  append_positions(positions, 0, x.size(1), x.size(2));
  const auto rows = int64_t(positions.size());
  Tensor tokens = tokens_of(x);
  for (size_t i = 0; i < call.references.size(); ++i) {
    const Tensor& latents = call.references[i];
    append_positions(positions, int32_t(10 + 10 * i), latents.size(1), latents.size(2));
    tokens = ops::concat({tokens, ops::repeat_batch(tokens_of(latents), x.size(0))}, 1);
  }
  const auto scale = float(call.embedded_guidance);
  const Tensor y = networks[transformer_](
      tokens, positions, rows,
      {.text = call.given[text_states], .timesteps = {&timestep, 1}, .guidance = {&scale, config_.transformer.guidance ? size_t(1) : 0}});
  return y.view(x.shape());
}

std::vector<ComponentCheck> check(const Checkpoint& checkpoint, const std::string& variant) {
  diffusion::Checks checks(checkpoint, variant);
  const Texts texts = texts_of(checkpoint);
  checks.builds(
      "text_encoder", [&] { return text_encoder_of(checkpoint); }, [&](const Scope& w, const auto& c) { build_text_encoder(w, c, texts); });
  checks.builds(
      "transformer", [&] { return TransformerConfig::from(checkpoint.config("transformer")); },
      [](const Scope& w, const auto& c) { Transformer(w, c); });
  checks.builds(
      "vae", [&] { return codec_of(checkpoint); }, [](const Scope& w, const auto& c) { PatchAutoencoder(w, c); });
  checks.attempt("tokenizer", [&] { tokenizer_of(checkpoint); });
  checks.attempt("scheduler", [&] { scheduler_of(checkpoint); });
  return checks.finish([&] { Flux2Config::from(checkpoint); });
}

std::vector<std::unique_ptr<PromptReader>> prompt_readers(const Checkpoint& checkpoint) {
  std::vector<std::unique_ptr<PromptReader>> readers;
  readers.push_back(
      std::make_unique<language_encoder::ChatPromptReader>(tokenizer_of(checkpoint), "text_encoder", texts_of(checkpoint).form,
                                                           language_encoder::RowLength{.most = default_length, .pads = true}));
  return readers;
}

}  // namespace hearth::models::flux2
