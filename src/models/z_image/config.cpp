#include "models/z_image/config.h"

#include <array>

#include "core/error.h"
#include "models/diffusion/requirements.h"
#include "models/language_encoder/config.h"

namespace hearth::models::z_image {
namespace {

constexpr std::array<std::string_view, 5> needed{"transformer", "vae", "scheduler", "text_encoder", "tokenizer"};

void check_components(const Checkpoint& checkpoint) {
  checkpoint.require_class("transformer", {"ZImageTransformer2DModel"});
  checkpoint.require_class("vae", {"AutoencoderKL", "AutoencoderTiny"});
  for (const std::string_view name : needed) checkpoint.component(name);
  diffusion::require_known(checkpoint, {.used = needed});
  checkpoint.index().finish();
}

void check(const ZImageConfig& c, const std::string& where) {
  if (c.tokenizer.tokenizer().vocab_size() > c.text_encoder.vocabulary)
    fail<WeightError>("{}: the tokenizer of text_encoder has ids up to {}, expected less than its {} embedding rows", where,
                      c.tokenizer.tokenizer().vocab_size() - 1, c.text_encoder.vocabulary);
  if (c.transformer.text != c.text_encoder.width)
    fail<WeightError>("{}: the transformer takes text states of width {} (cap_feat_dim), expected text_encoder's {}", where,
                      c.transformer.text, c.text_encoder.width);
  if (c.transformer.channels != c.vae.codec.latent_channels)
    fail<WeightError>("{}: the transformer has {} channels (in_channels), expected the {} of the autoencoder's latents", where,
                      c.transformer.channels, c.vae.codec.latent_channels);
  diffusion::require_rgb(c.vae.in_channels, c.vae.out_channels, where);
}

}  // namespace

ZImageConfig ZImageConfig::from(const Checkpoint& checkpoint) {
  check_components(checkpoint);
  ZImageConfig c{.tokenizer = tokenizer_of(checkpoint),
                 .text_encoder = text_encoder_of(checkpoint),
                 .transformer = TransformerConfig::from(checkpoint.config("transformer")),
                 .vae = diffusion::AutoencoderConfig::from(checkpoint),
                 .scheduler = scheduler_of(checkpoint),
                 .notes = checkpoint.notes()};
  if (!c.vae.codec.encodes) c.notes.push_back("the autoencoder is a decoder only: runs cannot start from an image");
  check(c, checkpoint.root().string());
  return c;
}

language_encoder::ChatTokenizer tokenizer_of(const Checkpoint& checkpoint) { return {checkpoint, "tokenizer", "text_encoder"}; }

parts::DecoderConfig text_encoder_of(const Checkpoint& checkpoint) {
  parts::DecoderConfig c = language_encoder::decoder_of(checkpoint, "text_encoder");
  if (c.layers.empty()) fail<WeightError>("{}: the text encoder has no layers, expected at least one", checkpoint.place_of("text_encoder"));
  return c;
}

parts::DecoderTextEncoder build_text_encoder(const Scope& w, const parts::DecoderConfig& config) {
  return {w, config, {std::ssize(config.layers) - 1}};
}

sampling::SchedulerConfig scheduler_of(const Checkpoint& checkpoint) { return diffusion::even_flow_scheduler(checkpoint); }

}  // namespace hearth::models::z_image
