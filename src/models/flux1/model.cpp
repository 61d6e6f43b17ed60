#include "models/flux1/model.h"

#include <cmath>

#include "core/error.h"
#include "models/flux1/control.h"
#include "models/flux1/options.h"
#include "ops/shape_ops.h"

namespace hearth::models::flux1 {
namespace {

using diffusion::Beside, diffusion::ReferenceImages, diffusion::Role, diffusion::ScaleUse;

// Defaults of the reference's pipelines.
double default_guidance(const FluxConfig& c) {
  if (!c.transformer.guidance) return 1;
  return c.beside() == Beside::image_and_mask ? 30 : 3.5;
}

// Forge's: the shift of 4096 tokens, or e for a transformer without guidance.
sampling::FlowTable forge_table(const FluxConfig& c) {
  const double mu = c.transformer.guidance ? sampling::mu_of(c.scheduler.mu_line, 4096) : 1;
  return {.shift = sampling::shift_of(sampling::TimeShift::exponential, mu), .entries = 10000};
}

}  // namespace

Flux::Flux(const Checkpoint& checkpoint) : config_(FluxConfig::from(checkpoint)) {
  encoders_.clip = components_.add<parts::ClipTextModel>("text_encoder", Role::text_encoder,
                                                         [c = config_.clip](const Scope& w) { return parts::ClipTextModel(w, c); });
  encoders_.t5 = components_.add<parts::T5EncoderModel>("text_encoder_2", Role::text_encoder,
                                                        [c = config_.t5](const Scope& w) { return parts::T5EncoderModel(w, c); });
  transformer_ =
      components_.add<Transformer>("transformer", Role::denoiser, [c = config_.transformer](const Scope& w) { return Transformer(w, c); });
  codec_ =
      components_.add<diffusion::Codec>("vae", Role::codec, [c = config_.vae](const Scope& w) { return diffusion::Autoencoder(w, c); });
  redux_ = image_prompt::Redux::add(checkpoint, components_, config_.t5.width);
  if (redux_ && config_.reads_references && !checkpoint.is_single_file())
    fail<UsageError>("open: {} reads reference images itself, expected no --redux", checkpoint.pipeline_class());
  const int64_t side = 128 * config_.vae.codec.factor;  // default_sample_size of the reference's pipelines
  const diffusion::Strengths of_pipelines{.image = 0.6, .mask = config_.beside() == Beside::image_and_mask ? 1 : 0.6};
  facts_ = {.family = family_name,
            .options = options,
            .codec = config_.vae.codec,
            .scheduler = config_.scheduler,
            .native = {{side, side}},
            .notes = config_.notes,
            .patch = 2,
            .rounds_calls_up = true,
            .beside = config_.beside(),
            .reference_images = redux_                     ? ReferenceImages::as_prompt
                                : config_.reads_references ? ReferenceImages::as_latents
                                                           : ReferenceImages::none,
            .scale_use = config_.transformer.guidance ? ScaleUse::input : ScaleUse::none,
            .steps = config_.beside() == Beside::image_and_mask ? 50 : 28,
            .guidance = default_guidance(config_),
            .true_guidance = true_cfg_scale.name,
            .reference_strengths = of_pipelines,
            .flow_in_a1111 = forge_table(config_)};
}

void Flux::check_guidance(const sampling::Guidance& g) const {
  if (g.method->perturbation != sampling::Perturbation::none)
    fail<UnsupportedError>("guidance '{}': not supported by the transformer of {}", g.method->name, family_name);
}

std::unique_ptr<diffusion::ReadPrompts> Flux::read_prompts(const ImageTask& task, bool use_negative, Backend&,
                                                           ResolvedImage& resolved) const {
  redux_scales(task.request.options, redux_ ? task.references.size() : 0);
  const auto images = redux_ && !task.references.empty() ? PromptKind::with_images : PromptKind::text;
  return std::make_unique<Prompts>(config_, encoders_, task, images, use_negative, resolved);
}

diffusion::EncodedPrompt Flux::with_references(const diffusion::Loaded& networks, const ImageTask& task, diffusion::EncodedPrompt prompt,
                                               Backend& host) const {
  return with_image_prompt(*redux_, networks, task, std::move(prompt), host);
}

Tensor Flux::denoise(const diffusion::Loaded& networks, const Tensor& x, float timestep, const diffusion::Call& call) const {
  const int64_t h = x.size(1), w = x.size(2);
  std::vector<Position> positions;
  append_positions(positions, 0, h, w);
  const auto rows = int64_t(positions.size());
  Tensor tokens = pack(call.beside ? ops::concat({x, call.beside}, 3) : x);
  for (size_t i = 0; i < call.references.size(); ++i) {
    const Tensor& latents = call.references[i];
    append_positions(positions, int32_t(i + 1), latents.size(1), latents.size(2));
    tokens = ops::concat({tokens, ops::repeat_batch(pack(latents), x.size(0))}, 1);
  }
  const auto scale = float(call.embedded_guidance);
  const Tensor y = networks[transformer_](tokens, positions, rows,
                                          {.text = call.given[text_states],
                                           .pooled = call.given[pooled_text],
                                           .timesteps = {&timestep, 1},
                                           .guidance = {&scale, config_.transformer.guidance ? size_t(1) : 0}},
                                          call.control ? added_after_blocks(*call.control) : AddedAfterBlocks());
  return unpack(y, h, w);
}

std::shared_ptr<const diffusion::ControlModel> Flux::control_for(GivenComponent& given, const std::shared_ptr<TensorSource>&) const {
  return flux1::control_for(given, config_);
}

}  // namespace hearth::models::flux1
