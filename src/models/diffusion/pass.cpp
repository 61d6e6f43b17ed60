#include "models/diffusion/pass.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "models/diffusion/references.h"
#include "models/request.h"
#include "sampling/compat/run_schedule.h"

namespace hearth::models::diffusion {
namespace {

void check_side(std::string_view name, int64_t side, const Facts& facts) {
  constexpr int64_t most = int64_t(1) << 20;  // larger sides would overflow byte counts
  const int64_t unit = facts.side_unit();
  if (side < unit || side % unit != 0)
    fail<UsageError>("generate: {} is {}, expected a multiple of {} pixels, at least {}", name, side, unit, unit);
  if (side > facts.most_side.value_or(most))
    fail<UsageError>("generate: {} is {}, expected at most {}", name, side, facts.most_side.value_or(most));
}

// Replaces the requested size by the one in which the model makes such images (Facts::size_of_run).
void choose_size(const Facts& facts, const ImageTask& task, Pass& p) {
  if (!facts.size_of_run || task.one_of_two || task.edit.starts() || p.options.contains(std::string(facts.without_size_of_run))) return;
  constexpr int64_t most = int64_t(1) << 20;
  for (const auto& [name, side] : {std::pair{"width", p.width}, {"height", p.height}})
    if (side < 1 || side > most) fail<UsageError>("generate: {} is {}, expected 1 to {}", name, side, most);
  const auto [height, width] = facts.size_of_run(p.height, p.width);
  if (height == p.height && width == p.width) return;
  if (facts.resizes_to_request) p.resized_to = {p.width, p.height};
  else if (facts.without_size_of_run.empty())
    p.warnings.push_back(fmt::format("the size is {}×{}, which this model makes in place of {}×{}", width, height, p.width, p.height));
  else
    p.warnings.push_back(fmt::format("the size is {}×{}, the nearest that the model was trained on ({} makes {}×{})", width, height,
                                     flag_of(facts.without_size_of_run), p.width, p.height));
  p.width = width, p.height = height;
}

void check_discarding(const Request& request) {
  using sampling::Compat;
  if (request.compat == Compat::diffusers || request.compat == Compat::comfyui)
    fail<UsageError>("schedule: {} has no setting that drops the next-to-last sigma, expected compat a1111, or none",
                     name_of(request.compat));
  if (!request.sigmas.empty()) fail<UsageError>("schedule: the next-to-last sigma of given sigmas cannot be dropped, expected a schedule");
}

// The schedule of a run of p.latents with this many steps.
sampling::RunSchedule schedule_of(const LatentModel& model, const ImageTask& task, const Pass& p, int64_t steps) {
  const Request& request = task.request;
  const Facts& facts = model.facts();
  sampling::SchedulerConfig scheduler = facts.scheduler;
  if (scheduler.dynamic_shift) {  // by the image's own tokens
    const auto tokens = double(p.latents[1] / facts.patch * (p.latents[2] / facts.patch));
    scheduler.mu = facts.mu ? facts.mu(tokens, steps) : sampling::mu_of(scheduler.mu_line, tokens);
  }
  return sampling::run_schedule(scheduler, *p.sampling,
                                {.compat = request.compat,
                                 .name = request.schedule,
                                 .options = {request.schedule_options.begin(), request.schedule_options.end()},
                                 .sigmas = request.sigmas,
                                 .drops_penultimate = request.discard_penultimate,
                                 .common = task.common_levels,
                                 .step_tables = facts.step_tables,
                                 .flow = request.compat == sampling::Compat::a1111 ? facts.flow_in_a1111 : std::nullopt},
                                steps);
}

// Whether the negative prompt is evaluated, too.
bool uses_negative(const Pass& p) { return sampling::uses_guidance(p.guidance) || p.sampling->needs_unconditional; }

// The scale of classifier-free guidance of a network to which the requested scale is not a factor, after the reference's pipelines of such
// networks: it requires a negative prompt, which may be empty.
double true_scale(const Facts& facts, const Request& request, bool any_scale) {
  if (facts.true_guidance.empty()) return 1;
  const double scale = option_of<double>(request.options, facts.true_guidance).value_or(1);
  if (scale > 1 && !any_scale && !request.negative_prompt)
    fail<UsageError>("generate: {} is {} without a negative prompt, expected --negative-prompt, which may be empty",
                     flag_of(facts.true_guidance), scale);
  return scale;
}

// Takes the scale that is an input of the network out of the pass's guidance, or warns of one without an effect.
void divide_guidance(const Facts& facts, Pass& p) {
  Request& request = p.task.request;
  if (facts.scale_use == ScaleUse::none && request.guidance.value_or(1) != 1)
    p.warnings.push_back(fmt::format("this model has no use for a guidance scale: {} is ignored", *request.guidance));
  if (facts.guidance_needs_negative && !p.guidance.any_scale && !request.negative_prompt && p.guidance.scale > 1) {
    p.warnings.push_back("classifier-free guidance is off: it requires --negative-prompt, which may be empty");
    p.guidance.scale = 1;
  }
  request.guidance = p.guidance.scale;
  if (facts.guidance_is_beyond_prompt && !p.guidance.any_scale) p.guidance.scale += 1;
  if (facts.scale_use == ScaleUse::factor) return;
  p.embedded_guidance = p.guidance.scale;
  p.guidance.scale = true_scale(facts, request, p.guidance.any_scale);
  if (p.guidance.scale <= 1 && !p.guidance.any_scale && !facts.true_guidance.empty() && !request.guidance_method.empty() &&
      request.guidance_method != "cfg")
    p.warnings.push_back(
        fmt::format("guidance '{}' has no effect: it requires {} above 1", request.guidance_method, flag_of(facts.true_guidance)));
}

// The family's method of guidance, unless the request names another.
void choose_guidance(const Facts& facts, bool any_scale, Request& request) {
  if (request.guidance_method.empty() && !any_scale) request.guidance_method = facts.guidance_method;
  if (request.guidance_method.empty() || sampling::find_guidance(request.guidance_method).name != facts.guidance_method) return;
  for (const auto& [name, value] : facts.guidance_options) request.guidance_options.emplace(name, value);
}

const Option* find_option(const LatentModel& model, std::string_view name) {
  const auto found = std::ranges::find(model.facts().options, name, &Option::name);
  return found == model.facts().options.end() ? nullptr : &*found;
}

void check_options(const Members& members, const OptionValues& given) {
  for (const auto& [name, value] : given) {
    const Option* option = nullptr;
    for (const auto& member : members)
      if (const Option* found = find_option(*member, name)) option = found;
    if (option) {
      check(*option, value);
      continue;
    }
    std::vector<std::string_view> own;
    for (const Option& o : members[0]->facts().options) own.push_back(o.name);
    fail<UsageError>("generate: {} has no option '{}', expected {}", members[0]->facts().family, name,
                     own.empty() ? "none" : fmt::format("one of {}", fmt::join(own, ", ")));
  }
}

// The request as the refiner reads it: options that it does not have apply to the model alone.
ImageTask for_refiner(const ImageTask& task, const LatentModel& refiner) {
  ImageTask r = task;
  std::erase_if(r.request.options, [&](const auto& option) { return !find_option(refiner, option.first); });
  return r;
}

// The refiner's stage, after diffusers' denoising_end and denoising_start: both count the steps whose timesteps are at least
// T − start·T, each on its own schedule. Ends the model's stage.
Stage refining(const Members& members, const ImageTask& task, Pass& p, Backend& host) {
  const LatentModel &model = *members[0], &refiner = *members[1];
  const double start = task.request.refiner_start.value_or(0.8);
  if (!(start > 0 && start < 1)) fail<UsageError>("generate: the refiner's start is {}, expected a number above 0 and below 1", start);
  if (p.sampling->ends_itself)
    fail<UnsupportedError>("generate: sampler '{}' has no steps that a refiner could execute, expected another sampler", p.sampler);
  if (refiner.facts().beside != Beside::nothing) fail<UnsupportedError>("generate: a refiner with an input image is not supported");
  if (task.request.stop_after > 0) fail<UnsupportedError>("generate: a run with a refiner does not support stopping and resuming");
  refiner.check_guidance(p.guidance);
  Stage stage{.latents = p.latents, .guidance = p.guidance};
  stage.steps_to_take = schedule_of(refiner, task, p, p.edit.part.steps).levels;
  const auto steps_before = [&](const sampling::Schedule& schedule, const sampling::SchedulerConfig& scheduler) {
    const sampling::Schedule plan = sampling::planned(*p.sampling, schedule, p.sampler_options);
    const auto T = double(scheduler.num_train_timesteps), cutoff = std::nearbyint(T - start * T);
    const auto first = std::ranges::find_if(plan.steps, [&](const sampling::Step& s) { return double(s.at.timestep) < cutoff; });
    const int64_t count = first - plan.steps.begin(), all = int64_t(plan.steps.size());
    if (count == 0 || count == all)
      fail<UsageError>("generate: the refiner's start {} leaves the {} none of {} steps, expected at least one", start,
                       count == 0 ? "model" : "refiner", all);
    return count;
  };
  p.stages[0].end = steps_before(p.stages[0].steps_to_take, model.facts().scheduler);
  stage.begin = steps_before(stage.steps_to_take, refiner.facts().scheduler);
  ResolvedImage of_refiner = p;  // its options are not the model's
  stage.prompts = refiner.read_prompts(for_refiner(task, refiner), uses_negative(p), host, of_refiner);
  p.warnings = std::move(of_refiner.warnings), p.chunks = of_refiner.chunks;
  p.refiner_start = start;
  return stage;
}

// The stage of the model's second one. Its guidance is classifier-free guidance without options.
Stage following(const LatentModel& second, const ImageTask& task, Pass& p, Backend& host) {
  const Facts& facts = second.facts();
  if (task.request.stop_after > 0) fail<UnsupportedError>("generate: a run of two networks does not support stopping and resuming");
  const int64_t steps = option_of<int64_t>(task.request.options, facts.steps_option).value_or(facts.steps);
  const double scale = option_of<double>(task.request.options, facts.guidance_option).value_or(facts.guidance);
  p.options[std::string(facts.steps_option)] = steps, p.options[std::string(facts.guidance_option)] = scale;
  Stage stage{.latents = p.latents, .guidance = sampling::resolve({.scale = scale}), .from_noise = true};
  second.check_guidance(stage.guidance);
  stage.steps_to_take = schedule_of(second, task, p, steps).levels;
  if (p.network_calls > 0)
    p.network_calls +=
        sampling::calls_before_steps(*p.sampling, stage.steps_to_take, p.sampler_options, host).value_or(std::vector<int64_t>{0}).back();
  return stage;
}

void take_references(const Facts& facts, Pass& p) {
  p.references = p.task.references;
  if (p.references.empty()) return;
  if (facts.reference_images == ReferenceImages::none)
    fail<UsageError>("generate: this model does not look at reference images, expected none");
  if (facts.reference_images == ReferenceImages::as_prompt) return;
  if (!facts.codec.encodes)
    fail<UsageError>("generate: a reference image is given, but the autoencoder is a decoder only, expected one with an encoder");
  p.references = fitted_references(std::move(p.references), facts.side_unit(), facts.size_of_reference);
}

void check_image_prompts(const ImageTask& task) {
  for (const ImagePromptTask& p : task.image_prompts)
    if (!std::isfinite(p.prompt.scale)) fail<UsageError>("image prompt: scale is {}, expected a finite number", p.prompt.scale);
}

// The request with every default filled in.
Request filled_in(const Pass& p) {
  Request r = p.task.request;
  const auto texts = [](std::span<const sampling::Option> options, const sampling::Options& values) {
    std::map<std::string, std::string> all;
    for (const sampling::Option& o : options) all[std::string(o.name)] = sampling::text_of(o, values.at(std::string(o.name)));
    return all;
  };
  r.prompt_syntax = syntax_of(r), r.emphasis = emphasis_of(r);
  r.options = p.options;
  r.width = p.resized_to ? (*p.resized_to)[0] : p.width, r.height = p.resized_to ? (*p.resized_to)[1] : p.height;
  r.refiner_start = p.refiner_start;
  r.guidance_method = p.guidance.method->name;
  r.guidance_options = texts(p.guidance.method->options, p.guidance.options);
  r.guidance_rescale = p.guidance.rescale;
  r.sampler = p.sampler, r.schedule = p.schedule;
  r.sampler_options = texts(p.sampling->options, p.sampler_options);
  r.seed = p.task.seed, r.variation.seed = p.task.variation_seed;
  r.edit.strength = p.strength;
  r.edit.image.reset(), r.edit.mask.reset(), r.edit.depth_map.reset(), r.edit.control_image.reset();
  for (Reference& reference : r.references) reference.image = {};
  for (Control& control : r.controls) control.image = {}, control.mask.reset();
  for (ImagePrompt& prompt : r.image_prompts) prompt.image = {}, prompt.mask.reset();
  return r;
}

}  // namespace

void check_controls(const Facts& facts, const ImageTask& task) {
  if (task.controls.empty()) return;
  if (facts.beside == Beside::image || facts.beside == Beside::depth)
    fail<UnsupportedError>("control: control networks cannot be combined with a model for {}",
                           facts.beside == Beside::image ? "instruction editing" : "depth maps");
  if (facts.reference_images == ReferenceImages::as_latents && !task.references.empty())
    fail<UnsupportedError>("control: control networks cannot be combined with reference images that the model reads, expected one of them");
  for (const ControlTask& c : task.controls) {
    const auto in_unit = [](double share) { return share >= 0 && share <= 1; };
    if (!std::isfinite(c.control.scale)) fail<UsageError>("control: scale is {}, expected a finite number", c.control.scale);
    if (!in_unit(c.control.start) || !in_unit(c.control.end) || c.control.start >= c.control.end)
      fail<UsageError>("control: start is {} and end {}, expected 0 to 1 with the start before the end", c.control.start, c.control.end);
  }
}

std::vector<MemberComponent> Pass::unused() const {
  std::vector<MemberComponent> all;
  for (size_t m = 0; m < stages.size(); ++m)
    if (stages[m].prompts)
      for (std::string& name : stages[m].prompts->unused()) all.push_back({m, std::move(name)});
  return all;
}

sampling::NoiseRequest Pass::draws() const {
  const Request& r = task.request;
  return {.seed = task.seed,
          .rng = r.rng,
          .eta_seed_delta = r.eta_noise_seed_delta,
          .first_image = r.batch_index,
          .given = task.noise,
          .encodings = edit.encodings,
          .variation = {.seed = task.variation_seed, .strength = r.variation.strength}};
}

void require_resumable(const Pass& p) {
  if (p.stages.size() > 1)
    fail<UnsupportedError>("generate: a run {} does not support stopping and resuming",
                           p.refiner_start ? "with a refiner" : "of two networks");
  if (p.sampling->ends_itself && p.batch > 1)
    fail<UsageError>("generate: sampler '{}' runs image by image, so a batch of {} cannot be stopped and resumed, expected a batch of 1",
                     p.sampler, p.batch);
}

Pass resolve(const Members& members, const ImageTask& asked, std::vector<RunControl> controls, Backend& host) {
  const LatentModel& model = *members[0];
  const Facts& facts = model.facts();
  Pass p;
  p.task = asked, p.controls = std::move(controls);
  p.task.request = with_canonical_sampler(asked.request);
  const ImageTask& task = p.task;
  const Request& request = task.request;
  if (request.batch_size < 1 || request.batch_size > 1 << 20)
    fail<UsageError>("generate: batch size is {}, expected 1 to {}", request.batch_size, 1 << 20);
  sampling::check(request.compat, p.draws());
  check_options(members, request.options);
  p.options = request.options;
  if (request.discard_penultimate) check_discarding(request);
  const bool any_scale = request.compat == sampling::Compat::comfyui || request.compat == sampling::Compat::a1111;
  choose_guidance(facts, any_scale, p.task.request);
  if (facts.own_latents && any_scale)  // they choose the steps, noise and sizes of a second network otherwise
    fail<UnsupportedError>("generate: compat {} is not supported by {}, expected hearth or diffusers", name_of(request.compat),
                           facts.family);
  p.guidance = guidance_of(request, facts.guidance + (facts.guidance_is_beyond_prompt && any_scale ? 1 : 0));
  p.guidance.any_scale = any_scale;
  if (facts.beside == Beside::image) p.guidance.image_scale = request.edit.image_guidance.value_or(1.5);
  else if (request.edit.image_guidance)
    fail<UsageError>("generate: image guidance is supported only by instruction editing models, expected none");
  divide_guidance(facts, p);
  p.guidance = sampling::resolve(p.guidance);
  model.check_guidance(p.guidance);
  take_references(facts, p);
  std::optional<std::array<int64_t, 2>> standard = facts.native;
  if (facts.has_size_of_reference && !p.references.empty()) standard = {p.references.back().height, p.references.back().width};
  if (!standard && !(request.width && request.height))
    fail<UsageError>("generate: the checkpoint has no native size, expected width and height");
  p.height = request.height ? *request.height : (*standard)[0];
  p.width = request.width ? *request.width : (*standard)[1];
  choose_size(facts, task, p);
  const int64_t factor = facts.codec.factor;
  check_side("width", p.width, facts);
  check_side("height", p.height, facts);
  if (!facts.codec.encodes && (!task.edit.images.empty() || task.edit.control))
    fail<UsageError>("generate: the run {}, but the autoencoder is a decoder only, expected one with an encoder",
                     task.edit.control ? "has a control image" : "starts from an image");
  check_image_prompts(task);
  p.batch = request.batch_size;
  p.latents = p.noise = {p.batch, p.height / factor, p.width / factor, facts.codec.latent_channels};
  if (facts.own_latents) {
    const auto [h, w] = facts.own_latents->size(p.height, p.width);
    p.noise = {p.batch, h, w, facts.own_latents->channels};
  }

  p.sampling = request.sampler.empty() ? &sampling::sampler_of(facts.scheduler) : &sampling::find_sampler(request.sampler);
  p.guidance.scale *= p.sampling->guidance_factor;
  p.sampler = p.sampling->name;
  p.steps = request.steps;
  p.edit = plan_edit(facts, task, *p.sampling, p.width, p.height,
                     std::ranges::any_of(p.controls, [](const RunControl& c) { return c.model->fills(); }));
  p.strength = p.edit.strength;
  p.stages = {Stage{.latents = p.noise, .guidance = p.guidance}};
  sampling::Schedule& schedule = p.stages[0].steps_to_take;
  const sampling::RunSchedule whole = schedule_of(model, task, p, p.edit.part.steps);
  p.schedule = whole.name;
  schedule = begun_on_the_way(p.edit, task, *p.sampling, whole.levels);
  p.sampler_options = sampling::parse_options(fmt::format("sampler '{}'", p.sampler), p.sampling->options, request.sampler_options);
  for (const auto& others : {sampling::stated_options(*p.sampling, schedule), sampling::own_options(request.compat, *p.sampling)})
    for (const auto& [name, value] : others)
      if (!request.sampler_options.contains(name)) p.sampler_options[name] = value;
  if (!p.sampling->ends_itself && !schedule.steps.empty()) {
    const sampling::Schedule plan = sampling::planned(*p.sampling, schedule, p.sampler_options);
    p.sigmas = plan.sigmas(), p.timesteps = plan.timesteps();
  }
  if (!schedule.steps.empty())
    p.calls_before = sampling::calls_before_steps(*p.sampling, schedule, p.sampler_options, host).value_or(std::vector<int64_t>{0});
  p.network_calls = p.calls_before.empty() ? 0 : p.calls_before.back();
  if (request.stop_after < 0) fail<UsageError>("generate: stop after is {} steps, expected at least 1", request.stop_after);
  if (request.stop_after > 0 && members.size() == 1) require_resumable(p);
  if (schedule.clip)
    p.warnings.push_back(
        fmt::format("{} clips every estimate to ±{}, as in the reference, because the scheduler config does not set \"clip_sample\": false",
                    p.sampler, *schedule.clip));

  const bool has_second = members.size() > 1 && facts.own_latents;
  if (has_second) p.stages.push_back(following(*members[1], task, p, host));
  const bool second_uses_negative = has_second && sampling::uses_guidance(p.stages[1].guidance);
  p.stages[0].prompts = model.read_prompts(task, uses_negative(p) || second_uses_negative, host, p);
  if (members.size() > 1 && !has_second) p.stages.push_back(refining(members, task, p, host));
  else if (request.refiner_start) fail<UsageError>("generate: a refiner's start without a refiner, expected both");
  p.request = filled_in(p);
  return p;
}

}  // namespace hearth::models::diffusion
