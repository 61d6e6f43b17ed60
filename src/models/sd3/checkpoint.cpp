#include "models/sd3/checkpoint.h"

#include <algorithm>
#include <array>

#include "core/error.h"
#include "models/diffusion/requirements.h"
#include "models/t5/tokenizer.h"

namespace hearth::models::sd3 {
namespace {

constexpr std::array<std::string_view, 9> known_components{
    "text_encoder", "text_encoder_2", "text_encoder_3", "tokenizer", "tokenizer_2", "tokenizer_3", "transformer", "vae", "scheduler"};
constexpr std::array<std::string_view, 2> ignored_components{"image_encoder", "feature_extractor"};

void check_components(const Checkpoint& checkpoint, std::vector<std::string>& notes) {
  for (const char* encoder : {"text_encoder", "text_encoder_2"}) checkpoint.require_class(encoder, {"CLIPTextModelWithProjection"});
  for (const char* tokenizer : {"tokenizer", "tokenizer_2"}) checkpoint.require_class(tokenizer, {"CLIPTokenizer", "CLIPTokenizerFast"});
  if (checkpoint.has("text_encoder_3")) {
    checkpoint.require_class("text_encoder_3", {"T5EncoderModel"});
    checkpoint.require_class("tokenizer_3", {"T5TokenizerFast", "T5Tokenizer"});
  }
  checkpoint.require_class("transformer", {"SD3Transformer2DModel"});
  checkpoint.require_class("vae", {"AutoencoderKL", "AutoencoderTiny"});
  for (std::string& note : diffusion::require_known(checkpoint, {.used = known_components, .ignored = ignored_components}))
    notes.push_back(std::move(note));
  checkpoint.index().finish();
}

bool is_lacking(const Checkpoint& checkpoint, std::string_view component) {
  const std::vector<std::string> lacking = checkpoint.lacking();
  return std::ranges::find(lacking, component) != lacking.end() || !checkpoint.is_there(component);
}

}  // namespace

clip::Tower first_tower(const Checkpoint& checkpoint) {
  clip::Tower tower = clip::tower_of(
      checkpoint,
      {.encoder = "text_encoder", .tokenizer = "tokenizer", .class_name = "CLIPTextModelWithProjection", .embedding = "clip_l"});
  const bool square = tower.config.projection == tower.config.width;
  if (square && checkpoint.is_single_file() && !is_lacking(checkpoint, "text_encoder") &&
      !checkpoint.tensors("text_encoder")->has("text_projection.weight"))
    tower.config.projection = 0;
  return tower;
}

clip::Tower second_tower(const Checkpoint& checkpoint) {
  return clip::tower_of(checkpoint, {.encoder = "text_encoder_2",
                                     .tokenizer = "tokenizer_2",
                                     .class_name = "CLIPTextModelWithProjection",
                                     .embedding = "clip_g",
                                     .open_clip = true});
}

Sd3Config::T5 t5_of(const Checkpoint& checkpoint) {
  if (!checkpoint.has("text_encoder_3")) return Sd3Config::T5::none;
  return is_lacking(checkpoint, "text_encoder_3") ? Sd3Config::T5::lacking : Sd3Config::T5::present;
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

Sd3Config Sd3Config::from(const Checkpoint& checkpoint) {
  Sd3Config config;
  config.notes = checkpoint.notes();
  check_components(checkpoint, config.notes);
  config.transformer = MmditConfig::from(checkpoint.config("transformer"));
  config.vae = diffusion::AutoencoderConfig::from(checkpoint);
  if (!config.vae.codec.encodes) config.notes.push_back("the autoencoder is a decoder only: runs cannot start from an image");
  config.scheduler = scheduler_of(checkpoint);
  config.towers = {first_tower(checkpoint), second_tower(checkpoint)};
  config.has_t5 = t5_of(checkpoint);
  if (config.has_t5 == T5::present) {
    config.t5 = parts::T5Config::from(checkpoint.config("text_encoder_3"), checkpoint.component("text_encoder_3").class_name);
    config.t5_tokenizer = t5::tokenizer_of(checkpoint, "tokenizer_3");
  } else {
    config.notes.push_back("the checkpoint has no third text encoder (T5)");
  }
  if (auto* kl = std::get_if<parts::AutoencoderKlConfig>(&config.vae.network); kl && !kl->latents_std.empty()) {
    config.notes.push_back("the autoencoder's latents_mean and latents_std are ignored, as in the reference pipeline");
    kl->latents_mean.clear(), kl->latents_std.clear();
  }
  config.check(checkpoint.root().string());
  return config;
}

int64_t Sd3Config::clip_width() const { return towers[0].config.width + towers[1].config.width; }

void Sd3Config::check(const std::string& where) const {
  for (const clip::Tower& tower : towers) clip::check_tower(tower, where);
  const auto pooled_of = [](const parts::ClipTextConfig& c) { return c.projection ? c.projection : c.width; };
  const int64_t pooled = pooled_of(towers[0].config) + pooled_of(towers[1].config), width = transformer.text_width;
  if (pooled != transformer.pooled_width)
    fail<WeightError>("{}: the transformer takes {} values of pooled text (pooled_projection_dim), the text encoders have {} together",
                      where, transformer.pooled_width, pooled);
  if (clip_width() > width)
    fail<WeightError>(
        "{}: the transformer takes text states of width {} (joint_attention_dim), the first two text encoders have {} together", where,
        width, clip_width());
  if (t5 && t5->width != width)
    fail<WeightError>("{}: the T5 encoder's states have width {} (d_model), expected the transformer's {} (joint_attention_dim)", where,
                      t5->width, width);
  if (t5 && t5_tokenizer->vocab_size() > t5->vocabulary)
    fail<WeightError>("{}: the T5 tokenizer has {} tokens, expected at most the encoder's {} embedding rows", where,
                      t5_tokenizer->vocab_size(), t5->vocabulary);
  const int64_t C = vae.codec.latent_channels;
  if ((transformer.in_channels != C && !is_inpainting()) || transformer.out_channels != C)
    fail<WeightError>("{}: the transformer has {} input and {} output channels, the autoencoder's latents have {}", where,
                      transformer.in_channels, transformer.out_channels, C);
  diffusion::require_rgb(vae.in_channels, vae.out_channels, where);
}

}  // namespace hearth::models::sd3
