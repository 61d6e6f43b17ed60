#include "models/aura_flow/config.h"

#include <array>

#include "core/error.h"
#include "models/diffusion/requirements.h"
#include "models/t5/tokenizer.h"

namespace hearth::models::aura_flow {
namespace {

constexpr std::array<std::string_view, 5> needed{"transformer", "vae", "scheduler", "text_encoder", "tokenizer"};

void check_components(const Checkpoint& checkpoint) {
  checkpoint.require_class("text_encoder", {"UMT5EncoderModel"});
  checkpoint.require_class("tokenizer", {"LlamaTokenizerFast", "LlamaTokenizer", "T5Tokenizer", "T5TokenizerFast"});
  checkpoint.require_class("transformer", {"AuraFlowTransformer2DModel"});
  checkpoint.require_class("vae", {"AutoencoderKL", "AutoencoderTiny"});
  diffusion::require_known(checkpoint, {.used = needed});
  checkpoint.index().finish();
}

void check(const AuraFlowConfig& c, const std::string& where) {
  if (c.tokenizer.vocab_size() > c.t5.vocabulary)
    fail<WeightError>("{}: the tokenizer has {} tokens, expected at most text_encoder's {} embedding rows", where, c.tokenizer.vocab_size(),
                      c.t5.vocabulary);
  if (c.transformer.text != c.t5.width)
    fail<WeightError>("{}: the transformer takes text states of width {} (joint_attention_dim), expected text_encoder's {}", where,
                      c.transformer.text, c.t5.width);
  const int64_t C = c.vae.codec.latent_channels;
  if (c.transformer.in_channels != C || c.transformer.out_channels != C)
    fail<WeightError>("{}: the transformer has {} input and {} output channels, the autoencoder's latents have {}", where,
                      c.transformer.in_channels, c.transformer.out_channels, C);
  diffusion::require_rgb(c.vae.in_channels, c.vae.out_channels, where);
}

}  // namespace

AuraFlowConfig AuraFlowConfig::from(const Checkpoint& checkpoint) {
  std::vector<std::string> notes = checkpoint.notes();
  check_components(checkpoint);
  AuraFlowConfig c{.tokenizer = tokenizer_of(checkpoint),
                   .t5 = t5_config(checkpoint),
                   .transformer = TransformerConfig::from(checkpoint.config("transformer")),
                   .vae = diffusion::AutoencoderConfig::from(checkpoint),
                   .scheduler = scheduler_of(checkpoint),
                   .notes = std::move(notes)};
  if (!c.vae.codec.encodes) c.notes.push_back("the autoencoder is a decoder only: runs cannot start from an image");
  if (auto* kl = std::get_if<parts::AutoencoderKlConfig>(&c.vae.network); kl && !kl->latents_std.empty()) {
    c.notes.push_back("the autoencoder's latents_mean and latents_std are ignored, as in the reference pipeline");
    kl->latents_mean.clear(), kl->latents_std.clear();
  }
  check(c, checkpoint.root().string());
  return c;
}

text::Tokenizer tokenizer_of(const Checkpoint& checkpoint) {
  text::Tokenizer tokenizer = t5::tokenizer_of(checkpoint, "tokenizer");
  if (tokenizer.encode("") != std::vector<int32_t>{*tokenizer.eos()})
    fail<UnsupportedError>("{}: the tokenizer adds other tokens to a text than its end token, expected that alone",
                           checkpoint.place_of("tokenizer"));
  return tokenizer;
}

sampling::SchedulerConfig scheduler_of(const Checkpoint& checkpoint) {
  const std::string& name = checkpoint.component("scheduler").class_name;
  const Config file = checkpoint.config("scheduler");
  const sampling::SchedulerConfig config = sampling::SchedulerConfig::read(file, name);
  if (config.prediction != sampling::Prediction::flow)
    fail<UnsupportedError>("{}: {} is not set up for a flow network, expected FlowMatchEulerDiscreteScheduler or another one for flow",
                           file.where(), name);
  return config;
}

parts::T5Config t5_config(const Checkpoint& checkpoint) {
  return parts::T5Config::from(checkpoint.config("text_encoder"), checkpoint.component("text_encoder").class_name);
}

}  // namespace hearth::models::aura_flow
