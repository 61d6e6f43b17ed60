#include "models/stable_diffusion/resolve.h"

#include <array>
#include <utility>

#include "core/error.h"
#include "sampling/names.h"
#include "sampling/scheduler_samplers.h"

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

sampling::ScheduleChoice chosen_schedule(const ImageRequest& request, const sampling::Sampler& sampler) {
  const sampling::ScheduleOptions options(request.schedule_options.begin(), request.schedule_options.end());
  if (!request.sigmas.empty()) {
    if (!request.schedule.empty() || !options.empty()) fail<UsageError>("generate: sigmas and a schedule, needed one of them");
    return sampling::given_sigmas(request.sigmas, sampling::SigmaFamily::exploding);
  }
  const bool automatic = sampling::folded(request.schedule) == "automatic";
  const std::string name = automatic ? std::string(sampler.schedule) : request.schedule;
  return sampling::find_schedule(name.empty() ? "default" : name, options);
}

}  // namespace

sampling::NoiseRequest noise_request(const ImageRequest& r) {
  return {.seed = r.seed, .eta_seed_delta = r.eta_seed_delta, .first_image = r.first_image, .given = r.noise, .variation = r.variation};
}

parts::UnetConfig::Blocks perturbed_blocks(const sampling::Guidance& g) { return parts::UnetConfig::Blocks(int(g.options.at("layers"))); }

Resolved resolve(const StableDiffusionConfig& config, const ImageRequest& request, Backend& device) {
  Resolved p;
  if (request.batch < 1 || request.batch > 1 << 20)
    fail<UsageError>("generate: a batch of {} pictures does not fit, needed 1 to {}", request.batch, 1 << 20);
  sampling::check(request.compat, noise_request(request));
  p.guidance = request.guidance;
  if (beside_of(config) == Beside::picture) p.guidance.image_scale = request.image_guidance;
  p.guidance = sampling::resolve(p.guidance);
  check_guidance(p.guidance, config.unet);
  if (!config.native && !(request.width && request.height))
    fail<UsageError>("generate: the checkpoint states no native size; width and height are needed");
  p.height = request.height ? *request.height : (*config.native)[0];
  p.width = request.width ? *request.width : (*config.native)[1];
  const int64_t factor = config.vae.factor();
  check_side("width", p.width, factor);
  check_side("height", p.height, factor);
  p.batch = request.batch;
  p.latents = {p.batch, p.height / factor, p.width / factor, config.vae.latent_channels};

  // Another sampler takes its own class's defaults for what the scheduler's file omits, as in the reference.
  const sampling::SchedulerConfig& own = config.scheduler;
  p.sampling = request.sampler.empty() ? &sampling::sampler_of(own) : &sampling::find_sampler(request.sampler);
  p.guidance.scale *= p.sampling->guidance_factor;
  const sampling::SchedulerConfig scheduler = sampling::config_for(*p.sampling, own);
  const bool own_levels = sampling::has_own_schedule(request.compat, *p.sampling);
  if (own_levels && (!request.sigmas.empty() || !request.schedule_options.empty()))
    fail<UnsupportedError>("generate: sigmas of the user's own and options of a schedule do not go with compat {}",
                           name_of(request.compat));
  const sampling::ScheduleChoice choice = own_levels ? sampling::ScheduleChoice() : chosen_schedule(request, *p.sampling);
  p.sampler = p.sampling->name;
  p.schedule = choice.name == "default" && scheduler.curve == sampling::Curve::karras ? "karras" : choice.text();
  p.steps = request.steps;
  p.edit = plan_edit(config, request, *p.sampling, p.width, p.height);
  p.strength = p.edit.strength;
  const int64_t steps = p.edit.part.steps;
  if (own_levels) p.steps_to_take = sampling::own_schedule(request.compat, own, *p.sampling, request.schedule, steps, p.schedule);
  else p.steps_to_take = sampling::make_schedule(scheduler, choice, steps);
  p.steps_to_take = begun_on_the_way(p.edit, request, p.steps_to_take);
  p.sampler_options = sampling::parse_options(fmt::format("sampler '{}'", p.sampler), p.sampling->options, request.sampler_options);
  for (const auto& [name, value] : sampling::stated_options(*p.sampling, p.steps_to_take))
    if (!request.sampler_options.contains(name)) p.sampler_options[name] = value;
  if (!p.steps_to_take.steps.empty())
    p.network_calls = sampling::network_calls(*p.sampling, p.steps_to_take, p.sampler_options, device).value_or(0);
  if (request.stop_after < 0) fail<UsageError>("generate: stop after {} steps, needed 1 at least", request.stop_after);
  if (p.sampling->ends_itself && p.batch > 1 && (request.stop_after > 0 || request.resume))
    fail<UsageError>("generate: sampler '{}' goes picture by picture: a batch of {} cannot be stopped and resumed", p.sampler, p.batch);
  if (p.steps_to_take.clip)
    p.warnings.push_back(
        fmt::format("{} clips every estimate to ±{}, as the reference does: the scheduler's file does not say \"clip_sample\": false",
                    p.sampler, *p.steps_to_take.clip));

  p.prompts = read_prompts(config, request, sampling::asks_twice(request.guidance.scale, p.unconditional()), device, p);
  return p;
}

}  // namespace hearth::models::stable_diffusion
