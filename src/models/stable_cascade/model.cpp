#include "models/stable_cascade/model.h"

#include <array>
#include <stdexcept>

#include "core/error.h"
#include "models/clip/options.h"
#include "models/clip/prompt_reader.h"
#include "models/diffusion/checks.h"
#include "models/stable_cascade/sizes.h"

namespace hearth::models::stable_cascade {
namespace {

using diffusion::Role;

constexpr Option decoder_steps{.name = "decoder_steps",
                               .type = Option::Type::integer,
                               .summary = "Steps of the decoder, which makes the images' latents from those of the prior",
                               .standard = "10",
                               .least = 1,
                               .after = "steps",
                               .stated = true};
constexpr Option decoder_guidance{.name = "decoder_guidance",
                                  .type = Option::Type::number,
                                  .summary = "Guidance scale of the decoder; up to 1 it works without the negative prompt",
                                  .standard = "0",
                                  .after = "guidance",
                                  .stated = true};
constexpr std::array cascade_options{clip::clip_skip_option("1"), decoder_steps, decoder_guidance};

void refuse_perturbation(const sampling::Guidance& g) {
  if (g.method->perturbation != sampling::Perturbation::none)
    fail<UnsupportedError>("guidance '{}': not supported by the networks of {}", g.method->name, family_name);
}

const auto make_unet = [](const UnetConfig& config) { return [config](const Scope& w) { return Unet(w, config); }; };

}  // namespace

std::span<const Option> options() { return cascade_options; }

StableCascade::StableCascade(const Checkpoint& checkpoint) : config_(CascadeConfig::from(checkpoint)) {
  const Names& names = config_.names;
  text_encoder_ =
      components_.add<parts::ClipTextModel>(std::string(names.text_encoder), Role::text_encoder,
                                            [c = config_.towers[0].config](const Scope& w) { return parts::ClipTextModel(w, c); });
  if (config_.image)
    image_encoder_ =
        components_.add<parts::ClipVisionModel>(std::string(names.image_encoder), Role::image_encoder,
                                                [c = config_.image->config](const Scope& w) { return parts::ClipVisionModel(w, c); });
  prior_ = components_.add<Unet>(std::string(names.prior), Role::denoiser, make_unet(config_.prior));
  codec_ = components_.add<diffusion::Codec>("vqgan", Role::codec, [c = config_.vqgan](const Scope& w) { return StageA(w, c); });
  facts_ = {.family = family_name,
            .options = options(),
            .codec = config_.vqgan.codec(),
            .scheduler = config_.prior_scheduler,
            .native = {{1024, 1024}},
            .notes = config_.notes,
            .patch = 2,
            .size_of_run = size_of_run,
            .reference_images = config_.image ? diffusion::ReferenceImages::as_prompt : diffusion::ReferenceImages::none,
            .steps = 20,
            .guidance = 4,
            .own_latents = {{.channels = config_.prior.in_channels, .size = prior_latents}}};
}

void StableCascade::check_guidance(const sampling::Guidance& g) const { refuse_perturbation(g); }

std::unique_ptr<diffusion::ReadPrompts> StableCascade::read_prompts(const ImageTask& task, bool use_negative, Backend& host,
                                                                    ResolvedImage& resolved) const {
  return std::make_unique<Prompts>(config_, text_encoder_, task, use_negative, host, resolved);
}

diffusion::EncodedPrompt StableCascade::with_references(const diffusion::Loaded& networks, const ImageTask& task,
                                                        diffusion::EncodedPrompt prompt, Backend& host) const {
  return with_images(networks[image_encoder_], config_.image->processor, task, std::move(prompt), host);
}

Tensor StableCascade::denoise(const diffusion::Loaded& networks, const Tensor& x, float timestep, const diffusion::Call& call) const {
  return networks[prior_](
      x, {.ratio = timestep, .pooled = call.given[clip::pooled], .text = call.given[clip::states], .image = call.given[image_vectors]});
}

std::unique_ptr<const diffusion::LatentModel> StableCascade::second() const { return std::make_unique<CascadeDecoder>(config_); }

CascadeDecoder::CascadeDecoder(const CascadeConfig& config) {
  decoder_ = components_.add<Unet>("decoder", Role::denoiser, make_unet(config.decoder));
  facts_ = {.family = family_name,
            .options = options(),
            .codec = config.vqgan.codec(),
            .scheduler = config.scheduler,
            .patch = 2,
            .steps = 10,
            .guidance = 0,
            .steps_option = decoder_steps.name,
            .guidance_option = decoder_guidance.name};
}

void CascadeDecoder::check_guidance(const sampling::Guidance& g) const { refuse_perturbation(g); }

std::unique_ptr<diffusion::ReadPrompts> CascadeDecoder::read_prompts(const ImageTask&, bool, Backend&, ResolvedImage&) const {
  throw std::logic_error("stable_cascade: the decoder has the prior's prompts");
}

Tensor CascadeDecoder::denoise(const diffusion::Loaded& networks, const Tensor& x, float timestep, const diffusion::Call& call) const {
  return networks[decoder_](x, {.ratio = timestep, .pooled = call.given[clip::pooled], .features = call.before});
}

std::vector<ComponentCheck> check(const Checkpoint& checkpoint, const std::string& variant) {
  diffusion::Checks checks(checkpoint, variant);
  const auto builds_unet = [&](const char* name) {
    if (checkpoint.has(name))
      checks.builds(
          name, [&] { return unet_config(checkpoint, name); }, [](const Scope& w, const UnetConfig& c) { Unet(w, c); });
  };
  for (const char* name : {"prior", "prior_prior", "decoder"}) builds_unet(name);
  for (const char* name : {"text_encoder", "prior_text_encoder"})
    if (checkpoint.has(name))
      checks.builds(
          name, [&] { return parts::ClipTextConfig::from(checkpoint.config(name), checkpoint.component(name).class_name); },
          [](const Scope& w, const auto& c) { parts::ClipTextModel(w, c); });
  for (const char* name : {"image_encoder", "prior_image_encoder"})
    if (checkpoint.has(name))
      checks.builds(
          name, [&] { return parts::ClipVisionConfig::from(checkpoint.config(name)); },
          [](const Scope& w, const auto& c) { parts::ClipVisionModel(w, c); });
  if (checkpoint.has("vqgan"))
    checks.builds(
        "vqgan", [&] { return vqgan_config(checkpoint); }, [](const Scope& w, const StageAConfig& c) { StageA(w, c); });
  if (checkpoint.has("scheduler")) checks.attempt("scheduler", [&] { scheduler_of(checkpoint); });
  return checks.finish([&] { CascadeConfig::from(checkpoint); });
}

std::vector<std::unique_ptr<PromptReader>> prompt_readers(const Checkpoint& checkpoint) {
  Names names{.text_encoder = "text_encoder", .tokenizer = "tokenizer"};
  if (checkpoint.has("prior_text_encoder")) names = {.text_encoder = "prior_text_encoder", .tokenizer = "prior_tokenizer"};
  clip::Tower tower = clip::tower_of(checkpoint, tower_names(names));
  std::vector<std::unique_ptr<PromptReader>> readers;
  readers.push_back(std::make_unique<clip::ClipPromptReader>(std::move(tower.tokenizer), std::string(names.text_encoder),
                                                             std::string(tower.names.embedding), tower.config.width));
  return readers;
}

}  // namespace hearth::models::stable_cascade
