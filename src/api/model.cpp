#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>

#include "api/array.h"
#include "api/assets.h"
#include "api/debug.h"
#include "api/editing.h"
#include "api/loaded_model.h"
#include "api/places.h"
#include "api/precision.h"
#include "api/prompts.h"
#include "api/run_scope.h"
#include "api/run_state.h"
#include "backends/backends.h"
#include "core/bytes.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/threads.h"
#include "media/pixels.h"
#include "models/checkpoints.h"
#include "models/registry.h"
#include "ops/shape_ops.h"
#include "sampling/sampler_names.h"

namespace hearth {
namespace {

using api::Clock, api::OptionalCancel, api::seconds_since;

struct Seeds {
  uint64_t run = 0, variation = 0;
};

uint64_t random_seed() { return std::random_device{}(); }  // 32 bits: as many as PyTorch's generator keeps

void check_request(const Request& r) {
  sampling::find_compat(r.compat);
  sampling::find_rng(r.rng);
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

models::ImageRequest to_image_request(const Request& r, const Seeds& seeds, const std::optional<api::Canvas>& canvas, Backend& device) {
  std::vector<models::EmbeddingFile> embeddings;
  for (const Embedding& e : r.embeddings) embeddings.push_back({.file = e.file, .name = e.name});
  SamplerOf named = sampler_of(r);
  return {.prompt = r.prompt,
          .negative_prompt = r.negative_prompt,
          .prompt_2 = r.prompt_2,
          .negative_prompt_2 = r.negative_prompt_2,
          .syntax = api::syntax_of(r),
          .emphasis = api::emphasis_of(r),
          .clip_skip = r.clip_skip,
          .clip_skip_2 = r.clip_skip_2,
          .embeddings = std::move(embeddings),
          .width = canvas ? canvas->width : r.width,
          .height = canvas ? canvas->height : r.height,
          .sizes = r.sizes,
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
          .compat = sampling::find_compat(r.compat),
          .rng = sampling::find_rng(r.rng),
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

std::optional<api::Canvas> canvas_of(const Request& r, const models::TextToImage& pipeline) {
  return api::prepare_canvas(r, pipeline.factor());
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

std::map<std::string, std::optional<WeightTypes>, std::less<>> types_of_some(const OpenOptions& options, const Backend& device) {
  std::map<std::string, std::optional<WeightTypes>, std::less<>> types;
  for (const auto& [name, component] : options.components)
    if (component.precision) types[name] = api::weight_types(*component.precision, device);
  return types;
}

// The folder's, or the file's without its ending.
std::string name_of(const Checkpoint& checkpoint, const std::filesystem::path& path) {
  const auto root = std::filesystem::absolute(path).lexically_normal();
  const auto name = root.has_filename() ? root.filename() : root.parent_path().filename();
  return (checkpoint.is_file() ? name.stem() : name).string();
}

}  // namespace

struct Model::Impl : api::LoadedModel {};

const char* version() { return HEARTH_VERSION; }

Model::Model(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

Model Model::open(const std::filesystem::path& path, const OpenOptions& options) {
  const auto start = Clock::now();
  const OptionalCancel cancel(options.cancel);
  if (options.memory_limit < 0) fail<UsageError>("open: a memory limit of {} bytes, needed at least 0", options.memory_limit);
  const Checkpoint checkpoint = models::open_checkpoint(path, api::places_of(path, options));
  const models::TextToImageFamily& family = models::find_family(checkpoint).family;
  std::optional<Checkpoint> refiner;
  if (!options.refiner.empty()) refiner = models::open_checkpoint(options.refiner, api::places_of(options.refiner));
  if (options.warn)
    for (const std::string& note : checkpoint.notes()) options.warn(note);

  auto impl = std::make_unique<Impl>();
  const auto root = std::filesystem::absolute(path).lexically_normal();
  impl->name = name_of(checkpoint, path);
  if (refiner) impl->refiner = name_of(*refiner, options.refiner);
  impl->device = make_backend({.name = options.device, .threads = options.threads});
  if (options.pin_threads) impl->device->threads().pin();
  impl->pipeline = family.open(checkpoint, *impl->device,
                               {.variant = options.variant,
                                .types = api::weight_types(options.precision, *impl->device),
                                .types_of_some = types_of_some(options, *impl->device),
                                .cache = options.cache,
                                .warn = options.warn ? options.warn : [](const std::string&) {},
                                .progress = options.progress,
                                .when_needed = options.load_when_needed,
                                .memory_limit = options.memory_limit,
                                .refiner = refiner ? &*refiner : nullptr,
                                .preview_decoder = options.preview_decoder});
  std::vector<std::pair<std::string, std::vector<std::filesystem::path>>> files;
  for (const models::ComponentReport& c : impl->pipeline->components()) {
    files.emplace_back(c.name, std::vector<std::filesystem::path>());
    for (const std::string& file : c.files) files.back().second.push_back(checkpoint.found(file));
  }
  impl->hashes = std::make_unique<api::WeightHashes>(std::move(files), options.cache);
  impl->load_seconds = seconds_since(start);
  return Model(std::move(impl));
}

Model Model::open_demo(const OpenOptions& options) { return open(api::demo_model_folder(), options); }

std::string Model::family() const { return impl_->pipeline->family(); }
std::string Model::description() const { return api::describe(*impl_); }

Generation Model::generate(const Request& request) { return run(request, false); }

Generation Model::run(const Request& request, bool common_levels) {
  Impl& model = *impl_;
  api::DebugObserver observer(request.debug, *model.device);
  const auto start = observer.began();
  const OptionalCancel cancel(request.cancel);
  check_request(request);
  const uint64_t seed = request.seed ? *request.seed : request.resume ? api::seed_of(*request.resume) : random_seed();
  const uint64_t variation_seed = request.variation.seed ? *request.variation.seed : request.variation.strength > 0 ? random_seed() : 0;
  const std::optional<api::Canvas> canvas = canvas_of(request, *model.pipeline);
  models::ImageRequest image_request = to_image_request(request, {seed, variation_seed}, canvas, *model.device);
  image_request.common_levels = common_levels;
  const models::ResolvedImage resolved = model.pipeline->resolve(image_request);
  if (request.resume) image_request.resume = api::from_run_state(*request.resume, request, resolved, seed, *model.device);
  if (request.noise) check_noise(*request.noise, resolved);
  const models::MemoryPlan plan = model.pipeline->plan(image_request);
  check_memory(plan, resolved);
  if (request.decode) model.hashes->start();

  std::optional<ObserverScope> observing;
  if (observer.watches()) observing.emplace(observer);
  MemoryLedger::process().reset_peak();
  models::ImageResult result = model.pipeline->draw(image_request, plan, [&](const Progress& p) {
    observer.set_phase(p.phase);
    if (request.progress) request.progress(p);
  });

  observing.reset();
  observer.set_phase("finish");

  Generation made{.noise = api::to_array(result.noise), .latents = api::to_array(result.latents), .warnings = resolved.warnings};
  made.warnings.insert(made.warnings.end(), result.warnings.begin(), result.warnings.end());
  if (std::string warning = api::plain_weight_warning(request); !warning.empty()) made.warnings.push_back(std::move(warning));
  if (canvas) made.warnings.insert(made.warnings.begin(), canvas->warnings.begin(), canvas->warnings.end());
  const std::vector<models::ComponentReport> components = model.pipeline->components();
  api::Run run{.request = request,
               .seed = seed,
               .variation_seed = variation_seed,
               .resolved = resolved,
               .plan = plan,
               .components = components,
               .memory_peak = MemoryLedger::process().use().peak};
  if (plan.tile) run.tile = *plan.tile * model.pipeline->factor();
  if (result.state) made.state = api::to_run_state(*result.state, run);
  result.state = nullptr, image_request.resume = nullptr;
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
  run.seconds = seconds_since(start);
  made.report = api::write_report(model, run, result, made.warnings, observer.report());
  return made;
}

Model::Prediction Model::predict_memory(const Request& request) {
  check_request(request);
  const models::ImageRequest image_request = to_image_request(request, {}, canvas_of(request, *impl_->pipeline), *impl_->device);
  const models::ResolvedImage resolved = impl_->pipeline->resolve(image_request);
  if (request.noise) check_noise(*request.noise, resolved);
  const models::MemoryPlan plan = impl_->pipeline->plan(image_request);
  check_memory(plan, resolved);
  return {.bytes = plan.process, .mode = plan.mode};
}

Array Model::encode(const Array& pixels) {
  const Tensor pictures = api::to_tensor(pixels, *impl_->device, "pixels");
  return api::to_array(impl_->pipeline->encode(ops::to_channels_last(pictures)));
}

Array Model::decode(const Array& latents) {
  return api::to_array(impl_->pipeline->decode(ops::to_channels_last(api::to_tensor(latents, *impl_->device, "latents"))));
}

}  // namespace hearth
