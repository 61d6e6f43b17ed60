#include "models/aura_flow/model.h"

#include <algorithm>
#include <array>

#include "core/error.h"
#include "models/diffusion/checks.h"
#include "models/t5/options.h"
#include "models/t5/prompt_reader.h"

namespace hearth::models::aura_flow {
namespace {

using diffusion::Role;

constexpr std::array aura_flow_options{t5::max_sequence_length_option("256")};

}  // namespace

std::span<const Option> options() { return aura_flow_options; }

AuraFlow::AuraFlow(const Checkpoint& checkpoint) : config_(AuraFlowConfig::from(checkpoint)) {
  t5_ = components_.add<parts::T5EncoderModel>("text_encoder", Role::text_encoder,
                                               [c = config_.t5](const Scope& w) { return parts::T5EncoderModel(w, c); });
  transformer_ =
      components_.add<Transformer>("transformer", Role::denoiser, [c = config_.transformer](const Scope& w) { return Transformer(w, c); });
  codec_ =
      components_.add<diffusion::Codec>("vae", Role::codec, [c = config_.vae](const Scope& w) { return diffusion::Autoencoder(w, c); });
  const TransformerConfig& t = config_.transformer;
  const int64_t most = t.side() * t.patch * config_.vae.codec.factor;
  const int64_t side = std::min<int64_t>(1024, most);  // the reference's pipeline has a fixed size
  facts_ = {.family = family_name,
            .options = options(),
            .codec = config_.vae.codec,
            .scheduler = config_.scheduler,
            .native = {{side, side}},
            .notes = config_.notes,
            .patch = t.patch,
            .most_side = most,
            .rounds_calls_up = true,
            .guidance = 3.5};
}

void AuraFlow::check_guidance(const sampling::Guidance& g) const {
  if (g.method->perturbation != sampling::Perturbation::none)
    fail<UnsupportedError>("guidance '{}': not supported by the transformer of {}", g.method->name, family_name);
}

std::unique_ptr<diffusion::ReadPrompts> AuraFlow::read_prompts(const ImageTask& task, bool use_negative, Backend&,
                                                               ResolvedImage& resolved) const {
  return std::make_unique<t5::TextPrompts>("text_encoder", t5_, config_.tokenizer, text_rules, t5::Padding{.masked = true, .zeroed = true},
                                           task, use_negative, resolved);
}

Tensor AuraFlow::denoise(const diffusion::Loaded& networks, const Tensor& x, float timestep, const diffusion::Call& call) const {
  const float time = timestep / 1000;
  return networks[transformer_](x, {&time, 1}, call.given[t5::text_states]);
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
  checks.attempt("tokenizer", [&] { tokenizer_of(checkpoint); });
  checks.attempt("scheduler", [&] { scheduler_of(checkpoint); });
  return checks.finish([&] { AuraFlowConfig::from(checkpoint); });
}

std::vector<std::unique_ptr<PromptReader>> prompt_readers(const Checkpoint& checkpoint) {
  std::vector<std::unique_ptr<PromptReader>> readers;
  readers.push_back(std::make_unique<t5::T5PromptReader>(
      tokenizer_of(checkpoint), "text_encoder", t5::RowLengths{.plain = text_rules.rows, .comfyui = text_rules.least_rows_in_comfyui}));
  return readers;
}

}  // namespace hearth::models::aura_flow
