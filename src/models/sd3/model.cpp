#include "models/sd3/model.h"

#include <fmt/ranges.h>

#include <array>

#include "core/error.h"
#include "models/clip/files.h"
#include "models/clip/options.h"
#include "models/clip/prompt_reader.h"
#include "models/diffusion/checks.h"
#include "models/diffusion/transformer_control.h"
#include "models/sd3/control.h"
#include "models/sd3/prompts.h"
#include "models/t5/options.h"
#include "models/t5/prompt_reader.h"
#include "models/t5/tokenizer.h"
#include "ops/shape_ops.h"

namespace hearth::models::sd3 {
namespace {

constexpr Option prompt_3{.name = "prompt_3",
                          .type = Option::Type::text,
                          .summary = "Prompt of the third text encoder",
                          .standard = "--prompt",
                          .after = "negative_prompt"};
constexpr Option negative_prompt_3{.name = "negative_prompt_3",
                                   .type = Option::Type::text,
                                   .summary = "Negative prompt of the third text encoder",
                                   .standard = "--negative-prompt",
                                   .after = "negative_prompt"};
constexpr Option no_t5{.name = "no_t5",
                       .type = Option::Type::toggle,
                       .summary = "Do without the third text encoder (T5), which takes most memory: it is neither loaded nor required",
                       .standard = "off",
                       .after = "emphasis"};
constexpr std::array sd3_options{clip::prompt_2,
                                 clip::negative_prompt_2,
                                 prompt_3,
                                 negative_prompt_3,
                                 clip::clip_skip_option("2"),
                                 clip::clip_skip_2,
                                 t5::max_sequence_length_option("256"),
                                 no_t5};

std::vector<int64_t> skipped_layers(const sampling::Guidance& g) { return sampling::indices_of(g.options.at("layers")); }

}  // namespace

std::span<const Option> options() { return sd3_options; }

Sd3Model::Sd3Model(const Checkpoint& checkpoint) : config_(Sd3Config::from(checkpoint)) {
  for (const clip::Tower& tower : config_.towers)
    clip_.push_back(
        components_.add<parts::ClipTextModel>(std::string(tower.names.encoder), diffusion::Role::text_encoder,
                                              [config = tower.config](const Scope& w) { return parts::ClipTextModel(w, config); }));
  if (config_.t5)
    t5_ = components_.add<parts::T5EncoderModel>("text_encoder_3", diffusion::Role::text_encoder,
                                                 [config = *config_.t5](const Scope& w) { return parts::T5EncoderModel(w, config); });
  transformer_ = components_.add<Mmdit>("transformer", diffusion::Role::denoiser,
                                        [config = config_.transformer](const Scope& w) { return Mmdit(w, config); });
  codec_ = components_.add<diffusion::Codec>("vae", diffusion::Role::codec,
                                             [config = config_.vae](const Scope& w) { return diffusion::Autoencoder(w, config); });
  const MmditConfig& t = config_.transformer;
  const int64_t factor = config_.vae.codec.factor, side = t.sample_size * factor;
  facts_ = {.family = "sd3",
            .options = options(),
            .codec = config_.vae.codec,
            .scheduler = config_.scheduler,
            .native = {{side, side}},
            .notes = config_.notes,
            .patch = t.patch,
            .most_side = t.position_side * t.patch * factor,
            .rounds_calls_up = true,
            .beside = config_.is_inpainting() ? diffusion::Beside::mask_and_image : diffusion::Beside::nothing,
            .steps = 28,
            .guidance = 7,
            .reference_strengths = {.image = 0.6, .mask = 0.6},
            .flow_in_a1111 = sampling::FlowTable{.shift = config_.scheduler.shift, .entries = config_.scheduler.num_train_timesteps}};
}

void Sd3Model::check_guidance(const sampling::Guidance& g) const {
  if (g.method->perturbation == sampling::Perturbation::identity_attention)
    fail<UnsupportedError>("guidance '{}': not supported for this transformer, whose attention is that of image and text together",
                           g.method->name);
  if (g.method->perturbation != sampling::Perturbation::skipped_layers) return;
  const std::vector<int64_t> layers = skipped_layers(g);
  if (layers.back() >= config_.transformer.layers)
    fail<UsageError>("guidance '{}': layers is {}, expected blocks from 0 to {}", g.method->name, fmt::join(layers, ","),
                     config_.transformer.layers - 1);
}

std::unique_ptr<diffusion::ReadPrompts> Sd3Model::read_prompts(const ImageTask& task, bool use_negative, Backend& host,
                                                               ResolvedImage& resolved) const {
  return std::make_unique<Sd3Prompts>(config_, clip_, t5_, task, use_negative, host, resolved);
}

Tensor Sd3Model::denoise(const diffusion::Loaded& networks, const Tensor& x, float timestep, const diffusion::Call& call) const {
  SkippedLayers skipped;
  if (call.perturbed > 0) skipped = {skipped_layers(*call.guidance), call.perturbed};
  const Tensor input = call.beside ? ops::concat({x, call.beside}, 3) : x;
  const AddedAfterBlocks added = call.control ? diffusion::lists_of_blocks(*call.control) : AddedAfterBlocks();
  return networks[transformer_](input, {&timestep, 1}, call.given[clip::states], call.given[clip::pooled], skipped, added);
}

std::shared_ptr<const diffusion::ControlModel> Sd3Model::control_for(GivenComponent& given,
                                                                     const std::shared_ptr<TensorSource>& denoiser) const {
  return sd3::control_for(given, denoiser, config_);
}

std::vector<ComponentCheck> check(const Checkpoint& checkpoint, const std::string& variant) {
  diffusion::Checks checks(checkpoint, variant);
  checks.builds(
      "text_encoder", [&] { return first_tower(checkpoint).config; },
      [](const Scope& w, const parts::ClipTextConfig& c) { parts::ClipTextModel(w, c); });
  checks.builds(
      "text_encoder_2",
      [&] { return parts::ClipTextConfig::from(checkpoint.config("text_encoder_2"), checkpoint.component("text_encoder_2").class_name); },
      [](const Scope& w, const parts::ClipTextConfig& c) { parts::ClipTextModel(w, c); });
  if (t5_of(checkpoint) == Sd3Config::T5::present)
    checks.builds(
        "text_encoder_3",
        [&] { return parts::T5Config::from(checkpoint.config("text_encoder_3"), checkpoint.component("text_encoder_3").class_name); },
        [](const Scope& w, const parts::T5Config& c) { parts::T5EncoderModel(w, c); });
  checks.builds(
      "transformer", [&] { return MmditConfig::from(checkpoint.config("transformer")); },
      [](const Scope& w, const MmditConfig& c) { Mmdit(w, c); });
  checks.builds(
      "vae", [&] { return diffusion::AutoencoderConfig::from(checkpoint); },
      [](const Scope& w, const diffusion::AutoencoderConfig& c) { diffusion::Autoencoder(w, c); });
  for (const char* tokenizer : {"tokenizer", "tokenizer_2"})
    checks.attempt(tokenizer, [&] { text::ClipTokenizer::parse(clip::clip_files(checkpoint, tokenizer)); });
  if (t5_of(checkpoint) == Sd3Config::T5::present) checks.attempt("tokenizer_3", [&] { t5::tokenizer_of(checkpoint, "tokenizer_3"); });
  checks.attempt("scheduler", [&] { scheduler_of(checkpoint); });
  return checks.finish([&] { Sd3Config::from(checkpoint); });
}

std::vector<std::unique_ptr<PromptReader>> prompt_readers(const Checkpoint& checkpoint) {
  std::vector<std::unique_ptr<PromptReader>> readers;
  for (clip::Tower& tower : std::vector{first_tower(checkpoint), second_tower(checkpoint)})
    readers.push_back(std::make_unique<clip::ClipPromptReader>(std::move(tower.tokenizer), std::string(tower.names.encoder),
                                                               std::string(tower.names.embedding), tower.config.width));
  if (checkpoint.has("tokenizer_3") && t5_of(checkpoint) == Sd3Config::T5::present)
    readers.push_back(
        std::make_unique<t5::T5PromptReader>(t5::tokenizer_of(checkpoint, "tokenizer_3"), "text_encoder_3", t5::RowLengths()));
  return readers;
}

}  // namespace hearth::models::sd3
