#include "api/image/job.h"

#include <list>
#include <nlohmann/json.hpp>
#include <random>

#include "api/debug/debug.h"
#include "api/debug/debug_text.h"
#include "api/files/adapter_fit.h"
#include "api/image/array.h"
#include "api/image/prompt_loras.h"
#include "api/image/prompts.h"
#include "api/image/run_state.h"
#include "api/image/used_request.h"
#include "api/run_scope.h"
#include "api/settings/setting.h"
#include "backends/split/split_backend.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/text/bytes.h"
#include "media/pixels.h"

namespace hearth {
namespace {

using api::Clock, api::OptionalCancel, api::seconds_since;

uint64_t random_seed() { return std::random_device{}(); }  // 32 bits: PyTorch's generator uses no more

void check_request(const Request& r) {
  for (const std::string& text : api::prompts_of(r))
    if (text.find('\0') != text.npos) fail<UsageError>("generate: the prompt contains a zero byte");
  if (r.variation.seed && r.variation.strength == 0)
    fail<UsageError>("generate: a variation seed without a variation strength, expected both");
}

models::ImageEdit edit_of(const Request& r, const std::optional<api::Canvas>& canvas) {
  models::ImageEdit edit = canvas ? canvas->edit : models::ImageEdit();
  edit.depth = api::depth_of(r), edit.control = api::control_of(r);
  return edit;
}

models::ImageTask task_of(const Request& r, const api::Seeds& seeds, const std::optional<api::Canvas>& canvas, Backend& host) {
  models::ImageTask task{.request = r,
                         .seed = seeds.run,
                         .variation_seed = seeds.variation,
                         .edit = edit_of(r, canvas),
                         .noise = r.noise ? api::to_tensor(*r.noise, host, "noise") : Tensor()};
  task.references = api::references_of(r);
  for (Reference& reference : task.request.references) reference.image = {};
  task.controls = api::controls_of(r);
  for (Control& control : task.request.controls) control.image = {};
  task.image_prompts = api::image_prompts_of(r);
  for (ImagePrompt& prompt : task.request.image_prompts) prompt.image = {}, prompt.mask.reset();
  task.request.noise.reset(), task.request.resume.reset();
  if (canvas) task.request.width = canvas->width, task.request.height = canvas->height;
  return task;
}

void check_noise(const Array& noise, const models::ResolvedImage& resolved) {
  const auto [B, h, w, C] = resolved.noise;
  const std::vector<int64_t> needed = {B, C, h, w};
  if (noise.shape != needed)
    fail<UsageError>("noise: shape {} for a batch of {} at {}×{}, expected {}", Shape(std::span<const int64_t>(noise.shape)), B,
                     resolved.width, resolved.height, Shape(std::span<const int64_t>(needed)));
}

// Memory that other programs use is not available.
void check_memory(const models::MemoryPlan& plan, const models::ResolvedImage& r) {
  const int64_t available = system_available_bytes(), needed = plan.process - process_resident_bytes();
  if (available <= 0 || needed <= available) return;
  const auto [more, had] = in_gigabytes(needed, available);
  fail<UsageError>("generate: a batch of {} at {}×{} needs {} GB more memory, but {} GB are available", r.batch, r.width, r.height, more,
                   had);
}

api::Seeds seeds_of(const Request& r) {
  api::Seeds seeds;
  if (r.seed) seeds.run = *r.seed;
  else seeds.run = r.resume ? api::seed_of(*r.resume) : random_seed();
  if (r.variation.seed) seeds.variation = *r.variation.seed;
  else if (r.variation.strength > 0) seeds.variation = random_seed();
  return seeds;
}

}  // namespace

Job::Impl::Impl(Model::Impl& m, const Request& r, bool common_levels) : model(m), request(r) {
  const auto start = Clock::now();
  const OptionalCancel cancel(request.cancel);
  check_request(request);
  seeds = seeds_of(request);
  canvas = api::prepare_canvas(request, model.pipeline->side_unit());
  models::ImageTask task = task_of(api::with_prompt_loras(request), seeds, canvas, model.device->host());
  task.common_levels = common_levels;
  try {
    job = model.pipeline->prepare(task);
  } catch (const adapters::ForeignAdapter& e) {
    const std::vector<api::Fit> fits = api::fits_of(e.path);
    if (fits.empty()) throw;
    fail<WeightError>("{}; it is for {}", e.what(), fits[0].model);
  }
  if (request.resume) job->resume(api::from_run_state(*request.resume, request, job->resolved(), seeds.run, model.device->host()));
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
  return {.bytes = plan.process, .mode = plan.mode, .gpu_bytes = plan.card ? std::optional(plan.card->peak()) : std::nullopt};
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
  std::list<MemoryWatch> memory;
  memory.emplace_back(model.device->ledger());
  for (const auto& device : model.others) memory.emplace_back(device->ledger());
  std::list<MemoryWatch> cards;
  for (SplitBackend* device : api::divided_devices(model)) cards.emplace_back(device->card().ledger());
  models::ImageResult result = impl_->job->run([&](const Progress& p) {
    observer.set_phase(p.phase);
    if (request.progress) request.progress(p);
  });

  observing.reset();
  observer.set_phase("finish");

  const models::ResolvedImage& resolved = impl_->job->resolved();
  const models::MemoryPlan& plan = impl_->job->plan();
  Generation made{.noise = api::to_array(result.noise), .latents = api::to_array(result.latents), .warnings = resolved.warnings};
  made.seed = impl_->seeds.run, made.variation_seed = impl_->seeds.variation;
  made.warnings.insert(made.warnings.end(), result.warnings.begin(), result.warnings.end());
  if (std::string warning = api::plain_weight_warning(request); !warning.empty()) made.warnings.push_back(std::move(warning));
  if (canvas) made.warnings.insert(made.warnings.begin(), canvas->warnings.begin(), canvas->warnings.end());
  std::vector<models::ComponentReport> components = model.pipeline->components();
  for (models::ComponentReport& control : impl_->job->controls()) components.push_back(std::move(control));
  const std::optional<int64_t> tile = plan.tile ? std::optional(*plan.tile * model.pipeline->factor()) : std::nullopt;
  api::Run run{.requested = request,
               .used = api::used_request(request, resolved, tile),
               .resolved = resolved,
               .plan = plan,
               .components = components};
  made.ended_after = run.ended_after = result.ended_after;
  for (const MemoryWatch& watch : memory) run.memory_peak += watch.peak();
  for (const MemoryWatch& watch : cards) run.card_peak += watch.peak();
  if (result.state) made.state = api::to_run_state(*result.state, run);
  result.state = nullptr;
  for (const Tensor& image : result.images) {
    Pixels pixels = to_pixels(image, PixelRange::minus_one_to_one);
    if (canvas) pixels = canvas->put_back(pixels);
    made.images.push_back({.width = pixels.width, .height = pixels.height, .rgb = std::move(pixels.rgb)});
    if (request.deep_color) {
      const DeepPixels deep = to_deep_pixels(image, PixelRange::minus_one_to_one);
      made.images.back().rgb16 = canvas ? canvas->put_back(deep).rgb : deep.rgb;
    }
    const Request used = api::used_by_image(run.used, int64_t(made.seeds.size()));
    made.seeds.push_back(*used.seed);
    api::sign(made.images.back(), model, run, used);
  }
  model.load_seconds += result.load_seconds;
  result.images.clear();
  result.noise = result.latents = {};
  model.device->release_cached();
  for (const auto& device : model.others) device->release_cached();
  observer.finish();
  run.seconds = impl_->prepare_seconds + seconds_since(start);
  const nlohmann::json debug = observer.report();
  made.report = api::write_report(model, run, result, made.warnings, debug);
  made.debug_text = api::debug_text(debug);
  return made;
}

}  // namespace hearth
