#include "models/stable_diffusion/run.h"

#include <chrono>
#include <cmath>

#include "core/error.h"
#include "core/observe.h"
#include "models/stable_diffusion/preview.h"
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

// Whether the program keeps what is not masked in each call of the network, and not after it.
bool in_each_call(sampling::Compat compat) { return compat == sampling::Compat::comfyui || compat == sampling::Compat::a1111; }

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

  // What one checkpoint works with in its stage; prompts: the prompt, and the negative one where it is asked under.
  struct Part {
    const StableDiffusionConfig& config;
    const Stage& stage;
    Networks& networks;
    std::string unet = "unet";  // as messages call it
    std::vector<EncodedPrompt> prompts = {};
  };
  std::vector<Part> parts = {};  // the model, and the refiner where there is one
  EncodedPicture origin = {};    // the picture that the run begins with
  LatentColours colours = {};    // of previews without a decoder of their own

  void encode();
  void encode_picture();
  void fill_masked();
  void sample();
  void decode();

  void report(std::string_view phase, int64_t done, int64_t total) const {
    check_cancelled();
    if (progress) progress({.phase = phase, .done = done, .total = total});
  }
  void load(Networks& of, void (Networks::*one)(const OnProgress&)) {
    const auto begin = Clock::now();
    if (plan.everything) networks.load(progress);
    else (of.*one)(progress);
    result.load_seconds += seconds_since(begin);
  }
  sampling::NoiseRequest draws() const {
    sampling::NoiseRequest r = noise_request(request);
    r.encodings = p.edit.encodings;
    return r;
  }
  bool shows_colours() const { return request.preview && !networks.decodes_previews(); }
  void show(const sampling::StepInfo& info);
  sampling::State sampled(const Part& part, sampling::State state, sampling::Noise& noise, sampling::GuidanceMemory& memory,
                          const EncodedPicture& begun);
  Tensor through_all(sampling::State state, sampling::Noise& noise, sampling::GuidanceMemory& memory, const EncodedPicture& begun);
};

// prompts → states [1, n·77, C] each
void Run::encode() {
  load(networks, &Networks::load_texts);
  report("encode", 0, 1);
  const auto start = Clock::now();
  for (Part& part : parts) {
    const ImageRequest& asked = &part == &parts[0] ? request : for_refiner(request);
    part.prompts = encode_prompts(part.config, asked, part.stage.prompts, p, part.networks.texts, device);
    for (const EncodedPrompt& prompt : part.prompts)
      for (const EncodedCondition& condition : prompt.conditions)
        for (const EncodedEntry& entry : condition.entries) {
          require_finite(entry.given.states, "text_encoder", "its states", result);
          if (entry.given.added) require_finite(entry.given.added, "text_encoder", "its pooled vector and sizes", result);
        }
  }
  result.encode_seconds = seconds_since(start);
  report("encode", 1, 1);
  if (plan.release) networks.clear_texts();
}

// What the autoencoder does before the run: pictures [H, W, 3] → latents [B, h, w, C], and what latents look like.
void Run::encode_picture() {
  if (!networks.vae) load(networks, &Networks::load_vae);
  const auto start = Clock::now();
  if (request.edit.starts()) origin = stable_diffusion::encode_picture(config, request, p.edit, draws(), p.latents, *networks.vae, device);
  if (origin.z) require_finite(origin.z, "vae", "the picture's latents", result);
  if (origin.beside) require_finite(origin.beside, "vae", "the latents beside the run's", result);
  if (shows_colours()) colours = fit_colours(*networks.vae, device);
  result.encode_seconds += seconds_since(start);
  if (!plan.everything) networks.vae.reset();
}

void Run::show(const sampling::StepInfo& info) {
  if (!request.preview || ((info.step + 1) % request.preview->every != 0 && info.step + 1 != info.steps)) return;
  std::vector<Pixels> pictures;
  for (int64_t b = 0; b < info.x0.size(0); ++b) {
    const Tensor x0 = info.x0.slice(0, b, b + 1), picture = networks.preview ? (*networks.preview)(x0) : Tensor();
    if (!device.computes()) continue;
    if (picture) require_finite(picture, "preview", fmt::format("the preview after step {}", info.step + 1), result);
    pictures.push_back(picture ? to_pixels(picture, PixelRange::minus_one_to_one) : preview_of(x0, colours, config.vae.factor()));
  }
  if (device.computes()) request.preview->show(pictures, info.step + 1, info.steps);
}

// What stands under the mask at first, where that is not the picture.
void Run::fill_masked() {
  origin.noise = result.noise;
  if (!origin.z || request.edit.fill == ImageEdit::Fill::picture) return;
  const Tensor nothing = Tensor::zeros(device, origin.z.shape());
  origin.z = sampling::blended(request.edit.fill == ImageEdit::Fill::noise ? result.noise : nothing, origin.z, origin.mask);
}

// A stage from `state` to its end: x [B, h, w, C] of all pictures that go together, which began with those of `begun`.
sampling::State Run::sampled(const Part& part, sampling::State state, sampling::Noise& noise, sampling::GuidanceMemory& memory,
                             const EncodedPicture& begun) {
  const sampling::Schedule& schedule = part.stage.steps_to_take;
  auto step_start = Clock::now();
  Tensor guidance;
  if (part.config.unet.guidance) guidance = parts::guidance_embedding(part.config.unet, device, part.stage.told_guidance);
  const std::vector<EncodedPrompt>& prompts = part.prompts;
  const sampling::GuidedNetwork network = [&](const Tensor& x, float timestep, const sampling::Branches& branches) {
    const float timesteps[] = {timestep};
    const auto asking = [&](const Tensor& beside) -> AskUnder {
      return [&, beside](const Tensor& y, const Conditioning& given, int64_t disturbed) {
        parts::Perturbed perturbed;
        if (disturbed > 0) perturbed = {perturbed_blocks(p.guidance), disturbed};
        const Tensor input = beside ? ops::concat({y, ops::repeat_batch(beside, y.size(0) / beside.size(0))}, 3) : y;
        const Tensor scale = guidance ? ops::repeat_batch(guidance, y.size(0)) : Tensor();
        return (*part.networks.unet)(input, timesteps, {.context = given.states, .added = given.added, .guidance = scale}, perturbed);
      };
    };
    const EncodedPrompt* negative = prompts.size() > 1 ? &prompts[1] : nullptr;
    const Tensor beside = &part == &parts[0] ? begun.beside : Tensor();
    if (!branches.imageless) return ask_under_prompts(asking(beside), x, memory.step, branches, negative, prompts[0]);
    sampling::Branches with_picture = branches;
    with_picture.imageless = false;
    const int64_t B = x.size(0) / branches.count();
    const Tensor told = ask_under_prompts(asking(beside), x.slice(0, 0, x.size(0) - B), memory.step, with_picture, negative, prompts[0]);
    const Tensor nothing = Tensor::zeros(device, beside.shape());
    return ops::concat({told, ask_under_prompts(asking(nothing), x.slice(0, 0, B), memory.step, {}, nullptr, *negative)}, 0);
  };
  sampling::State left;
  const sampling::OnStep on_step = [&](const sampling::StepInfo& info) {
    const std::string what = fmt::format("step {} of {}", info.step + 1, info.steps);
    require_finite(info.x0, part.unet, what, result);
    require_finite(info.x, "sampler " + p.sampler, "the latents after " + what, result);
    result.step_seconds.push_back(seconds_since(step_start));
    step_start = Clock::now();
    memory.step = info.step + 1;
    show(info);
    report("sample", info.step + 1, info.steps);
    if (request.stop_after > 0 && info.state.step == request.stop_after)
      result.state = std::make_shared<ImageRequest::Resume>(ImageRequest::Resume{info.state, memory.running});
    if (result.state || info.state.step == part.stage.end) {
      left = info.state;
      throw Stopped();
    }
  };
  sampling::Guidance asked = p.guidance;
  if (part.config.unet.guidance) asked.scale = 1;  // the network knows it
  sampling::Denoiser denoise =
      sampling::make_denoiser(network, {schedule.prediction, schedule.sigma_data}, asked, p.unconditional(), memory);
  sampling::AfterCall after_call;
  if (p.edit.keeps && in_each_call(request.compat)) {
    denoise = sampling::keeping(request.compat, p.edit.by_times, denoise, begun.z, begun.noise, begun.mask);
  } else if (p.edit.keeps) {
    after_call = [&](const Tensor& x, const sampling::Level* next) {
      return sampling::blended(x, next ? sampling::noised(begun.z, begun.noise, *next) : begun.z, begun.mask);
    };
  }
  try {
    left.x = sampling::resume(*p.sampling, denoise, std::move(state), schedule, noise, p.sampler_options, on_step, after_call);
  } catch (const Stopped&) {}
  return left;
}

// All stages, each from where the one before it ended: the latents, but nothing of what a sampler remembers.
Tensor Run::through_all(sampling::State state, sampling::Noise& noise, sampling::GuidanceMemory& memory, const EncodedPicture& begun) {
  for (Part& part : parts) {
    if (&part != &parts[0]) {
      state = {.x = state.x, .step = part.stage.begin, .draws = state.draws};
      memory.running = {}, memory.step = part.stage.begin;
      memory.steps = int64_t(part.stage.steps_to_take.steps.size());  // the base's may have been begun on the way
    }
    if (!part.networks.unet) load(part.networks, &Networks::load_unet);
    state = sampled(part, std::move(state), noise, memory, begun);
    if (plan.release && parts.size() > 1) part.networks.unet.reset();
  }
  const bool keeps = !result.state && p.edit.keeps && request.compat == sampling::Compat::a1111;
  return keeps ? sampling::blended(state.x, begun.z, begun.mask) : state.x;
}

// noise → x on the first level → latents [B, h, w, C]
void Run::sample() {
  if (!networks.unet) load(networks, &Networks::load_unet);
  if (request.preview && networks.decodes_previews() && !networks.preview) load(networks, &Networks::load_preview);
  const sampling::Schedule& schedule = p.base.steps_to_take;
  report("sample", 0, int64_t(schedule.steps.size()));
  const auto start = Clock::now();
  sampling::Noise noise = sampling::make_noise(request.compat, draws(), schedule, *p.sampling);
  const auto [B, h, w, C] = p.latents;
  result.noise = noise(device, {B, h, w, C});
  fill_masked();
  const Tensor first =
      p.edit.from_noise ? sampling::starting_point(schedule, result.noise) : sampling::noised(origin.z, result.noise, p.edit.start);
  sampling::GuidanceMemory memory{.steps = std::max<int64_t>(1, int64_t(schedule.steps.size()))};
  if (request.resume) {
    memory.running = request.resume->guidance, memory.step = request.resume->state.step;
    result.latents = through_all(request.resume->state, noise, memory, origin);
  } else if (schedule.steps.empty()) {
    result.latents = origin.z;
  } else if (!p.sampling->ends_itself || B == 1) {
    result.latents = through_all({.x = first}, noise, memory, origin);
  } else {  // such a sampler's steps follow the error of one picture
    std::vector<Tensor> pictures;
    for (int64_t b = 0; b < B; ++b) {
      sampling::NoiseRequest alone = draws();
      alone.given = {};
      (alone.variation.strength > 0 ? alone.variation.seed : alone.seed) += uint64_t(b);
      sampling::Noise own = sampling::make_noise(request.compat, alone, schedule, *p.sampling);
      own.seek(1);  // the first was drawn above
      memory.running = {}, memory.step = 0;
      pictures.push_back(through_all({.x = first.slice(0, b, b + 1)}, own, memory, origin.slice(b, b + 1)));
    }
    result.latents = ops::concat(pictures, 0);
  }
  result.sample_seconds = seconds_since(start);
  if (plan.release) networks.unet.reset(), networks.preview.reset();
}

// latents → pictures [H, W, 3]
void Run::decode() {
  const int64_t B = p.latents[0];
  if (!networks.vae) load(networks, &Networks::load_vae);
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
  r.parts.push_back({.config = config, .stage = resolved.base, .networks = networks});
  if (resolved.refiner)
    r.parts.push_back({.config = *config.refiner, .stage = *resolved.refiner, .networks = *networks.refiner, .unet = "refiner/unet"});
  r.encode();
  if (request.edit.starts() || r.shows_colours()) r.encode_picture();
  if (const auto& depth = request.edit.depth)
    r.origin.beside = ops::repeat_batch(depth_channel(*depth, resolved.latents[1], resolved.latents[2], device), resolved.latents[0]);
  r.sample();
  if (request.decode) r.decode();
  if (plan.release) networks.vae.reset();
  return std::move(r.result);
}

}  // namespace hearth::models::stable_diffusion
