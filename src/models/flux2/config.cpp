#include "models/flux2/config.h"

#include "core/error.h"
#include "models/diffusion/requirements.h"
#include "models/language_encoder/config.h"

namespace hearth::models::flux2 {
namespace {

constexpr std::array<std::string_view, 5> needed{"transformer", "vae", "scheduler", "text_encoder", "tokenizer"};

// The reference's system message, which precedes dev's prompts.
constexpr std::string_view system_message =
    "You are an AI that reasons about image descriptions. You give structured responses focusing on object relationships, object\n"
    "attribution and actions without speculation.";

constexpr Texts of_dev{.form = {.system = system_message, .parts = true, .generation_prompt = false, .special_tokens = false},
                       .states = {10, 20, 30}};
constexpr Texts of_klein{.form = {.variables = R"({"enable_thinking": false})"}, .states = {9, 18, 27}};

bool is_klein(const Checkpoint& checkpoint) { return checkpoint.pipeline_class().starts_with("Flux2Klein"); }

void check_components(const Checkpoint& checkpoint) {
  checkpoint.require_class("transformer", {"Flux2Transformer2DModel"});
  checkpoint.require_class("vae", {"AutoencoderKLFlux2"});
  for (const std::string_view name : needed) checkpoint.component(name);
  diffusion::require_known(checkpoint, {.used = needed});
}

void check(const Flux2Config& c, const Checkpoint& checkpoint) {
  const std::string where = checkpoint.root().string();
  if (c.tokenizer.tokenizer().vocab_size() > c.text_encoder.vocabulary)
    fail<WeightError>("{}: the tokenizer of text_encoder has ids up to {}, expected less than its {} embedding rows", where,
                      c.tokenizer.tokenizer().vocab_size() - 1, c.text_encoder.vocabulary);
  if (const int64_t last = c.texts.states.back(); std::ssize(c.text_encoder.layers) < last)
    fail<WeightError>("{}: text_encoder has {} layers, expected at least {} for {}", where, c.text_encoder.layers.size(), last,
                      checkpoint.pipeline_class());
  if (const int64_t width = 3 * c.text_encoder.width; c.transformer.text != width)
    fail<WeightError>("{}: the transformer takes text states of width {} (joint_attention_dim), expected {}, three times text_encoder's",
                      where, c.transformer.text, width);
  const int64_t C = c.vae.codec.latent_channels;
  if (c.transformer.in_channels != C || c.transformer.out_channels != C)
    fail<WeightError>("{}: the transformer has {} input and {} output channels, expected {} of each for the autoencoder's latents", where,
                      c.transformer.in_channels, c.transformer.out_channels, C);
  diffusion::require_rgb(c.vae.network.in_channels, c.vae.network.out_channels, where);
  if (c.transformer.guidance == is_klein(checkpoint))
    fail<WeightError>("{}: the transformer has {} input for the guidance scale (guidance_embeds), expected {} for {}", where,
                      c.transformer.guidance ? "an" : "no", c.transformer.guidance ? "none" : "one", checkpoint.pipeline_class());
}

}  // namespace

Flux2Config Flux2Config::from(const Checkpoint& checkpoint) {
  check_components(checkpoint);
  const bool distilled = is_klein(checkpoint) && checkpoint.index().boolean("is_distilled", false);
  checkpoint.index().finish();
  Flux2Config c{.tokenizer = tokenizer_of(checkpoint),
                .text_encoder = text_encoder_of(checkpoint),
                .texts = texts_of(checkpoint),
                .transformer = TransformerConfig::from(checkpoint.config("transformer")),
                .vae = codec_of(checkpoint),
                .scheduler = scheduler_of(checkpoint),
                .distilled = distilled,
                .notes = checkpoint.notes()};
  check(c, checkpoint);
  return c;
}

CodecSettings codec_of(const Checkpoint& checkpoint) {
  return CodecSettings::from(checkpoint.config("vae"), !checkpoint.is_decoder_alone("vae"));
}

Texts texts_of(const Checkpoint& checkpoint) { return is_klein(checkpoint) ? of_klein : of_dev; }

language_encoder::ChatTokenizer tokenizer_of(const Checkpoint& checkpoint) { return {checkpoint, "tokenizer", "text_encoder"}; }

parts::DecoderConfig text_encoder_of(const Checkpoint& checkpoint) { return language_encoder::decoder_of(checkpoint, "text_encoder"); }

sampling::SchedulerConfig scheduler_of(const Checkpoint& checkpoint) { return diffusion::even_flow_scheduler(checkpoint); }

}  // namespace hearth::models::flux2
