#include "models/sd1/pipeline.h"

#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "core/bytes.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/observe.h"
#include "models/clip_prompt.h"
#include "models/embeddings.h"
#include "ops/shape_ops.h"
#include "sampling/names.h"
#include "sampling/samplers.h"
#include "sampling/scheduler_samplers.h"

namespace hearth::models::sd1 {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Counts the whole tensor; what a component gives must be numbers, or nothing is drawn from it.
void require_finite(const Tensor& x, std::string_view component, std::string_view what, ImageResult& result) {
  if (!x.backend().computes()) return;
  if (const int64_t bad = count_non_finite(x))
    fail<NonFiniteError>("{}: {} of {} values of {} are NaN or infinite; no picture is made (debug \"nan\" finds the first operation)",
                         component, bad, x.numel(), what);
  double& largest = result.largest[std::string(component)];
  const float* values = x.data<float>();
  for (int64_t i = 0; i < x.numel(); ++i) largest = std::max(largest, double(std::abs(values[i])));
}

void check_side(std::string_view name, int64_t side, int64_t factor) {
  constexpr int64_t most = int64_t(1) << 20;  // beyond it byte counts would overflow
  if (side < factor || side % factor != 0)
    fail<UsageError>("generate: {} {} does not fit, needed a multiple of {} pixels, {} at least", name, side, factor, factor);
  if (side > most) fail<UsageError>("generate: {} {} does not fit, needed at most {}", name, side, most);
}

sampling::NoiseRequest noise_request(const ImageRequest& r) {
  return {.seed = r.seed, .eta_seed_delta = r.eta_seed_delta, .first_image = r.first_image, .given = r.noise};
}

using Blocks = parts::UnetConfig::Blocks;
Blocks perturbed_blocks(const sampling::Guidance& g) { return Blocks(int(g.options.at("layers"))); }  // mid, down, up

void check_guidance(const sampling::Guidance& g, const parts::UnetConfig& unet) {
  if (g.method->disturbance == sampling::Disturbance::skipped_layers)
    fail<UnsupportedError>("guidance '{}': a UNet has no layers that can be skipped", g.method->name);
  if (g.method->disturbance == sampling::Disturbance::identity_attention && !unet.attends_to_itself(perturbed_blocks(g)))
    fail<UnsupportedError>("guidance '{}': this UNet has no self-attention in its {} blocks", g.method->name,
                           std::array{"mid", "down", "up"}[size_t(perturbed_blocks(g))]);
}

struct Stopped {};  // ends a run that is to be resumed

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

struct StableDiffusion::Plan : ResolvedImage {
  const sampling::Sampler* sampling = nullptr;
  sampling::Schedule steps_to_take;
  std::vector<text::Prompt> prompts;  // the prompt, and the negative one where it is asked under
  text::Chunk empty_chunk;
  std::vector<TextualInversion> vectors;  // of the embeddings
  sampling::Unconditional unconditional() const {
    return sampling->needs_unconditional ? sampling::Unconditional::needed : sampling::Unconditional::unused;
  }
};

StableDiffusion::StableDiffusion(const Checkpoint& checkpoint, Backend& device, const LoadRequest& request)
    : device_(device),
      memory_limit_(request.memory_limit),
      config_(Sd1Config::from(checkpoint)),
      networks_(checkpoint, config_, device, request) {
  if (request.when_needed || memory_limit_ > 0) {
    networks_.check(Weights::Reading::names);
  } else {
    require_room();
    networks_.load(request.progress);
  }
}

// Before minutes of reading: is there memory for all networks at once?
void StableDiffusion::require_room() const {
  MemoryLedger ledger;
  const auto twin = device_.dry_twin(ledger);
  try {
    networks_.on(*twin, ledger).load({});
  } catch (const WeightError&) { return; }  // loading finds more of what is wrong
  const int64_t needed = ledger.use().peak, available = system_available_bytes();
  if (available <= 0 || needed <= available) return;
  const auto [all, had] = in_gigabytes(needed, available);
  fail<UsageError>("open: the networks need {} GB of memory, {} GB are available; loaded when needed they take less", all, had);
}

StableDiffusion::Plan StableDiffusion::planned(const ImageRequest& request) const {
  Plan p;
  if (request.batch < 1 || request.batch > 1 << 20)
    fail<UsageError>("generate: a batch of {} pictures does not fit, needed 1 to {}", request.batch, 1 << 20);
  sampling::check(request.compat, noise_request(request));
  p.guidance = sampling::resolve(request.guidance);
  check_guidance(p.guidance, config_.unet);
  if (!config_.native && !(request.width && request.height))
    fail<UsageError>("generate: the checkpoint states no native size; width and height are needed");
  p.height = request.height ? *request.height : (*config_.native)[0];
  p.width = request.width ? *request.width : (*config_.native)[1];
  const int64_t factor = config_.vae.factor();
  check_side("width", p.width, factor);
  check_side("height", p.height, factor);
  p.batch = request.batch;
  p.latents = {p.batch, p.height / factor, p.width / factor, config_.unet.in_channels};

  // Another sampler takes its own class's defaults for what the scheduler's file omits, as in the reference.
  const sampling::SchedulerConfig& own = config_.scheduler;
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
  if (own_levels) p.steps_to_take = sampling::own_schedule(request.compat, own, *p.sampling, request.schedule, request.steps, p.schedule);
  else p.steps_to_take = sampling::make_schedule(scheduler, choice, request.steps);
  p.sampler_options = sampling::parse_options(fmt::format("sampler '{}'", p.sampler), p.sampling->options, request.sampler_options);
  for (const auto& [name, value] : sampling::stated_options(*p.sampling, p.steps_to_take))
    if (!request.sampler_options.contains(name)) p.sampler_options[name] = value;
  p.network_calls = sampling::network_calls(*p.sampling, p.steps_to_take, p.sampler_options, device_).value_or(0);
  if (request.stop_after < 0) fail<UsageError>("generate: stop after {} steps, needed 1 at least", request.stop_after);
  if (p.sampling->ends_itself && p.batch > 1 && (request.stop_after > 0 || request.resume))
    fail<UsageError>("generate: sampler '{}' goes picture by picture: a batch of {} cannot be stopped and resumed", p.sampler, p.batch);
  if (p.steps_to_take.clip)
    p.warnings.push_back(
        fmt::format("{} clips every estimate to ±{}, as the reference does: the scheduler's file does not say \"clip_sample\": false",
                    p.sampler, *p.steps_to_take.clip));

  read_prompts(request, p);
  return p;
}

// What the request's prompts come to.
void StableDiffusion::read_prompts(const ImageRequest& request, Plan& p) const {
  if (request.clip_skip < 1 || request.clip_skip > config_.text.layers)
    fail<UsageError>("generate: clip skip {} does not fit, needed 1 to {}", request.clip_skip, config_.text.layers);
  p.vectors = read_embeddings(request, "clip_l", config_.text.width, device_, p.embeddings);
  const text::ClipTokenizer tokenizer = text::tokenizer_for(request.syntax, config_.tokenizer);
  p.empty_chunk = text::empty_chunk(tokenizer);
  const text::PromptReading reading = {.syntax = request.syntax, .emphasis = request.emphasis, .steps = p.steps};
  const auto read = [&](const std::string& prompt, text::PromptRole role) {
    p.prompts.push_back(text::read_prompt(prompt, role, reading, tokenizer, p.embeddings));
    p.warnings.insert(p.warnings.end(), p.prompts.back().warnings.begin(), p.prompts.back().warnings.end());
    p.chunks = std::max(p.chunks, p.prompts.back().chunks);
  };
  read(request.prompt, text::PromptRole::positive);
  const std::vector<text::Condition>& conditions = p.prompts[0].conditions;
  const bool composed = conditions.size() > 1 || conditions[0].weight != 1;
  if (composed || sampling::asks_twice(request.guidance.scale, p.unconditional()))
    read(request.negative_prompt, text::PromptRole::negative);
  else if (!request.negative_prompt.empty())
    p.warnings.push_back(fmt::format("guidance {} is at most 1: the negative prompt is not used", request.guidance.scale));
}

ResolvedImage StableDiffusion::resolve(const ImageRequest& request) const { return planned(request); }

std::vector<MemoryPlan> StableDiffusion::modes(const ImageRequest& request, const Plan& p) const {
  using Tiling = ImageRequest::Tiling;
  const int64_t factor = config_.vae.factor(), default_tile = parts::default_tile(config_.vae);
  if (request.vae_tile && (request.vae_tiling == Tiling::off || (request.vae_tiling == Tiling::automatic && memory_limit_ == 0)))
    fail<UsageError>("generate: a tile size acts only with VAE tiling on, or automatic under a memory limit");
  if (request.vae_tile && (*request.vae_tile < 4 * factor || *request.vae_tile % (4 * factor) != 0))
    fail<UsageError>("generate: tiles of {} pixels do not fit, needed a multiple of {}", *request.vae_tile, 4 * factor);
  const int64_t tile = request.vae_tile ? *request.vae_tile / factor : default_tile, side = std::max(p.latents[1], p.latents[2]);

  std::vector<MemoryPlan> modes;
  const auto add = [&](bool everything, std::optional<int64_t> of_tiles) {
    MemoryPlan m{.everything = everything, .release = request.last || !everything, .tile = of_tiles};
    m.mode = everything ? (m.release ? "networks are let go of when they have done their work" : "all networks stay in memory")
                        : "each network is loaded for its own work only";
    if (m.tile && *m.tile < side && request.decode) {
      m.mode += fmt::format(", VAE in tiles of {} pixels", *m.tile * factor);
      m.warnings.push_back(fmt::format("the picture is decoded in tiles of {} pixels: not quite that of a whole decode", *m.tile * factor));
    }
    modes.push_back(std::move(m));
  };
  const auto always = request.vae_tiling == Tiling::on ? std::optional(tile) : std::nullopt;
  add(true, always);
  if (memory_limit_ == 0) return modes;
  add(false, always);
  if (request.vae_tiling != Tiling::automatic || !request.decode) return modes;
  const int64_t smallest = request.vae_tile ? tile : std::min<int64_t>(tile, 16);
  for (int64_t t = tile; t >= smallest; t = t / 2 / 4 * 4)
    if (t < side) add(false, t);
  return modes;
}

// The run itself, on the dry twin. After six steps a sampler remembers all that it ever will.
void StableDiffusion::measure(MemoryPlan& plan, const ImageRequest& request, const Plan& p) const {
  MemoryLedger ledger;
  const auto twin = device_.dry_twin(ledger);
  Networks networks = networks_.on(*twin, ledger);
  if (plan.everything) networks.load({});
  const int64_t loading = ledger.use().peak;
  plan.weights = ledger.use().now;
  ledger.reset_peak();
  {
    Plan few = p;
    few.steps_to_take.steps.resize(std::min<size_t>(p.steps_to_take.steps.size(), 6));
    few.guidance.lowest = 0, few.guidance.highest = std::numeric_limits<double>::infinity();  // every step may be the widest
    few.guidance.options["start"] = 0, few.guidance.options["stop"] = 1;
    ImageRequest dry = request;
    dry.stop_after = 0, dry.resume = nullptr;
    if (request.noise) dry.noise = Tensor::empty(*twin, request.noise.shape());
    run(dry, few, plan, *twin, networks, {});
  }
  plan.activations = ledger.use().peak - plan.weights;

  // Beside tensors: the program itself, buffers of others, and what the pictures take on their way into files.
  const int64_t buffers = MemoryLedger::process().use().now, others = std::max<int64_t>(0, buffers - networks_.bytes_loaded());
  const int64_t program = std::max<int64_t>(0, process_resident_bytes() - buffers);
  constexpr int64_t files = 24 << 20;
  plan.process =
      program + others + std::max(loading, ledger.use().peak) + device_.most_thread_scratch() + files + 8 * p.batch * p.width * p.height;
}

MemoryPlan StableDiffusion::plan(const ImageRequest& request) {
  const Plan p = planned(request);
  std::optional<MemoryPlan> best;
  for (MemoryPlan& mode : modes(request, p)) {
    measure(mode, request, p);
    if (memory_limit_ == 0 || mode.process <= memory_limit_) return mode;
    if (!best || mode.process < best->process) best = std::move(mode);
  }
  const auto [needed, limit] = in_gigabytes(best->process, memory_limit_);
  fail<UsageError>("generate: {} of {}×{} need at least {} GB ({}), the memory limit is {} GB", p.batch, p.width, p.height, needed,
                   best->mode, limit);
}

ImageResult StableDiffusion::draw(const ImageRequest& request, const MemoryPlan& plan, const OnProgress& progress) {
  networks_.require_unchanged();
  if (!plan.everything) {
    networks_.text.reset(), networks_.unet.reset(), networks_.vae.reset();
    // A number that is none should not be found after the work of all steps.
    if (!std::exchange(numbers_checked_, true)) networks_.check(Weights::Reading::numbers);
  }
  return run(request, planned(request), plan, device_, networks_, progress);
}

ImageResult StableDiffusion::run(const ImageRequest& request, const Plan& p, const MemoryPlan& plan, Backend& device, Networks& networks,
                                 const OnProgress& progress) const {
  const auto report = [&](std::string_view phase, int64_t done, int64_t total) {
    check_cancelled();
    if (progress) progress({.phase = phase, .done = done, .total = total});
  };
  ImageResult result;
  result.warnings = plan.warnings;
  const auto load = [&](void (Networks::*one)(const OnProgress&)) {
    const auto begin = Clock::now();
    (networks.*(plan.everything ? &Networks::load : one))(progress);
    result.load_seconds += seconds_since(begin);
  };

  load(&Networks::load_text);
  report("encode", 0, 1);
  auto start = Clock::now();
  const int64_t together = p.sampling->ends_itself ? 1 : p.batch;  // pictures; such a sampler's steps follow the error of one picture
  std::vector<Tensor> embeddings;
  for (const TextualInversion& v : p.vectors)
    embeddings.push_back(Tensor::from(device, {v.vectors, config_.text.width}, std::span<const float>(v.values)));
  const std::vector<EncodedPrompt> prompts =
      encode_prompts(*networks.text, p.prompts, embeddings, p.empty_chunk,
                     {.syntax = request.syntax, .emphasis = request.emphasis, .clip_skip = request.clip_skip});
  for (const EncodedPrompt& prompt : prompts)
    for (const EncodedCondition& condition : prompt.conditions)
      for (const EncodedEntry& entry : condition.entries) require_finite(entry.states, "text_encoder", "its states", result);
  result.encode_seconds = seconds_since(start);
  report("encode", 1, 1);
  if (plan.release) networks.text.reset();

  if (!networks.unet) load(&Networks::load_unet);
  report("sample", 0, int64_t(p.steps_to_take.steps.size()));
  start = Clock::now();
  sampling::Noise noise = sampling::make_noise(request.compat, noise_request(request), p.steps_to_take);
  const auto [B, h, w, C] = p.latents;
  result.noise = noise(device, {B, h, w, C});

  auto step_start = Clock::now();
  sampling::GuidanceMemory memory{.steps = std::max<int64_t>(1, int64_t(p.steps_to_take.steps.size()))};
  const sampling::GuidedNetwork network = [&](const Tensor& x, float timestep, const sampling::Branches& branches) {
    const float timesteps[] = {timestep};
    const AskUnder ask = [&](const Tensor& y, const Tensor& context, int64_t disturbed) {
      parts::Perturbed perturbed;
      if (disturbed > 0) perturbed = {perturbed_blocks(p.guidance), disturbed};
      return (*networks.unet)(y, timesteps, context, perturbed);
    };
    return ask_under_prompts(ask, x, memory.step, branches, prompts.size() > 1 ? &prompts[1] : nullptr, prompts[0]);
  };
  const sampling::OnStep on_step = [&](const sampling::StepInfo& info) {
    const std::string what = fmt::format("step {} of {}", info.step + 1, info.steps);
    require_finite(info.x0, "unet", what, result);
    require_finite(info.x, "sampler " + p.sampler, "the latents after " + what, result);
    result.step_seconds.push_back(seconds_since(step_start));
    step_start = Clock::now();
    memory.step = info.step + 1;
    report("sample", info.step + 1, info.steps);
    if (request.stop_after > 0 && info.state.step == request.stop_after) {
      result.state = std::make_shared<ImageRequest::Resume>(ImageRequest::Resume{info.state, memory.running});
      throw Stopped();
    }
  };
  const auto denoise =
      sampling::make_denoiser(network, {p.steps_to_take.prediction, p.steps_to_take.sigma_data}, p.guidance, p.unconditional(), memory);
  const auto sampled = [&](sampling::State state, sampling::Noise& source) {
    try {
      return sampling::resume(*p.sampling, denoise, std::move(state), p.steps_to_take, source, p.sampler_options, on_step);
    } catch (const Stopped&) { return result.state->state.x; }
  };
  const Tensor first = sampling::starting_point(p.steps_to_take, result.noise);
  if (request.resume) {
    memory.running = request.resume->guidance, memory.step = request.resume->state.step;
    result.latents = sampled(request.resume->state, noise);
  } else if (together == B) {
    result.latents = sampled({.x = first}, noise);
  } else {
    std::vector<Tensor> pictures;
    for (int64_t b = 0; b < B; ++b) {
      sampling::NoiseRequest alone = noise_request(request);
      alone.seed += uint64_t(b), alone.given = {};
      sampling::Noise own = sampling::make_noise(request.compat, alone, p.steps_to_take);
      own.seek(1);  // the first was drawn above
      memory.running = {}, memory.step = 0;
      pictures.push_back(sampled({.x = first.slice(0, b, b + 1)}, own));
    }
    result.latents = ops::concat(pictures, 0);
  }
  result.sample_seconds = seconds_since(start);

  if (plan.release) networks.unet.reset();
  if (!request.decode && plan.release) networks.vae.reset();
  if (!request.decode) return result;

  if (!networks.vae) load(&Networks::load_vae);
  report("decode", 0, B);
  start = Clock::now();
  for (int64_t b = 0; b < B; ++b) {  // one by one: it is the widest point of memory, and no picture depends on its neighbours
    const Tensor latents = result.latents.slice(0, b, b + 1);
    const Tensor picture = plan.tile ? networks.vae->decode_in_tiles(latents, *plan.tile) : networks.vae->decode(latents);
    require_finite(picture, "vae", fmt::format("picture {} of {}", b + 1, B), result);
    result.pictures.push_back(picture.view({picture.size(1), picture.size(2), picture.size(3)}));
    report("decode", b + 1, B);
  }
  result.decode_seconds = seconds_since(start);
  if (plan.release) networks.vae.reset();
  return result;
}

Tensor StableDiffusion::encode(const Tensor& pictures) {
  networks_.load_vae({});
  return networks_.vae->to_model(networks_.vae->encode(pictures).mode());
}

Tensor StableDiffusion::decode(const Tensor& latents) {
  networks_.load_vae({});
  return networks_.vae->decode(latents);
}

}  // namespace hearth::models::sd1
