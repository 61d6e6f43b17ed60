#include "api/job.h"

#include <nlohmann/json.hpp>
#include <random>

#include "api/array.h"
#include "api/debug.h"
#include "api/prompts.h"
#include "api/run_scope.h"
#include "api/run_state.h"
#include "core/bytes.h"
#include "core/error.h"
#include "core/memory.h"
#include "media/pixels.h"
#include "sampling/sampler_names.h"

namespace hearth {
namespace {

using api::Clock, api::OptionalCancel, api::seconds_since;

uint64_t random_seed() { return std::random_device{}(); }  // 32 bits: as many as PyTorch's generator keeps

void check_request(const Request& r) {
  for (const std::optional<std::string>& text : {std::optional(r.prompt), r.negative_prompt, r.prompt_2, r.negative_prompt_2})
    if (text && text->find('\0') != text->npos) fail<UsageError>("generate: the prompt holds a zero byte");
}

sampling::Guidance guidance_of(const Request& r) {
  const sampling::GuidanceMethod& method = sampling::find_guidance(r.guidance_method.empty() ? "cfg" : r.guidance_method);
  sampling::Guidance g{.scale = r.guidance, .method = &method, .rescale = r.guidance_rescale};
  g.options = sampling::parse_options(fmt::format("guidance '{}'", method.name), method.options, r.guidance_options);
  if (r.guidance_interval) g.lowest = (*r.guidance_interval)[0], g.highest = (*r.guidance_interval)[1];
  return g;
}

// The sampler by its own name, with the schedule and options that the request's name for it says.
struct SamplerOf {
  std::string sampler, schedule;
  std::map<std::string, std::string> options;
};

SamplerOf sampler_of(const Request& r) {
  SamplerOf named{r.sampler, r.schedule, r.sampler_options};
  if (r.sampler.empty()) return named;
  const sampling::NamedSampler read = sampling::read_sampler_name(r.sampler, r.schedule);
  named.sampler = read.sampler->name, named.schedule = read.schedule;
  for (const auto& [name, value] : read.options) named.options.emplace(name, fmt::format("{}", value));
  return named;
}

std::optional<models::ImageRequest::Hires> hires_of(const Request& r) {
  if (!r.hires) return std::nullopt;
  return models::ImageRequest::Hires{r.hires->scale, r.hires->upscaler, r.hires->steps, r.hires->strength};
}

std::optional<models::ImageRequest::Preview> preview_of(const Request& r) {
  if (!r.preview.show) return std::nullopt;
  if (r.preview.every < 1) fail<UsageError>("preview: every {} steps, needed 1 at least", r.preview.every);
  return models::ImageRequest::Preview{.every = r.preview.every,
                                       .show = [show = r.preview.show](const std::vector<Pixels>& pictures, int64_t step, int64_t steps) {
                                         std::vector<Image> images;
                                         for (const Pixels& p : pictures)
                                           images.push_back({.width = p.width, .height = p.height, .rgb = p.rgb});
                                         show(images, step, steps);
                                       }};
}

models::ImageEdit edit_of(const Request& r, const std::optional<api::Canvas>& canvas) {
  models::ImageEdit edit = canvas ? canvas->edit : models::ImageEdit();
  edit.depth = api::depth_of(r);
  return edit;
}

// The family's options, those that Request has members for among them.
OptionValues options_of(const Request& r) {
  OptionValues all = r.options;
  const auto add = [&all](const char* name, const auto& value) {
    if (value) all[name] = *value;
  };
  add("prompt_2", r.prompt_2), add("negative_prompt_2", r.negative_prompt_2);
  add("clip_skip", r.clip_skip), add("clip_skip_2", r.clip_skip_2);
  add("original_size", r.sizes.original_size), add("target_size", r.sizes.target_size), add("crop", r.sizes.crop);
  add("negative_original_size", r.sizes.negative_original_size), add("negative_target_size", r.sizes.negative_target_size);
  add("negative_crop", r.sizes.negative_crop);
  add("aesthetic_score", r.sizes.aesthetic_score), add("negative_aesthetic_score", r.sizes.negative_aesthetic_score);
  return all;
}

models::ImageRequest to_image_request(const Request& r, const api::Seeds& seeds, const std::optional<api::Canvas>& canvas,
                                      Backend& device) {
  std::vector<models::EmbeddingFile> embeddings;
  for (const Embedding& e : r.embeddings) embeddings.push_back({.file = e.file, .name = e.name});
  SamplerOf named = sampler_of(r);
  return {.prompt = r.prompt,
          .negative_prompt = r.negative_prompt,
          .syntax = api::syntax_of(r),
          .emphasis = api::emphasis_of(r),
          .options = options_of(r),
          .embeddings = std::move(embeddings),
          .width = canvas ? canvas->width : r.width,
          .height = canvas ? canvas->height : r.height,
          .refiner_start = r.refiner_start,
          .steps = r.steps,
          .guidance = guidance_of(r),
          .sampler = std::move(named.sampler),
          .schedule = std::move(named.schedule),
          .sampler_options = std::move(named.options),
          .schedule_options = r.schedule_options,
          .sigmas = r.sigmas,
          .discard_penultimate = r.discard_penultimate,
          .seed = seeds.run,
          .batch = r.batch_size,
          .compat = r.compat,
          .rng = r.rng,
          .eta_seed_delta = r.eta_noise_seed_delta,
          .first_image = r.batch_index,
          .variation = {.seed = seeds.variation, .strength = r.variation.strength},
          .noise = r.noise ? api::to_tensor(*r.noise, device, "noise") : Tensor(),
          .edit = edit_of(r, canvas),
          .image_guidance = r.edit.image_guidance,
          .hires = hires_of(r),
          .preview = preview_of(r),
          .decode = r.decode,
          .stop_after = r.stop_after,
          .last = r.last,
          .vae_tiling = r.vae_tiling == VaeTiling::on    ? models::ImageRequest::Tiling::on
                        : r.vae_tiling == VaeTiling::off ? models::ImageRequest::Tiling::off
                                                         : models::ImageRequest::Tiling::automatic,
          .vae_tile = r.vae_tile};
}

void check_noise(const Array& noise, const models::ResolvedImage& resolved) {
  const auto [B, h, w, C] = resolved.latents;
  const std::vector<int64_t> needed = {B, C, h, w};
  if (noise.shape != needed)
    fail<UsageError>("noise: shape {}, a batch of {} at {}×{} needs {}", Shape(std::span<const int64_t>(noise.shape)), B, resolved.width,
                     resolved.height, Shape(std::span<const int64_t>(needed)));
}

// Memory that other programs have cannot be had.
void check_memory(const models::MemoryPlan& plan, const models::ResolvedImage& r) {
  const int64_t available = system_available_bytes(), needed = plan.process - process_resident_bytes();
  if (available <= 0 || needed <= available) return;
  const auto [more, had] = in_gigabytes(needed, available);
  fail<UsageError>("generate: {} of {}×{} need {} GB more memory, {} GB are available", r.batch, r.width, r.height, more, had);
}

api::Seeds seeds_of(const Request& r) {
  return {.run = r.seed     ? *r.seed
                 : r.resume ? api::seed_of(*r.resume)
                            : random_seed(),
          .variation = r.variation.seed           ? *r.variation.seed
                       : r.variation.strength > 0 ? random_seed()
                                                  : 0};
}

}  // namespace

Job::Impl::Impl(Model::Impl& m, const Request& r, bool common_levels) : model(m), request(r) {
  const auto start = Clock::now();
  const OptionalCancel cancel(request.cancel);
  check_request(request);
  seeds = seeds_of(request);
  canvas = api::prepare_canvas(request, model.pipeline->factor());
  models::ImageRequest image_request = to_image_request(request, seeds, canvas, *model.device);
  image_request.common_levels = common_levels;
  job = model.pipeline->prepare(image_request);
  if (request.resume) job->resume(api::from_run_state(*request.resume, request, job->resolved(), seeds.run, *model.device));
  if (request.noise) check_noise(*request.noise, job->resolved());
  check_memory(job->plan(), job->resolved());
  prepare_seconds = seconds_since(start);
}

Job::Job(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Job::Job(Job&&) noexcept = default;
Job& Job::operator=(Job&&) noexcept = default;
Job::~Job() = default;

Model::Prediction Job::memory() const {
  const models::MemoryPlan& plan = impl_->job->plan();
  return {.bytes = plan.process, .mode = plan.mode};
}

Generation Job::run() {
  Model::Impl& model = impl_->model;
  const Request& request = impl_->request;
  const std::optional<api::Canvas>& canvas = impl_->canvas;
  api::DebugObserver observer(request.debug, *model.device);
  const auto start = observer.began();
  const OptionalCancel cancel(request.cancel);
  if (request.decode) model.hashes->start();

  std::optional<ObserverScope> observing;
  if (observer.watches()) observing.emplace(observer);
  const MemoryWatch memory(model.device->ledger());
  models::ImageResult result = impl_->job->run([&](const Progress& p) {
    observer.set_phase(p.phase);
    if (request.progress) request.progress(p);
  });

  observing.reset();
  observer.set_phase("finish");

  const models::ResolvedImage& resolved = impl_->job->resolved();
  const models::MemoryPlan& plan = impl_->job->plan();
  Generation made{.noise = api::to_array(result.noise), .latents = api::to_array(result.latents), .warnings = resolved.warnings};
  made.warnings.insert(made.warnings.end(), result.warnings.begin(), result.warnings.end());
  if (std::string warning = api::plain_weight_warning(request); !warning.empty()) made.warnings.push_back(std::move(warning));
  if (canvas) made.warnings.insert(made.warnings.begin(), canvas->warnings.begin(), canvas->warnings.end());
  const std::vector<models::ComponentReport> components = model.pipeline->components();
  api::Run run{.request = request,
               .seed = impl_->seeds.run,
               .variation_seed = impl_->seeds.variation,
               .resolved = resolved,
               .plan = plan,
               .components = components,
               .memory_peak = memory.peak()};
  if (plan.tile) run.tile = *plan.tile * model.pipeline->factor();
  if (result.state) made.state = api::to_run_state(*result.state, run);
  result.state = nullptr;
  for (const Tensor& picture : result.pictures) {
    Pixels pixels = to_pixels(picture, PixelRange::minus_one_to_one);
    if (canvas) pixels = canvas->put_back(pixels);
    made.images.push_back({.width = pixels.width, .height = pixels.height, .rgb = std::move(pixels.rgb)});
    if (request.deep_colour) {
      const DeepPixels deep = to_deep_pixels(picture, PixelRange::minus_one_to_one);
      made.images.back().rgb16 = canvas ? canvas->put_back(deep).rgb : deep.rgb;
    }
    api::sign(made.images.back(), model, run, int64_t(made.images.size()) - 1);
  }
  model.load_seconds += result.load_seconds;
  result.pictures.clear();
  result.noise = result.latents = {};
  model.device->release_cached();
  observer.finish();
  run.seconds = impl_->prepare_seconds + seconds_since(start);
  made.report = api::write_report(model, run, result, made.warnings, observer.report());
  return made;
}

}  // namespace hearth
