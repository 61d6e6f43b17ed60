#include "models/hunyuan_dit/model.h"

#include <algorithm>

#include "core/error.h"
#include "models/diffusion/checks.h"
#include "models/diffusion/size_options.h"
#include "models/hunyuan_dit/control.h"
#include "models/hunyuan_dit/sizes.h"
#include "models/stable_diffusion/size_options.h"
#include "models/t5/prompt_reader.h"
#include "models/t5/tokenizer.h"
#include "ops/shape_ops.h"

namespace hearth::models::hunyuan_dit {
namespace {

using diffusion::Role;

constexpr Option original_size = [] {
  Option option = stable_diffusion::original_size;
  option.standard = "1024x1024";
  return option;
}();
constexpr std::array hunyuan_options{diffusion::no_resolution_binning, original_size, stable_diffusion::target_size,
                                     stable_diffusion::crop};

}  // namespace

std::span<const Option> options() { return hunyuan_options; }

HunyuanDit::HunyuanDit(const Checkpoint& checkpoint) : config_(HunyuanConfig::from(checkpoint)) {
  encoders_.bert = components_.add<parts::BertModel>("text_encoder", Role::text_encoder,
                                                     [c = config_.bert](const Scope& w) { return parts::BertModel(w, c); });
  encoders_.t5 = components_.add<parts::T5EncoderModel>("text_encoder_2", Role::text_encoder,
                                                        [c = config_.t5](const Scope& w) { return parts::T5EncoderModel(w, c); });
  transformer_ =
      components_.add<Transformer>("transformer", Role::denoiser, [c = config_.transformer](const Scope& w) { return Transformer(w, c); });
  codec_ =
      components_.add<diffusion::Codec>("vae", Role::codec, [c = config_.vae](const Scope& w) { return diffusion::Autoencoder(w, c); });
  const TransformerConfig& t = config_.transformer;
  const int64_t side = t.sample_size * config_.vae.codec.factor;
  facts_ = {.family = family_name,
            .options = t.conditions ? options() : options().subspan(0, 1),  // only the first applies to networks without sizes
            .codec = config_.vae.codec,
            .scheduler = config_.scheduler,
            .native = {{side, side}},
            .notes = config_.notes,
            .patch = t.patch,
            .size_of_run = size_of_run,
            .without_size_of_run = diffusion::no_resolution_binning.name,
            .guidance = 5};
}

void HunyuanDit::check_guidance(const sampling::Guidance& g) const {
  if (g.method->perturbation != sampling::Perturbation::none)
    fail<UnsupportedError>("guidance '{}': not supported by the transformer of {}", g.method->name, family_name);
}

std::unique_ptr<diffusion::ReadPrompts> HunyuanDit::read_prompts(const ImageTask& task, bool use_negative, Backend&,
                                                                 ResolvedImage& resolved) const {
  return std::make_unique<Prompts>(config_, encoders_, task, use_negative, resolved);
}

Tensor HunyuanDit::denoise(const diffusion::Loaded& networks, const Tensor& x, float timestep, const diffusion::Call& call) const {
  const Tensor y = networks[transformer_](x, inputs_of(call.given, {&timestep, 1}), added_to_skips(call.control));
  return ops::contiguous(y.slice(3, 0, x.size(3)));  // the other half is the variance, which no sampler uses
}

std::shared_ptr<const diffusion::ControlModel> HunyuanDit::control_for(GivenComponent& given, const std::shared_ptr<TensorSource>&) const {
  return hunyuan_dit::control_for(given, config_);
}

std::vector<ComponentCheck> check(const Checkpoint& checkpoint, const std::string& variant) {
  diffusion::Checks checks(checkpoint, variant);
  checks.builds(
      "text_encoder", [&] { return bert_config(checkpoint); }, [](const Scope& w, const auto& c) { parts::BertModel(w, c); });
  checks.builds(
      "text_encoder_2", [&] { return t5_config(checkpoint); }, [](const Scope& w, const auto& c) { parts::T5EncoderModel(w, c); });
  checks.builds(
      "transformer", [&] { return TransformerConfig::from(checkpoint.config("transformer")); },
      [](const Scope& w, const auto& c) { Transformer(w, c); });
  checks.builds(
      "vae", [&] { return diffusion::AutoencoderConfig::from(checkpoint); },
      [](const Scope& w, const auto& c) { diffusion::Autoencoder(w, c); });
  checks.attempt("tokenizer", [&] { bert_tokenizer(checkpoint); });
  checks.attempt("tokenizer_2", [&] { t5::tokenizer_of(checkpoint, "tokenizer_2"); });
  checks.attempt("scheduler", [&] { scheduler_of(checkpoint); });
  return checks.finish([&] { HunyuanConfig::from(checkpoint); });
}

std::vector<std::unique_ptr<PromptReader>> prompt_readers(const Checkpoint& checkpoint) {
  const TransformerConfig transformer = TransformerConfig::from(checkpoint.config("transformer"));
  text::Tokenizer bert = bert_tokenizer(checkpoint);
  const t5::RowReading reading = bert_reading(bert, transformer.text_rows);
  std::vector<std::unique_ptr<PromptReader>> readers;
  readers.push_back(std::make_unique<t5::T5PromptReader>(
      std::move(bert), "text_encoder",
      t5::RowLengths{.plain = transformer.text_rows, .comfyui = transformer.text_rows, .ends = reading.ends}));
  readers.push_back(std::make_unique<t5::T5PromptReader>(t5::tokenizer_of(checkpoint, "tokenizer_2"), "text_encoder_2",
                                                         t5::RowLengths{.plain = transformer.t5_rows, .comfyui = transformer.t5_rows}));
  return readers;
}

}  // namespace hearth::models::hunyuan_dit
