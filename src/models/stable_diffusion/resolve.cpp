#include "models/stable_diffusion/resolve.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/error.h"
#include "sampling/run_schedule.h"

namespace hearth::models::stable_diffusion {
namespace {

void check_side(std::string_view name, int64_t side, int64_t factor) {
  constexpr int64_t most = int64_t(1) << 20;  // beyond it byte counts would overflow
  if (side < factor || side % factor != 0)
    fail<UsageError>("generate: {} {} does not fit, needed a multiple of {} pixels, {} at least", name, side, factor, factor);
  if (side > most) fail<UsageError>("generate: {} {} does not fit, needed at most {}", name, side, most);
}

void check_guidance(const sampling::Guidance& g, const parts::UnetConfig& unet) {
  if (g.method->disturbance == sampling::Disturbance::skipped_layers)
    fail<UnsupportedError>("guidance '{}': a UNet has no layers that can be skipped", g.method->name);
  if (g.method->disturbance == sampling::Disturbance::identity_attention && !unet.attends_to_itself(perturbed_blocks(g)))
    fail<UnsupportedError>("guidance '{}': this UNet has no self-attention in its {} blocks", g.method->name,
                           std::array{"mid", "down", "up"}[size_t(perturbed_blocks(g))]);
}

void check_discarding(const ImageRequest& request) {
  using sampling::Compat;
  if (request.compat == Compat::diffusers || request.compat == Compat::comfyui)
    fail<UsageError>("schedule: {} has no setting that discards the level before the last; needed compat a1111, or none",
                     name_of(request.compat));
  if (!request.sigmas.empty()) fail<UsageError>("schedule: of given sigmas no level is discarded; needed a schedule");
}

// The levels of a run of so many steps.
sampling::RunSchedule schedule_of(const StableDiffusionConfig& config, const ImageRequest& request, const sampling::Sampler& sampler,
                                  int64_t steps) {
  return sampling::run_schedule(config.scheduler, sampler,
                                {.compat = request.compat,
                                 .name = request.schedule,
                                 .options = {request.schedule_options.begin(), request.schedule_options.end()},
                                 .sigmas = request.sigmas,
                                 .drops_penultimate = request.discard_penultimate,
                                 .common = request.common_levels,
                                 .xl = config.family->sizes != nullptr},
                                steps);
}

// Prompts and guidance of a stage.
void read_for(const StableDiffusionConfig& config, const ImageRequest& request, Resolved& p, Stage& stage, Backend& device) {
  stage.told_guidance = p.guidance.scale;
  const bool twice = !config.unet.guidance && sampling::uses_guidance(p.guidance);
  stage.prompts = read_prompts(config, request, twice || p.sampling->needs_unconditional, device, p);
}

// The refiner's stage, after diffusers' denoising_end and denoising_start: both count the steps whose timesteps are at least
// T − start·T, each on its own schedule. Ends the base's stage.
Stage refining(const StableDiffusionConfig& config, const ImageRequest& request, Resolved& p, Backend& device) {
  const double start = request.refiner_start.value_or(0.8);
  if (!(start > 0 && start < 1))
    fail<UsageError>("generate: the refiner's start {} does not fit, needed more than 0 and less than 1", start);
  if (p.sampling->ends_itself) fail<UnsupportedError>("generate: sampler '{}' has no steps that a refiner could take over", p.sampler);
  if (beside_of(*config.refiner) != Beside::nothing)
    fail<UnsupportedError>("generate: a refiner that takes a picture beside the latents is not supported");
  if (request.stop_after > 0 || request.resume) fail<UnsupportedError>("generate: a run with a refiner cannot be stopped and resumed");
  check_guidance(p.guidance, config.refiner->unet);
  Stage stage;
  stage.steps_to_take = schedule_of(*config.refiner, request, *p.sampling, p.edit.part.steps).levels;
  const auto steps_before = [&](const sampling::Schedule& schedule, const sampling::SchedulerConfig& scheduler) {
    const sampling::Schedule plan = sampling::planned(*p.sampling, schedule, p.sampler_options);
    const auto T = double(scheduler.num_train_timesteps), cutoff = std::nearbyint(T - start * T);
    const auto first = std::ranges::find_if(plan.steps, [&](const sampling::Step& s) { return double(s.at.timestep) < cutoff; });
    const int64_t count = first - plan.steps.begin(), all = int64_t(plan.steps.size());
    if (count == 0 || count == all)
      fail<UsageError>("generate: the refiner's start {} leaves the {} none of {} steps", start, count == 0 ? "model" : "refiner", all);
    return count;
  };
  p.base.end = steps_before(p.base.steps_to_take, config.scheduler);
  stage.begin = steps_before(stage.steps_to_take, config.refiner->scheduler);
  read_for(*config.refiner, for_refiner(request), p, stage, device);
  p.refiner_start = start;
  return stage;
}

}  // namespace

ImageRequest for_refiner(const ImageRequest& request) {
  ImageRequest r = request;
  r.prompt_2 = r.negative_prompt_2 = std::nullopt;
  r.clip_skip_2 = std::nullopt;
  r.sizes.target_size = r.sizes.negative_target_size = std::nullopt;
  return r;
}

sampling::NoiseRequest noise_request(const ImageRequest& r) {
  return {.seed = r.seed,
          .rng = r.rng,
          .eta_seed_delta = r.eta_seed_delta,
          .first_image = r.first_image,
          .given = r.noise,
          .variation = r.variation};
}

parts::UnetConfig::Blocks perturbed_blocks(const sampling::Guidance& g) { return parts::UnetConfig::Blocks(int(g.options.at("layers"))); }

Resolved resolve(const StableDiffusionConfig& config, const ImageRequest& request, Backend& device) {
  Resolved p;
  if (request.batch < 1 || request.batch > 1 << 20)
    fail<UsageError>("generate: a batch of {} pictures does not fit, needed 1 to {}", request.batch, 1 << 20);
  sampling::check(request.compat, noise_request(request));
  if (request.discard_penultimate) check_discarding(request);
  p.guidance = request.guidance;
  p.guidance.any_scale = request.compat == sampling::Compat::comfyui || request.compat == sampling::Compat::a1111;
  if (beside_of(config) == Beside::picture) p.guidance.image_scale = request.image_guidance.value_or(1.5);
  else if (request.image_guidance) fail<UsageError>("generate: an image guidance, but this model does not edit as it is told");
  p.guidance = sampling::resolve(p.guidance);
  check_guidance(p.guidance, config.unet);
  if (!config.native && !(request.width && request.height))
    fail<UsageError>("generate: the checkpoint states no native size; width and height are needed");
  p.height = request.height ? *request.height : (*config.native)[0];
  p.width = request.width ? *request.width : (*config.native)[1];
  const int64_t factor = config.vae.factor();
  check_side("width", p.width, factor);
  check_side("height", p.height, factor);
  if (!config.vae.encodes && !request.edit.pictures.empty())
    fail<UsageError>("generate: a run that goes on from a picture, but the autoencoder is a decoder alone, needed its encoder, too");
  p.batch = request.batch;
  p.latents = {p.batch, p.height / factor, p.width / factor, config.vae.latent_channels};

  p.sampling = request.sampler.empty() ? &sampling::sampler_of(config.scheduler) : &sampling::find_sampler(request.sampler);
  p.guidance.scale *= p.sampling->guidance_factor;
  p.sampler = p.sampling->name;
  p.steps = request.steps;
  p.edit = plan_edit(config, request, *p.sampling, p.width, p.height);
  p.strength = p.edit.strength;
  sampling::Schedule& schedule = p.base.steps_to_take;
  const sampling::RunSchedule whole = schedule_of(config, request, *p.sampling, p.edit.part.steps);
  p.schedule = whole.name;
  schedule = begun_on_the_way(p.edit, request, *p.sampling, whole.levels);
  p.sampler_options = sampling::parse_options(fmt::format("sampler '{}'", p.sampler), p.sampling->options, request.sampler_options);
  for (const auto& others : {sampling::stated_options(*p.sampling, schedule), sampling::own_options(request.compat, *p.sampling)})
    for (const auto& [name, value] : others)
      if (!request.sampler_options.contains(name)) p.sampler_options[name] = value;
  if (!p.sampling->ends_itself && !schedule.steps.empty()) {
    const sampling::Schedule plan = sampling::planned(*p.sampling, schedule, p.sampler_options);
    p.sigmas = plan.sigmas(), p.timesteps = plan.timesteps();
  }
  if (!schedule.steps.empty()) p.network_calls = sampling::network_calls(*p.sampling, schedule, p.sampler_options, device).value_or(0);
  if (request.stop_after < 0) fail<UsageError>("generate: stop after {} steps, needed 1 at least", request.stop_after);
  if (p.sampling->ends_itself && p.batch > 1 && (request.stop_after > 0 || request.resume))
    fail<UsageError>("generate: sampler '{}' goes picture by picture: a batch of {} cannot be stopped and resumed", p.sampler, p.batch);
  if (schedule.clip)
    p.warnings.push_back(
        fmt::format("{} clips every estimate to ±{}, as the reference does: the scheduler's file does not say \"clip_sample\": false",
                    p.sampler, *schedule.clip));

  read_for(config, request, p, p.base, device);
  if (config.refiner) p.refiner = refining(config, request, p, device);
  else if (request.refiner_start) fail<UsageError>("generate: a refiner's start, but no refiner");
  return p;
}

}  // namespace hearth::models::stable_diffusion
