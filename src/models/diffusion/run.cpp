#include "models/diffusion/run.h"

#include <chrono>
#include <cmath>

#include "core/error.h"
#include "core/observe.h"
#include "core/on_host.h"
#include "models/diffusion/finite.h"
#include "models/diffusion/preview.h"
#include "models/diffusion/references.h"
#include "models/diffusion/upscale.h"
#include "ops/shape_ops.h"

namespace hearth::models::diffusion {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

void add_largest(ImageResult& result, std::string_view component, double magnitude) {
  double& largest = result.largest[std::string(component)];
  largest = std::max(largest, magnitude);
}

// An output that must be finite; its largest magnitude is reported.
void require_finite(const Tensor& x, std::string_view component, std::string_view what, ImageResult& result) {
  add_largest(result, component, diffusion::require_finite(x, component, what));
}
void require_finite(const EncodedPrompt& prompt, std::string_view component, ImageResult& result) {
  add_largest(result, component, diffusion::require_finite(prompt, component));
}

constexpr Which codec_alone{.role = Role::codec};

struct Stopped {};  // ends a run before its last step

// Whether the program restores the unmasked part in each denoiser call, instead of after it.
bool in_each_call(sampling::Compat compat) { return compat == sampling::Compat::comfyui || compat == sampling::Compat::a1111; }

// Inputs and results of a run's phases.
struct Run {
  const Members& members;
  const Pass& p;
  const MemoryPlan& plan;
  Backend& host;  // of everything outside the networks
  Holding& networks;
  const OnProgress& progress;
  const ImageTask& task = p.task;
  const Request& request = task.request;
  const std::vector<MemberComponent> unused = p.unused();
  ImageResult result = {};

  std::vector<std::vector<EncodedPrompt>> prompts = {};  // of each member: the prompt, and the negative prompt if it is evaluated
  EncodedImage origin = {};                              // the image that the run starts from
  std::optional<ActiveControls> controls = {};
  std::vector<Tensor> control_latents = {};  // encode_controls()
  std::vector<ActiveImagePrompt> image_prompts = {};
  std::vector<Tensor> references = {};  // latents of reference images, on the denoiser's device
  LatentColors colors = {};             // of previews without a preview decoder

  void encode();
  void encode_image_prompt();
  void encode_image_prompts();
  void encode_images();
  void fill_masked();
  void sample();
  void decode();

  void report(std::string_view phase, int64_t done, int64_t total) const {
    check_canceled();
    if (progress) progress({.phase = phase, .done = done, .total = total});
  }
  void need(Which which) {
    which.without = unused;
    if (networks.has(which)) return;
    const auto begin = Clock::now();
    networks.load(plan.everything ? Which{.without = unused, .controls = p.control_members} : which, progress);
    result.load_seconds += seconds_since(begin);
  }
  Backend& device_of(const Which& which) const { return networks.networks().device(which); }
  HostedCodec codec(std::optional<int64_t> tile) const { return {members[0]->codec(networks.of(0)), device_of(codec_alone), host, tile}; }
  bool has_references(ReferenceImages kind) const { return !task.references.empty() && members[0]->facts().reference_images == kind; }
  bool decodes_previews() const { return networks.networks().has(Role::preview); }
  bool finish_requested() const {  // of the run itself: its memory is planned for all steps
    bool requested = false;
    unless_dry(host, [&] { requested = request.finish && *request.finish; });
    return requested;
  }
  bool sees_latents() const {
    return std::ranges::any_of(p.controls, [](const RunControl& c) { return c.model->sight() != ControlSight::pixels; });
  }
  bool shows_colors() const { return request.preview.show && !decodes_previews(); }
  bool follows(size_t member) const { return member < p.stages.size() && p.stages[member].from_noise; }
  void show(const sampling::StepInfo& info, const Stage& stage);
  void report_step(size_t member, const sampling::StepInfo& info) const;
  sampling::State sampled(size_t member, sampling::State state, sampling::Noise& noise, sampling::GuidanceMemory& memory,
                          const EncodedImage& begun, const Tensor& before);
  Tensor through_all(sampling::State state, sampling::Noise& noise, sampling::GuidanceMemory& memory, const EncodedImage& begun);
};

// prompts → conditionings
void Run::encode() {
  need({.role = Role::text_encoder});
  report("encode", 0, 1);
  const auto start = Clock::now();
  for (size_t m = 0; m < members.size(); ++m) {
    prompts.push_back(p.stages[m].prompts ? p.stages[m].prompts->encode(networks.of(m), host) : prompts.back());
    Backend& denoiser_device = device_of({.role = Role::denoiser, .member = m});
    for (EncodedPrompt& prompt : prompts.back()) {
      require_finite(prompt, "text_encoder", result);
      prompt = moved(std::move(prompt), denoiser_device);
    }
  }
  result.encode_seconds = seconds_since(start);
  if (plan.release) networks.release({.role = Role::text_encoder});
  if (has_references(ReferenceImages::as_prompt)) encode_image_prompt();
  if (!p.image_prompts.empty()) encode_image_prompts();
  report("encode", 1, 1);
}

// The prompt's conditionings with those of the reference images.
void Run::encode_image_prompt() {
  const Which encoders{.role = Role::image_encoder, .member = 0};
  need(encoders);
  const auto start = Clock::now();
  EncodedPrompt& prompt = prompts[0][0];
  prompt = members[0]->with_references(networks.of(0), task, std::move(prompt), host);
  require_finite(prompt, networks.networks().first_name(encoders), result);
  result.encode_seconds += seconds_since(start);
  if (plan.release) networks.release(encoders);
}

// The tokens of image prompts, in the conditionings of the prompt and the negative prompt.
void Run::encode_image_prompts() {
  const Which encoders{.role = Role::image_encoder, .member = 0};
  const bool sees = networks.networks().has(Role::image_encoder);  // vectors of faces need none
  if (sees) need(encoders);
  need({.role = Role::control, .controls = p.control_members});
  const auto start = Clock::now();
  add_tokens(p.image_prompts, networks, host, device_of({.role = Role::denoiser, .member = 0}), prompts[0]);
  for (EncodedPrompt& prompt : prompts[0]) require_finite(prompt, sees ? networks.networks().first_name(encoders) : "ip_adapter", result);
  result.encode_seconds += seconds_since(start);
  if (plan.release && sees) networks.release(encoders);
}

// The autoencoder's work before the run: images [H, W, 3] → latents [B, h, w, C], and the colors of latents for previews.
void Run::encode_images() {
  need(codec_alone);
  const auto start = Clock::now();
  if (task.edit.encodes())
    origin = diffusion::encode_image(members[0]->facts(), task, p.edit, p.draws(), p.latents, codec(plan.tile), host);
  if (origin.z) require_finite(origin.z, "vae", "the image's latents", result);
  for (const Tensor& latents : {origin.beside, origin.to_fill})
    if (latents) require_finite(latents, "vae", "the latents of the input image", result);
  if (has_references(ReferenceImages::as_latents)) {
    references = encode_references(p.references, codec(plan.tile), host);
    for (Tensor& latents : references) {
      require_finite(latents, "vae", "the latents of a reference image", result);
      latents = latents.to(device_of({.role = Role::denoiser, .member = 0}));
    }
  }
  if (sees_latents()) {
    control_latents = encode_controls(p.controls, request.compat, p.draws(), p.latents, codec(plan.tile), host);
    for (const Tensor& latents : control_latents)
      if (latents) require_finite(latents, "vae", "the latents of a control image", result);
  }
  if (shows_colors()) colors = fit_colors(codec({}), host);
  result.encode_seconds += seconds_since(start);
  if (!plan.everything) networks.release(codec_alone);
}

void Run::show(const sampling::StepInfo& info, const Stage& stage) {
  if (stage.latents != p.latents) return;  // those of the images come later
  if (!request.preview.show || ((info.step + 1) % request.preview.every != 0 && info.step + 1 != info.steps)) return;
  const CodecConfig& latents = members[0]->facts().codec;
  std::vector<Image> images;
  for (int64_t b = 0; b < info.x0.size(0); ++b) {
    const Tensor x0 = info.x0.slice(0, b, b + 1);
    const Tensor image =
        decodes_previews() ? networks.of(0)[preview_slot(*members[0])](x0.to(device_of({.role = Role::preview}))) : Tensor();
    unless_dry(host, [&] {
      if (image) require_finite(image, "preview", fmt::format("the preview after step {}", info.step + 1), result);
      Pixels pixels = image ? to_pixels(image, PixelRange::minus_one_to_one) : preview_of(x0, colors, latents.factor);
      images.push_back({.width = pixels.width, .height = pixels.height, .rgb = std::move(pixels.rgb)});
    });
  }
  unless_dry(host, [&] { request.preview.show(images, info.step + 1, info.steps); });
}

// The initial latents under the mask, if they are not the image's.
void Run::fill_masked() {
  origin.noise = result.noise;
  if (!origin.z || task.edit.fill == ImageEdit::Fill::image) return;
  const Tensor nothing = Tensor::zeros(host, origin.z.shape());
  origin.z = sampling::blended(task.edit.fill == ImageEdit::Fill::noise ? result.noise : nothing, origin.z, origin.mask);
}

// Reports a step of a member: of a model and its second one, as one of all steps.
void Run::report_step(size_t member, const sampling::StepInfo& info) const {
  const auto steps_of = [&](size_t m) { return int64_t(p.stages[m].steps_to_take.steps.size()); };
  report("sample", (follows(member) ? steps_of(0) : 0) + info.step + 1, info.steps + (follows(1) ? steps_of(1 - member) : 0));
}

// A member's stage from `state` to its end: x [B, h, w, C] of all images that are sampled together, which started with those of `begun`.
// `before`: the latents of the model whose second one this is; else undefined.
sampling::State Run::sampled(size_t member, sampling::State state, sampling::Noise& noise, sampling::GuidanceMemory& memory,
                             const EncodedImage& begun, const Tensor& before) {
  const LatentModel& model = *members[member];
  const Loaded loaded = networks.of(member);
  const Stage& stage = p.stages[member];
  const sampling::Schedule& schedule = stage.steps_to_take;
  const std::string denoiser = networks.networks().first_name({.role = Role::denoiser, .member = member});
  auto step_start = Clock::now();
  const EncodedPrompt& prompt = prompts[member][0];
  const EncodedPrompt* negative = prompts[member].size() > 1 ? &prompts[member][1] : nullptr;
  Backend& device = device_of({.role = Role::denoiser, .member = member});
  const bool controlled = member == 0 && controls;
  ActiveControls::Moment moment{.calls = p.network_calls, .steps = std::min(memory.steps, p.steps)};  // PNDM has a step more
  if (controlled && state.step > 0 && moment.calls > 0) moment.call = p.calls_before.at(size_t(state.step));
  const auto before_on_device = before ? before.to(device) : Tensor();
  // Zeros under the negative prompt, whose images come first.
  const auto before_of = [&](int64_t images, int64_t under_negative) {
    if (!before) return Tensor();
    std::vector<Tensor> parts;
    if (under_negative > 0) parts.push_back(ops::repeat_batch(Tensor::zeros(device, before.shape()), under_negative / before.size(0)));
    if (images > under_negative) parts.push_back(ops::repeat_batch(before_on_device, (images - under_negative) / before.size(0)));
    return parts.size() == 1 ? parts[0] : ops::concat(parts, 0);
  };
  const auto on_device = [&](const Tensor& x, float timestep, const sampling::Branches& branches) {
    const auto asking = [&](const Tensor& beside) -> AskUnder {
      return [&, beside](const Tensor& y, const Conditioning& given, Portions portions) {
        const TensorLists added =
            controlled ? (*controls)(moment, {.x = y, .timestep = timestep, .given = given, .embedded_guidance = p.embedded_guidance},
                                     portions.negative, given_at(prompt.conditions[0], memory.step))
                       : TensorLists();
        const Tensor repeated_beside = beside ? ops::repeat_batch(beside, y.size(0) / beside.size(0)) : Tensor();
        return model.denoise(
            loaded, y, timestep,
            {.given = given,
             .beside = repeated_beside,
             .before = before_of(y.size(0), portions.negative),
             .references = member == 0 ? std::span<const Tensor>(references) : std::span<const Tensor>(),
             .guidance = &stage.guidance,
             .perturbed = portions.perturbed,
             .embedded_guidance = p.embedded_guidance,
             .image_prompts = member == 0 ? std::span<const ActiveImagePrompt>(image_prompts) : std::span<const ActiveImagePrompt>(),
             .control = added.empty() ? nullptr : &added});
      };
    };
    const Tensor beside = member == 0 && begun.beside ? begun.beside.to(device) : Tensor();
    if (!branches.imageless) return predict_under_prompts(asking(beside), x, memory.step, branches, negative, prompt);
    sampling::Branches with_image = branches;
    with_image.imageless = false;
    const int64_t B = x.size(0) / branches.count();
    const Tensor with_prompts =
        predict_under_prompts(asking(beside), x.slice(0, 0, x.size(0) - B), memory.step, with_image, negative, prompt);
    const Tensor nothing = Tensor::zeros(device, beside.shape());
    return ops::concat({with_prompts, predict_under_prompts(asking(nothing), x.slice(0, 0, B), memory.step, {}, nullptr, *negative)}, 0);
  };
  const sampling::GuidedNetwork network = [&](const Tensor& x, float timestep, const sampling::Branches& branches) {
    moment.step = memory.step;
    const Tensor y = on_device(x.to(device), timestep, branches).to(host);
    ++moment.call;
    return y;
  };
  sampling::State left;
  const sampling::OnStep on_step = [&](const sampling::StepInfo& info) {
    const std::string what = fmt::format("step {} of {}", info.step + 1, info.steps);
    require_finite(info.x0, denoiser, what, result);
    require_finite(info.x, "sampler " + p.sampler, "the latents after " + what, result);
    result.step_seconds.push_back(seconds_since(step_start));
    step_start = Clock::now();
    memory.step = info.step + 1;
    show(info, stage);
    report_step(member, info);
    if (info.step + 1 < info.steps && finish_requested()) {
      if (result.ended_after == 0) result.warnings.push_back(fmt::format("the run was ended after {}", what));
      result.ended_after = info.step + 1;
      left = {.x = info.x0, .step = info.step + 1};
      throw Stopped();
    }
    if (request.stop_after > 0 && info.state.step == request.stop_after)
      result.state = std::make_shared<ResumePoint>(ResumePoint{info.state, memory.running});
    if (result.state || info.state.step == stage.end) {
      left = info.state;
      throw Stopped();
    }
  };
  sampling::Denoiser denoise =
      sampling::make_denoiser(network, {schedule.prediction, schedule.sigma_data}, stage.guidance, p.unconditional(), memory);
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

// All stages, each without the sampler state of the one before: from the latents at which that ended, or given them and from noise.
Tensor Run::through_all(sampling::State state, sampling::Noise& noise, sampling::GuidanceMemory& memory, const EncodedImage& begun) {
  for (size_t m = 0; m < members.size(); ++m) {
    const Which denoiser{.role = Role::denoiser, .member = m};
    Tensor before;
    if (follows(m)) {
      before = state.x;
      const sampling::Schedule& schedule = p.stages[m].steps_to_take;
      const auto [B, h, w, C] = p.stages[m].latents;
      state = {.x = sampling::starting_point(schedule, noise(host, {before.size(0), h, w, C})), .draws = noise.position()};
      memory = {.steps = std::max<int64_t>(1, int64_t(schedule.steps.size()))};
    } else if (m > 0) {
      const Stage& stage = p.stages[m];
      state = {.x = state.x, .step = stage.begin, .draws = state.draws};
      memory.running = {}, memory.step = stage.begin;
      memory.steps = int64_t(stage.steps_to_take.steps.size());  // fewer if the model's stage starts from an image
    }
    need(denoiser);
    state = sampled(m, std::move(state), noise, memory, begun, before);
    if (plan.release && members.size() > 1) networks.release(denoiser);
    if (result.ended_after > 0 && !follows(m + 1)) break;
  }
  const bool keeps = !result.state && p.edit.keeps && request.compat == sampling::Compat::a1111;
  return keeps ? sampling::blended(state.x, begun.z, begun.mask) : state.x;
}

// noise → x at the first noise level → latents [B, h, w, C]
void Run::sample() {
  need({.role = Role::denoiser, .member = 0});
  if (!p.control_members.empty()) {
    need({.role = Role::control, .controls = p.control_members});
    image_prompts = active(p.image_prompts, networks, p.width, p.height);
  }
  if (!p.controls.empty()) {
    control_latents.resize(p.controls.size());
    controls.emplace(p.controls, control_latents, origin.to_fill, networks, std::array{p.height, p.width}, members[0]->facts().codec.factor,
                     host, device_of({.role = Role::denoiser, .member = 0}));
    control_latents.clear(), origin.to_fill = {};
  }
  if (request.preview.show && decodes_previews()) need({.role = Role::preview});
  const sampling::Schedule& schedule = p.stages[0].steps_to_take;
  report("sample", 0, int64_t(schedule.steps.size() + (follows(1) ? p.stages[1].steps_to_take.steps.size() : 0)));
  const auto start = Clock::now();
  sampling::Noise noise = sampling::make_noise(request.compat, p.draws(), schedule, *p.sampling);
  const auto [B, h, w, C] = p.noise;
  result.noise = noise(host, {B, h, w, C});
  fill_masked();
  const Tensor first =
      p.edit.from_noise ? sampling::starting_point(schedule, result.noise) : sampling::noised(origin.z, result.noise, p.edit.start);
  sampling::GuidanceMemory memory{.steps = std::max<int64_t>(1, int64_t(schedule.steps.size()))};
  if (task.resume) {
    memory.running = task.resume->guidance, memory.step = task.resume->state.step;
    result.latents = through_all(task.resume->state, noise, memory, origin);
  } else if (schedule.steps.empty()) {
    result.latents = origin.z;
  } else if (!p.sampling->ends_itself || B == 1) {
    result.latents = through_all({.x = first}, noise, memory, origin);
  } else {  // the sampler controls its steps by the error of one image
    std::vector<Tensor> images;
    const std::optional<ActiveControls> of_batch = controls;
    for (int64_t b = 0; b < B; ++b) {
      if (of_batch) controls = of_batch->slice(b, b + 1);
      sampling::NoiseRequest alone = p.draws();
      alone.given = {};
      (alone.variation.strength > 0 ? alone.variation.seed : alone.seed) += uint64_t(b);
      sampling::Noise own = sampling::make_noise(request.compat, alone, schedule, *p.sampling);
      own.seek(1);  // the first was drawn above
      memory.running = {}, memory.step = 0;
      images.push_back(through_all({.x = first.slice(0, b, b + 1)}, own, memory, origin.slice(b, b + 1)));
    }
    result.latents = ops::concat(images, 0);
  }
  result.sample_seconds = seconds_since(start);
  controls.reset(), image_prompts.clear();
  if (!plan.release) return;
  networks.release({.role = Role::denoiser, .member = 0}), networks.release({.role = Role::preview});
  networks.release({.role = Role::control, .controls = p.control_members});
}

// latents → images [H, W, 3]
void Run::decode() {
  const int64_t B = p.latents[0];
  need(codec_alone);
  report("decode", 0, B);
  const auto start = Clock::now();
  for (int64_t b = 0; b < B; ++b) {  // one by one, because decoding takes the most memory and images are independent
    const Tensor latents = result.latents.slice(0, b, b + 1);
    Tensor image = codec(plan.tile).decode(latents);
    require_finite(image, "vae", fmt::format("image {} of {}", b + 1, B), result);
    if (p.resized_to) image = resized_and_cropped(image, (*p.resized_to)[0], (*p.resized_to)[1]);
    result.images.push_back(image.view({image.size(1), image.size(2), image.size(3)}));
    report("decode", b + 1, B);
  }
  result.decode_seconds = seconds_since(start);
}

}  // namespace

ImageResult run(const Members& members, const Pass& pass, const MemoryPlan& plan, Holding& networks, const OnProgress& progress) {
  Run r{.members = members,
        .p = pass,
        .plan = plan,
        .host = networks.networks().host(),
        .networks = networks,
        .progress = progress,
        .result = {.warnings = plan.warnings}};
  r.encode();
  if (pass.task.edit.encodes() || r.has_references(ReferenceImages::as_latents) || r.sees_latents() || r.shows_colors()) r.encode_images();
  if (const auto& depth = pass.task.edit.depth)
    r.origin.beside = ops::repeat_batch(depth_channel(*depth, pass.latents[1], pass.latents[2], r.host), pass.latents[0]);
  r.sample();
  if (pass.task.request.decode || (pass.task.decode_if_ended && r.result.ended_after > 0)) r.decode();
  if (plan.release) networks.release(codec_alone);
  return std::move(r.result);
}

}  // namespace hearth::models::diffusion
