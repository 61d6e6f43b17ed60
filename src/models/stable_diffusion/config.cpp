#include "models/stable_diffusion/config.h"

#include <algorithm>
#include <charconv>
#include <span>

#include "core/error.h"
#include "models/diffusion/requirements.h"

namespace hearth::models::stable_diffusion {
namespace {

void check_components(const Checkpoint& checkpoint, const Family& family, StableDiffusionConfig& config) {
  std::vector<std::string_view> needed = {"unet", "vae", "scheduler"};
  for (const TowerNames& tower : family.towers) {
    checkpoint.require_class(tower.encoder, {tower.class_name});
    checkpoint.require_class(tower.tokenizer, {"CLIPTokenizer", "CLIPTokenizerFast"});
    needed.insert(needed.end(), {tower.encoder, tower.tokenizer});
  }
  checkpoint.require_class("unet", {"UNet2DConditionModel"});
  checkpoint.require_class("vae", {"AutoencoderKL", "AutoencoderTiny"});
  for (std::string& note :
       diffusion::require_known(checkpoint, {.used = needed, .ignored = family.ignored_components, .takes_added = true}))
    config.notes.push_back(std::move(note));
  if (family.read_index) family.read_index(checkpoint.index(), config);
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

// The reference treats a scalar sample_size below 64 in configs older than 0.9.0 as a mistake and replaces it by 64.
std::optional<std::array<int64_t, 2>> native_latents(const Config& file, const parts::UnetConfig& unet) {
  auto size = unet.sample_size;
  const bool plain = size && file.dump("sample_size")[0] != '[';
  if (plain && (*size)[0] < 64 && older_than_0_9(file.text("_diffusers_version", "1"))) size = {64, 64};
  return size;
}

sampling::SchedulerConfig scheduler_as_it_is(const Checkpoint& checkpoint) {
  return sampling::SchedulerConfig::read(checkpoint.config("scheduler"), checkpoint.component("scheduler").class_name);
}

// The UNet's inputs besides its context must be those that the family provides.
void check_added(const StableDiffusionConfig& c, const std::string& where) {
  if (!c.family->sizes) {
    if (c.unet.added)
      fail<UnsupportedError>("{}: the UNet takes pooled text and sizes (addition_embed_type), which {} does not have", where,
                             c.family->name);
    return;
  }
  const size_t sizes = c.family->sizes({}, 64, 64, text::PromptRole::positive, StartsFrom::noise).size();
  const int64_t given = c.towers.back().config.projection + int64_t(sizes) * c.unet.added_of_size;
  if (c.unet.added == 0) fail<WeightError>("{}: the UNet takes no pooled text and sizes (addition_embed_type), expected text_time", where);
  if (c.unet.added != given)
    fail<WeightError>("{}: the UNet takes {} values of pooled text and sizes (projection_class_embeddings_input_dim), expected {}", where,
                      c.unet.added, given);
}

}  // namespace

StableDiffusionConfig StableDiffusionConfig::from(const Checkpoint& checkpoint, const Family& family) {
  StableDiffusionConfig config;
  config.family = &family;
  config.notes = checkpoint.notes();
  check_components(checkpoint, family, config);
  const Config unet_file = checkpoint.config("unet");
  config.unet = parts::UnetConfig::from(unet_file);
  config.native = family.edits_configs ? native_latents(unet_file, config.unet) : config.unet.sample_size;
  config.vae = diffusion::AutoencoderConfig::from(checkpoint);
  if (!config.vae.codec.encodes) config.notes.push_back("the autoencoder is a decoder only: runs cannot start from an image");
  const sampling::SchedulerConfig scheduler = scheduler_as_it_is(checkpoint);
  config.scheduler = scheduler_of(checkpoint, family);
  for (const TowerNames& names : family.towers) config.towers.push_back(clip::tower_of(checkpoint, names));
  if (config.native)
    for (int64_t& side : *config.native) side *= config.vae.codec.factor;
  if (auto* kl = std::get_if<parts::AutoencoderKlConfig>(&config.vae.network)) {
    if (!family.latent_statistics && !kl->latents_std.empty()) {
      kl->latents_mean.clear(), kl->latents_std.clear();
      config.notes.push_back("the autoencoder's latents_mean and latents_std are not applied, as in the reference pipeline");
    }
  }
  std::visit(
      [&config](auto& vae) {
        if (vae.shift_factor == 0) return;
        config.notes.push_back(
            fmt::format("the autoencoder's shift_factor {} is not applied, as in the reference pipeline", vae.shift_factor));
        vae.shift_factor = config.vae.shift_factor = 0;
      },
      config.vae.network);
  if (scheduler.steps_offset != config.scheduler.steps_offset)
    config.notes.push_back(fmt::format("the scheduler's steps_offset is {} instead of {}, as in the reference pipeline",
                                       config.scheduler.steps_offset, scheduler.steps_offset));
  if (scheduler.clip && !config.scheduler.clip) config.notes.push_back("the scheduler's clip_sample is off, as in the reference pipeline");
  config.check(checkpoint.root().string());
  return config;
}

void StableDiffusionConfig::check(const std::string& where) const {
  for (const clip::Tower& tower : towers) clip::check_tower(tower, where);
  if (unet.context != 0 && unet.context != states_width())
    fail<WeightError>("{}: the UNet attends to states of width {} (cross_attention_dim), expected the text encoder's {}", where,
                      unet.context, states_width());
  check_added(*this, where);
  const int64_t C = vae.codec.latent_channels, beside = unet.in_channels - C;  // beside()
  if ((beside != 0 && beside != 1 && beside != C && beside != C + 1) || unet.out_channels != C)
    fail<WeightError>("{}: the UNet has {} input and {} output channels, the autoencoder's latents have {}", where, unet.in_channels,
                      unet.out_channels, C);
  diffusion::require_rgb(vae.in_channels, vae.out_channels, where);
}

sampling::SchedulerConfig scheduler_of(const Checkpoint& checkpoint, const Family& family) {
  const sampling::SchedulerConfig scheduler = scheduler_as_it_is(checkpoint);
  const std::string& pipeline = checkpoint.pipeline_class();
  const bool leaves = pipeline == "StableDiffusionInstructPix2PixPipeline" || pipeline == "StableDiffusionDepth2ImgPipeline";
  if (!family.edits_configs || leaves) return scheduler;
  return scheduler.in_stable_diffusion(pipeline == "StableDiffusionInpaintPipeline");
}

int64_t StableDiffusionConfig::states_width() const {
  int64_t width = 0;
  for (const clip::Tower& tower : towers) width += tower.config.width;
  return width;
}

diffusion::Beside StableDiffusionConfig::beside() const {
  using diffusion::Beside;
  const int64_t C = vae.codec.latent_channels;
  if (unet.in_channels == C + 1) return Beside::depth;
  if (unet.in_channels == 2 * C + 1) return Beside::mask_and_image;
  return unet.in_channels == 2 * C ? Beside::image : Beside::nothing;
}

}  // namespace hearth::models::stable_diffusion
