#include "models/sd1/config.h"

#include <algorithm>
#include <charconv>
#include <span>

#include "core/error.h"

namespace hearth::models::sd1 {
namespace {

constexpr std::array<std::string_view, 5> needed = {"text_encoder", "tokenizer", "unet", "vae", "scheduler"};
constexpr std::array<std::string_view, 3> left_aside = {"safety_checker", "feature_extractor", "image_encoder"};

bool contains(std::span<const std::string_view> names, std::string_view name) { return std::ranges::find(names, name) != names.end(); }

void check_components(const Checkpoint& checkpoint, std::vector<std::string>& notes) {
  checkpoint.require_class("text_encoder", {"CLIPTextModel"});
  checkpoint.require_class("tokenizer", {"CLIPTokenizer", "CLIPTokenizerFast"});
  checkpoint.require_class("unet", {"UNet2DConditionModel"});
  checkpoint.require_class("vae", {"AutoencoderKL"});
  for (const Component& c : checkpoint.components()) {
    if (contains(needed, c.name)) continue;
    if (!contains(left_aside, c.name))
      fail<UnsupportedError>("{}: the component '{}' ({}) is not supported", checkpoint.root().string(), c.name, c.class_name);
    notes.push_back(fmt::format("the component '{}' ({}) is not used", c.name, c.class_name));
  }
  checkpoint.index().no_effect({"requires_safety_checker"});
  checkpoint.index().finish();
}

// "0.6.0.dev0" is older than 0.9.0.
bool older_than_0_9(const std::string& version) {
  int major = 0, minor = 0;
  const char *begin = version.data(), *end = begin + version.size();
  const auto [dot, error] = std::from_chars(begin, end, major);
  if (error != std::errc() || dot == end || *dot != '.') return false;
  return std::from_chars(dot + 1, end, minor).ec == std::errc() && major == 0 && minor < 9;
}

// The reference takes a plain sample_size below 64 in configs older than 0.9.0 for a mistake, and 64 in its place.
std::optional<std::array<int64_t, 2>> native_latents(const Config& file, const parts::UnetConfig& unet) {
  auto size = unet.sample_size;
  const bool plain = size && file.dump("sample_size")[0] != '[';
  if (plain && (*size)[0] < 64 && older_than_0_9(file.text("_diffusers_version", "1"))) size = {64, 64};
  return size;
}

text::Cleaning cleaning_of(const std::string& tokenizer_class) {
  return tokenizer_class == "CLIPTokenizerFast" ? text::Cleaning::fast : text::Cleaning::ftfy;
}

}  // namespace

Sd1Config Sd1Config::from(const Checkpoint& checkpoint) {
  std::vector<std::string> notes;
  check_components(checkpoint, notes);
  const Config unet_file = checkpoint.config("unet");
  const parts::UnetConfig unet = parts::UnetConfig::from(unet_file);
  const parts::AutoencoderKlConfig vae = parts::AutoencoderKlConfig::from(checkpoint.config("vae"));
  const auto scheduler = sampling::SchedulerConfig::read(checkpoint.config("scheduler"), checkpoint.component("scheduler").class_name);
  Sd1Config config{
      .tokenizer = text::ClipTokenizer::load(checkpoint.folder("tokenizer"), cleaning_of(checkpoint.component("tokenizer").class_name)),
      .text = parts::ClipTextConfig::from(checkpoint.config("text_encoder"), checkpoint.component("text_encoder").class_name),
      .unet = unet,
      .vae = vae,
      .scheduler = scheduler.in_stable_diffusion(),
      .native = native_latents(unet_file, unet),
      .notes = std::move(notes)};
  if (config.native)
    for (int64_t& side : *config.native) side *= vae.factor();
  if (vae.shift_factor != 0) {
    config.vae.shift_factor = 0;
    config.notes.push_back(fmt::format("the autoencoder's shift_factor {} is not applied, as in the reference pipeline", vae.shift_factor));
  }
  if (scheduler.steps_offset != config.scheduler.steps_offset)
    config.notes.push_back(fmt::format("the scheduler's steps_offset is {} in place of {}, as in the reference pipeline",
                                       config.scheduler.steps_offset, scheduler.steps_offset));
  if (scheduler.clip && !config.scheduler.clip) config.notes.push_back("the scheduler's clip_sample is off, as in the reference pipeline");
  config.check(checkpoint.root().string());
  return config;
}

void Sd1Config::check(const std::string& where) const {
  if (tokenizer.max_id() >= text.vocabulary)
    fail<WeightError>("{}: the tokenizer's largest id is {}, the text encoder's embedding has {} rows", where, tokenizer.max_id(),
                      text.vocabulary);
  if (tokenizer.model_max_length() > text.positions)
    fail<WeightError>("{}: the tokenizer makes {} ids per prompt (model_max_length), the text encoder takes {}", where,
                      tokenizer.model_max_length(), text.positions);
  if (unet.context != 0 && unet.context != text.width)
    fail<WeightError>("{}: the UNet attends to states of width {} (cross_attention_dim), the text encoder gives {}", where, unet.context,
                      text.width);
  if (unet.in_channels == 2 * vae.latent_channels + 1)
    fail<UnsupportedError>("{}: the UNet takes {} channels: an inpainting model, which is not supported", where, unet.in_channels);
  if (unet.in_channels == 2 * vae.latent_channels)
    fail<UnsupportedError>("{}: the UNet takes {} channels: an image-editing model, which is not supported", where, unet.in_channels);
  if (unet.in_channels != vae.latent_channels || unet.out_channels != vae.latent_channels)
    fail<WeightError>("{}: the UNet takes {} and gives {} channels, the autoencoder's latents have {}", where, unet.in_channels,
                      unet.out_channels, vae.latent_channels);
  if (vae.in_channels != 3 || vae.out_channels != 3)
    fail<UnsupportedError>("{}: the autoencoder takes {} and gives {} channels, only 3 (RGB) is supported", where, vae.in_channels,
                           vae.out_channels);
}

}  // namespace hearth::models::sd1
