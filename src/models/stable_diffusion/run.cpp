#include "models/stable_diffusion/run.h"

#include <chrono>
#include <cmath>

#include "core/error.h"
#include "core/observe.h"
#include "ops/shape_ops.h"

namespace hearth::models::stable_diffusion {
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

struct Stopped {};  // ends a run that is to be resumed

// What the phases of a run work on and leave behind.
struct Run {
  const StableDiffusionConfig& config;
  const ImageRequest& request;
  const Resolved& p;
  const MemoryPlan& plan;
  Backend& device;
  Networks& networks;
  const OnProgress& progress;
  ImageResult result = {};

  std::vector<EncodedPrompt> prompts = {};  // the prompt, and the negative one where it is asked under

  void encode();
  void sample();
  void decode();

  void report(std::string_view phase, int64_t done, int64_t total) const {
    check_cancelled();
    if (progress) progress({.phase = phase, .done = done, .total = total});
  }
  void load(void (Networks::*one)(const OnProgress&)) {
    const auto begin = Clock::now();
    (networks.*(plan.everything ? &Networks::load : one))(progress);
    result.load_seconds += seconds_since(begin);
  }
  Tensor sampled(sampling::State state, sampling::Noise& noise, sampling::GuidanceMemory& memory);
};

// prompts → states [1, n·77, C] each
void Run::encode() {
  load(&Networks::load_texts);
  report("encode", 0, 1);
  const auto start = Clock::now();
  prompts = encode_prompts(config, request, p.prompts, networks.texts, device);
  for (const EncodedPrompt& prompt : prompts)
    for (const EncodedCondition& condition : prompt.conditions)
      for (const EncodedEntry& entry : condition.entries) require_finite(entry.given.states, "text_encoder", "its states", result);
  result.encode_seconds = seconds_since(start);
  report("encode", 1, 1);
  if (plan.release) networks.texts.clear();
}

// One sampler's way from `state` to its end: x [B, h, w, C] of all pictures that go together.
Tensor Run::sampled(sampling::State state, sampling::Noise& noise, sampling::GuidanceMemory& memory) {
  auto step_start = Clock::now();
  const sampling::GuidedNetwork network = [&](const Tensor& x, float timestep, const sampling::Branches& branches) {
    const float timesteps[] = {timestep};
    const AskUnder ask = [&](const Tensor& y, const Conditioning& given, int64_t disturbed) {
      parts::Perturbed perturbed;
      if (disturbed > 0) perturbed = {perturbed_blocks(p.guidance), disturbed};
      return (*networks.unet)(y, timesteps, given.states, perturbed);
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
  try {
    return sampling::resume(*p.sampling, denoise, std::move(state), p.steps_to_take, noise, p.sampler_options, on_step);
  } catch (const Stopped&) { return result.state->state.x; }
}

// noise → x on the first level → latents [B, h, w, C]
void Run::sample() {
  if (!networks.unet) load(&Networks::load_unet);
  report("sample", 0, int64_t(p.steps_to_take.steps.size()));
  const auto start = Clock::now();
  sampling::Noise noise = sampling::make_noise(request.compat, noise_request(request), p.steps_to_take);
  const auto [B, h, w, C] = p.latents;
  result.noise = noise(device, {B, h, w, C});
  const Tensor first = sampling::starting_point(p.steps_to_take, result.noise);
  sampling::GuidanceMemory memory{.steps = std::max<int64_t>(1, int64_t(p.steps_to_take.steps.size()))};
  if (request.resume) {
    memory.running = request.resume->guidance, memory.step = request.resume->state.step;
    result.latents = sampled(request.resume->state, noise, memory);
  } else if (!p.sampling->ends_itself || B == 1) {
    result.latents = sampled({.x = first}, noise, memory);
  } else {  // such a sampler's steps follow the error of one picture
    std::vector<Tensor> pictures;
    for (int64_t b = 0; b < B; ++b) {
      sampling::NoiseRequest alone = noise_request(request);
      alone.seed += uint64_t(b), alone.given = {};
      sampling::Noise own = sampling::make_noise(request.compat, alone, p.steps_to_take);
      own.seek(1);  // the first was drawn above
      memory.running = {}, memory.step = 0;
      pictures.push_back(sampled({.x = first.slice(0, b, b + 1)}, own, memory));
    }
    result.latents = ops::concat(pictures, 0);
  }
  result.sample_seconds = seconds_since(start);
  if (plan.release) networks.unet.reset();
}

// latents → pictures [H, W, 3]
void Run::decode() {
  const int64_t B = p.latents[0];
  if (!networks.vae) load(&Networks::load_vae);
  report("decode", 0, B);
  const auto start = Clock::now();
  for (int64_t b = 0; b < B; ++b) {  // one by one: it is the widest point of memory, and no picture depends on its neighbours
    const Tensor latents = result.latents.slice(0, b, b + 1);
    const Tensor picture = plan.tile ? networks.vae->decode_in_tiles(latents, *plan.tile) : networks.vae->decode(latents);
    require_finite(picture, "vae", fmt::format("picture {} of {}", b + 1, B), result);
    result.pictures.push_back(picture.view({picture.size(1), picture.size(2), picture.size(3)}));
    report("decode", b + 1, B);
  }
  result.decode_seconds = seconds_since(start);
}

}  // namespace

ImageResult run(const StableDiffusionConfig& config, const ImageRequest& request, const Resolved& resolved, const MemoryPlan& plan,
                Backend& device, Networks& networks, const OnProgress& progress) {
  Run r{.config = config,
        .request = request,
        .p = resolved,
        .plan = plan,
        .device = device,
        .networks = networks,
        .progress = progress,
        .result = {.warnings = plan.warnings}};
  r.encode();
  r.sample();
  if (request.decode) r.decode();
  if (plan.release) networks.vae.reset();
  return std::move(r.result);
}

}  // namespace hearth::models::stable_diffusion
