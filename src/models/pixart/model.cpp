#include "models/pixart/model.h"

#include <array>

#include "core/error.h"
#include "models/diffusion/checks.h"
#include "models/diffusion/size_options.h"
#include "models/diffusion/sizes.h"
#include "models/t5/options.h"
#include "models/t5/prompt_reader.h"
#include "models/t5/tokenizer.h"
#include "ops/shape_ops.h"

namespace hearth::models::pixart {
namespace {

using diffusion::Role;

constexpr std::array pixart_options{t5::max_sequence_length_option("300, of α 120"), diffusion::no_resolution_binning};

// Masks padding in both networks. ComfyUI has no padding, except for the empty text of a weight's difference.
constexpr t5::Padding padding{.masked = true, .makes_empty_text = true};

}  // namespace

std::span<const Option> options() { return pixart_options; }

Pixart::Pixart(const Checkpoint& checkpoint) : config_(PixartConfig::from(checkpoint)) {
  t5_ = components_.add<parts::T5EncoderModel>("text_encoder", Role::text_encoder,
                                               [c = config_.t5](const Scope& w) { return parts::T5EncoderModel(w, c); });
  transformer_ =
      components_.add<Transformer>("transformer", Role::denoiser, [c = config_.transformer](const Scope& w) { return Transformer(w, c); });
  codec_ =
      components_.add<diffusion::Codec>("vae", Role::codec, [c = config_.vae](const Scope& w) { return diffusion::Autoencoder(w, c); });
  const int64_t side = config_.transformer.sample_size * config_.vae.codec.factor;
  facts_ = {.family = family_name,
            .options = options(),
            .codec = config_.vae.codec,
            .scheduler = config_.scheduler,
            .native = {{side, side}},
            .notes = config_.notes,
            .patch = config_.transformer.patch,
            // The reference chooses the table by sample_size, whatever the autoencoder. α's pipeline has none for 2048 pixels.
            .size_of_run = config_.transformer.sample_size <= (config_.sigma ? 256 : 128)
                               ? diffusion::size_of_run(8 * config_.transformer.sample_size)
                               : nullptr,
            .without_size_of_run = diffusion::no_resolution_binning.name,
            .resizes_to_request = true,
            .steps = 20,
            .guidance = 4.5};
}

void Pixart::check_guidance(const sampling::Guidance& g) const {
  if (g.method->perturbation != sampling::Perturbation::none)
    fail<UnsupportedError>("guidance '{}': not supported by the transformer of {}", g.method->name, family_name);
}

std::unique_ptr<diffusion::ReadPrompts> Pixart::read_prompts(const ImageTask& task, bool use_negative, Backend&,
                                                             ResolvedImage& resolved) const {
  return std::make_unique<t5::TextPrompts>("text_encoder", t5_, config_.tokenizer, text_rules(config_.sigma), padding, task, use_negative,
                                           resolved);
}

Tensor Pixart::denoise(const diffusion::Loaded& networks, const Tensor& x, float timestep, const diffusion::Call& call) const {
  const int64_t factor = config_.vae.codec.factor;
  const Tensor y = networks[transformer_](x, {.text = call.given[t5::text_states],
                                              .lengths = call.given.lengths.find(t5::text_states)->second,
                                              .timesteps = {&timestep, 1},
                                              .height = float(x.size(1) * factor),
                                              .width = float(x.size(2) * factor)});
  if (y.size(3) == x.size(3)) return y;
  return ops::contiguous(y.slice(3, 0, x.size(3)));  // the other half is the variance, which no sampler uses
}

std::vector<ComponentCheck> check(const Checkpoint& checkpoint, const std::string& variant) {
  diffusion::Checks checks(checkpoint, variant);
  checks.builds(
      "text_encoder", [&] { return t5_config(checkpoint); }, [](const Scope& w, const auto& c) { parts::T5EncoderModel(w, c); });
  checks.builds(
      "transformer", [&] { return TransformerConfig::from(checkpoint.config("transformer")); },
      [](const Scope& w, const auto& c) { Transformer(w, c); });
  checks.builds(
      "vae", [&] { return diffusion::AutoencoderConfig::from(checkpoint); },
      [](const Scope& w, const auto& c) { diffusion::Autoencoder(w, c); });
  checks.attempt("tokenizer", [&] { t5::tokenizer_of(checkpoint, "tokenizer"); });
  checks.attempt("scheduler", [&] { scheduler_of(checkpoint); });
  return checks.finish([&] { PixartConfig::from(checkpoint); });
}

std::vector<std::unique_ptr<PromptReader>> prompt_readers(const Checkpoint& checkpoint) {
  const t5::TextRules rules = text_rules(is_sigma(checkpoint));
  std::vector<std::unique_ptr<PromptReader>> readers;
  readers.push_back(std::make_unique<t5::T5PromptReader>(
      t5::tokenizer_of(checkpoint, "tokenizer"), "text_encoder",
      t5::RowLengths{.plain = rules.rows, .comfyui = rules.least_rows_in_comfyui, .lower = rules.lower}));
  return readers;
}

}  // namespace hearth::models::pixart
