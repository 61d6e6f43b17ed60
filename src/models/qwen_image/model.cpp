#include "models/qwen_image/model.h"

#include <limits>

#include "core/error.h"
#include "models/diffusion/checks.h"
#include "models/diffusion/transformer_control.h"
#include "models/qwen_image/control.h"
#include "models/qwen_image/options.h"
#include "models/slots.h"
#include "ops/shape_ops.h"

namespace hearth::models::qwen_image {
namespace {

using diffusion::ReferenceImages, diffusion::Role;

constexpr int64_t patch = 2;  // latent pixels of a token, each way
constexpr std::pair<std::string_view, std::string_view> norms_of_tokens[] = {{"patch", "2"}};

}  // namespace

diffusion::CodecConfig codec_config(const parts::AutoencoderWanConfig& c) {
  return {.latent_channels = c.latent_channels, .factor = c.factor(), .tile = parts::AutoencoderWan::default_tile};
}

QwenImage::QwenImage(const Checkpoint& checkpoint) : config_(QwenImageConfig::from(checkpoint)) {
  encoders_.text = components_.add<TextEncoder>("text_encoder", Role::text_encoder,
                                                [c = config_.text_encoder](const Scope& w) { return TextEncoder(w, c); });
  if (config_.added_vision)  // loaded with the text encoder, as part of which it computes
    encoders_.vision = components_.add<parts::QwenVision>(std::string(slots::image_encoder.name), Role::text_encoder,
                                                          [c = *config_.added_vision](const Scope& w) { return parts::QwenVision(w, c); });
  transformer_ =
      components_.add<Transformer>("transformer", Role::denoiser, [c = config_.transformer](const Scope& w) { return Transformer(w, c); });
  codec_ = components_.add<diffusion::Codec>("vae", Role::codec, [c = config_.vae](const Scope& w) { return WanCodec(w, c); });
  facts_ = {.family = family_name,
            .options = options,
            .codec = codec_config(config_.vae),
            .scheduler = config_.scheduler,
            .native = {{1024, 1024}},
            .notes = config_.notes,
            .patch = patch,
            .rounds_calls_up = true,
            .reference_images = config_.edits ? ReferenceImages::as_latents : ReferenceImages::none,
            .size_of_reference = config_.edits ? &size_of_reference : nullptr,
            .has_size_of_reference = config_.edits.has_value(),
            .guidance = 4,
            .guidance_needs_negative = true,
            .guidance_method = "norm_preserving",
            .guidance_options = norms_of_tokens,
            .reference_strengths = {.image = 0.6, .mask = 0.6}};
}

void QwenImage::check_guidance(const sampling::Guidance& g) const {
  if (g.method->perturbation != sampling::Perturbation::none)
    fail<UnsupportedError>("guidance '{}': not supported by the transformer of {}", g.method->name, family_name);
}

std::unique_ptr<diffusion::ReadPrompts> QwenImage::read_prompts(const ImageTask& task, bool use_negative, Backend&,
                                                                ResolvedImage& resolved) const {
  return std::make_unique<Prompts>(config_, encoders_, task, use_negative, resolved);
}

Tensor QwenImage::denoise(const diffusion::Loaded& networks, const Tensor& x, float timestep, const diffusion::Call& call) const {
  std::vector<Grid> images;
  const auto tokens_of = [&](const Tensor& latents) {
    images.push_back(grid_of(latents));
    return pack(latents);
  };
  std::vector<Tensor> tokens{tokens_of(x)};
  for (const Tensor& latents : call.references) tokens.push_back(ops::repeat_batch(tokens_of(latents), x.size(0)));
  const Tensor y = networks[transformer_](tokens.size() == 1 ? tokens[0] : ops::concat(tokens, 1), images,
                                          {.text = call.given[text_states], .timesteps = {&timestep, 1}},
                                          call.control ? diffusion::lists_of_blocks(*call.control) : AddedAfterBlocks());
  return unpack(y, x.size(1), x.size(2));
}

std::shared_ptr<const diffusion::ControlModel> QwenImage::control_for(GivenComponent& given, const std::shared_ptr<TensorSource>&) const {
  return qwen_image::control_for(given, config_);
}

std::vector<ComponentCheck> check(const Checkpoint& checkpoint, const std::string& variant) {
  diffusion::Checks checks(checkpoint, variant);
  checks.builds(
      "text_encoder", [&] { return text_encoder_of(checkpoint); }, [](const Scope& w, const auto& c) { TextEncoder(w, c); });
  checks.builds(
      "transformer", [&] { return TransformerConfig::from(checkpoint.config("transformer")); },
      [](const Scope& w, const auto& c) { Transformer(w, c); });
  checks.builds(
      "vae", [&] { return vae_of(checkpoint); }, [](const Scope& w, const auto& c) { WanCodec(w, c); });
  if (checkpoint.is_added(slots::image_encoder.name))
    checks.builds(
        slots::image_encoder.name, [&] { return *added_vision_of(checkpoint); },
        [](const Scope& w, const auto& c) { parts::QwenVision(w, c); });
  checks.attempt("tokenizer", [&] { tokenizer_of(checkpoint); });
  checks.attempt("scheduler", [&] { scheduler_of(checkpoint); });
  return checks.finish([&] { QwenImageConfig::from(checkpoint); });
}

std::vector<std::unique_ptr<PromptReader>> prompt_readers(const Checkpoint& checkpoint) {
  std::vector<std::unique_ptr<PromptReader>> readers;
  const std::optional<Edits> edits = edits_of(checkpoint);
  const int64_t most = edits ? std::numeric_limits<int32_t>::max() : dropped_tokens + default_length;
  readers.push_back(std::make_unique<language_encoder::ChatPromptReader>(
      tokenizer_of(checkpoint), "text_encoder", edits ? edits->form : prompt_form, language_encoder::RowLength{.most = most}));
  return readers;
}

}  // namespace hearth::models::qwen_image
