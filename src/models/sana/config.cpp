#include "models/sana/config.h"

#include <array>

#include "core/error.h"
#include "models/diffusion/requirements.h"
#include "models/language_encoder/config.h"
#include "models/language_encoder/tokenizer.h"

namespace hearth::models::sana {
namespace {

constexpr std::array<std::string_view, 5> needed{"transformer", "vae", "scheduler", "text_encoder", "tokenizer"};

void check_components(const Checkpoint& checkpoint) {
  checkpoint.require_class("transformer", {"SanaTransformer2DModel"});
  checkpoint.require_class("vae", {"AutoencoderDC"});
  for (const std::string_view name : needed) checkpoint.component(name);
  diffusion::require_known(checkpoint, {.used = needed});
  checkpoint.index().finish();
}

void check(const SanaConfig& c, const std::string& where) {
  const TransformerConfig& t = c.transformer;
  if (c.tokenizer.vocab_size() > c.text_encoder.vocabulary)
    fail<WeightError>("{}: the tokenizer has ids up to {}, expected less than text_encoder's {} embedding rows", where,
                      c.tokenizer.vocab_size() - 1, c.text_encoder.vocabulary);
  if (t.text_width != c.text_encoder.width)
    fail<WeightError>("{}: the transformer takes text states of width {} (caption_channels), expected text_encoder's {}", where,
                      t.text_width, c.text_encoder.width);
  const int64_t C = c.vae.latent_channels;
  if (t.in_channels != C || (t.out_channels != C && !t.learns_variance()))
    fail<WeightError>("{}: the transformer has {} input and {} output channels, expected {} and {} or {} for the autoencoder's latents",
                      where, t.in_channels, t.out_channels, C, C, 2 * C);
  if (t.guidance_embedding != c.sprint)
    fail<WeightError>("{}: the transformer {} an input for the guidance scale (guidance_embeds), which the pipeline {}", where,
                      t.guidance_embedding ? "has" : "lacks", c.sprint ? "needs" : "does not have");
  diffusion::require_rgb(c.vae.image_channels, c.vae.image_channels, where);
}

}  // namespace

SanaConfig SanaConfig::from(const Checkpoint& checkpoint) {
  check_components(checkpoint);
  SanaConfig c{.tokenizer = tokenizer_of(checkpoint),
               .text_encoder = text_encoder_of(checkpoint),
               .transformer = TransformerConfig::from(checkpoint.config("transformer")),
               .vae = AutoencoderDcConfig::from(checkpoint.config("vae")),
               .scheduler = scheduler_of(checkpoint),
               .sprint = is_sprint(checkpoint),
               .notes = checkpoint.notes()};
  check(c, checkpoint.root().string());
  return c;
}

bool is_sprint(const Checkpoint& checkpoint) { return checkpoint.pipeline_class().starts_with("SanaSprint"); }

text::Tokenizer tokenizer_of(const Checkpoint& checkpoint) {
  return language_encoder::tokenizer_of(checkpoint, "tokenizer", "text_encoder");
}

// The reference's pipeline loads its encoder with transformers' attention `sdpa`, which does not cap scores.
parts::DecoderConfig text_encoder_of(const Checkpoint& checkpoint) {
  parts::DecoderConfig c = language_encoder::decoder_of(checkpoint, "text_encoder");
  if (c.layers.empty()) fail<WeightError>("{}: the text encoder has no layers, expected at least one", checkpoint.place_of("text_encoder"));
  for (parts::LayerConfig& layer : c.layers)
    if (auto* attention = std::get_if<parts::AttentionConfig>(&layer.mixer.block)) attention->soft_cap = 0;
  return c;
}

parts::DecoderTextEncoder build_text_encoder(const Scope& w, const parts::DecoderConfig& config) {
  return {w, config, {std::ssize(config.layers)}};
}

sampling::SchedulerConfig scheduler_of(const Checkpoint& checkpoint) {
  const std::string& name = checkpoint.component("scheduler").class_name;
  const Config file = checkpoint.config("scheduler");
  sampling::SchedulerConfig config = sampling::SchedulerConfig::read(file, name);
  if (is_sprint(checkpoint)) {
    if (config.prediction != sampling::Prediction::trigflow)
      fail<UnsupportedError>("{}: {} is not supported for the pipeline {}, expected SCMScheduler", file.where(), name,
                             checkpoint.pipeline_class());
    config.sigma_data = 1;  // the reference multiplies all latents by it, and divides the result by it
  } else if (config.prediction != sampling::Prediction::flow) {
    fail<UnsupportedError>("{}: {} is not set up for a flow network, expected 'prediction_type' = \"flow_prediction\" or a flow scheduler",
                           file.where(), name);
  }
  return config;
}

}  // namespace hearth::models::sana
