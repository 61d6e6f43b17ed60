#include <algorithm>
#include <chrono>
#include <set>

#include "core/error.h"
#include "core/text/bytes.h"
#include "models/adapter_use.h"
#include "models/diffusion/model.h"
#include "models/diffusion/run.h"
#include "models/diffusion/second_pass.h"

namespace hearth::models::diffusion {

namespace {

ImageTask with_steps(const Facts& facts, ImageTask task) {
  Request& request = task.request;
  if (request.steps == 0) request.steps = request.sigmas.empty() ? facts.steps : std::ssize(request.sigmas) - 1;
  return task;
}

}  // namespace

LatentJob::LatentJob(LatentImageModel& model, const ImageTask& asked) : model_(model), task_(with_steps(model.facts(), asked)) {
  const Facts& facts = model.facts();
  const ImageTask& task = task_;
  if (task.request.preview.show && !model.shows_previews())
    fail<UsageError>("generate: previews with a decoder-only autoencoder, expected one with an encoder, or a preview decoder");
  check_controls(facts, task);
  const std::vector<RunControl> controls = model.open_controls(task);
  image_prompts_ = model.open_image_prompts(task);
  adapters::Adapters adapted = read_adapters(model, task.request, image_prompts_);
  changes_ = std::move(adapted.changes);
  if (!task.request.hires) {
    passes_ = {resolve(model.members_, task, controls, model.networks_.host())};
    resolved_ = passes_[0];
    resolved_.adapters = std::move(adapted.coverage);
    add_controls();
    return;
  }
  passes_.push_back(resolve(model.members_, first_of_two(task), controls, model.networks_.host()));
  passes_.push_back(
      resolve(model.members_, second_of_two(facts, task, passes_[0], model.networks_.host()), controls, model.networks_.host()));
  resolved_ = both(passes_[0], passes_[1]);
  resolved_.request.hires = task.request.hires;
  resolved_.adapters = std::move(adapted.coverage);
  add_controls();
}

void LatentJob::add_controls() {
  const auto add_once = [](std::vector<size_t>& members, size_t member) {
    if (std::ranges::find(members, member) == members.end()) members.push_back(member);
  };
  for (Pass& pass : passes_) {
    pass.image_prompts = image_prompts_;
    for (const RunControl& control : pass.controls) {
      control.model->check_size(pass.width, pass.height);
      if (control.model->sight() != ControlSight::pixels && !model_.facts().codec.encodes)
        fail<UsageError>("{}: sees latents, but the autoencoder is a decoder only, expected one with an encoder", control.file);
      add_once(pass.control_members, control.member);
    }
    if (model_.facts().codec.draws) {
      pass.edit.encodings.controls = draws_of(pass.controls);
      pass.edit.encodings.before += pass.edit.encodings.controls;
      if (pass.edit.encodings.of_batch) *pass.edit.encodings.of_batch += pass.edit.encodings.controls;
    }
    for (const RunImagePrompt& prompt : image_prompts_) add_once(pass.control_members, prompt.member);
  }
}

std::vector<ComponentReport> LatentJob::controls() const {
  return model_.networks_.reports({.role = Role::control, .controls = passes_[0].control_members});
}

adapters::Adapters LatentJob::read_adapters(const LatentImageModel& model, const Request& request,
                                            std::span<const RunImagePrompt> image_prompts) {
  std::vector<adapters::AdapterUse> uses;
  for (const Lora& lora : request.loras) uses.push_back(use_of(lora));
  std::map<std::string, std::string> others;
  std::set<std::string> files;  // one that several prompts use changes weights once
  for (const RunImagePrompt& prompt : image_prompts) {
    auto changed = prompt.model->changed_weights();
    if (changed.empty() || !files.insert(prompt.file).second) continue;
    uses.push_back({.path = prompt.file, .among_others = true});
    others.merge(changed);
  }
  if (uses.empty()) return {};
  std::vector<adapters::AdaptedNetwork> networks = model.networks_.adapted();
  for (adapters::AdaptedNetwork& network : networks)
    if (network.role == ComponentRole::denoiser) network.others.insert(others.begin(), others.end());
  adapters::Adapters adapted = adapters::read_adapters(uses, networks);
  adapted.coverage.resize(request.loras.size());
  return adapted;
}

void LatentJob::resume(std::shared_ptr<const ResumePoint> state) {
  if (passes_.size() > 1) fail<UnsupportedError>("hires: two passes do not support stopping and resuming");
  require_resumable(passes_[0]);
  passes_[0].task.resume = std::move(state);
}

const MemoryPlan& LatentJob::plan() {
  if (plan_) return *plan_;
  const int64_t limit = model_.memory_limit_;
  const auto measured = [this](MemoryPlan& plan) { measure(plan, model_.members_, passes_, model_.networks_, changes_); };
  const auto components = model_.networks_.reports({.without = passes_[0].unused(), .controls = passes_[0].control_members});
  std::vector<MemoryPlan> modes = memory_modes(model_.facts(), task_.request, passes_, limit);
  for (MemoryPlan& mode : modes) {
    if (model_.card_memory_) fill_card(mode, components, *model_.card_memory_, measured);
    else measured(mode);
    if (limit == 0 || mode.process <= limit) return plan_.emplace(std::move(mode));
  }
  MemoryPlan best = streaming_mode(modes, components, limit, measured);
  if (best.process <= limit) return plan_.emplace(std::move(best));
  const auto [needed, had] = in_gigabytes(best.process, limit);
  fail<UsageError>("generate: {} of {}×{} need at least {} GB ({}), expected at most the memory limit of {} GB", resolved_.batch,
                   resolved_.width, resolved_.height, needed, best.mode, had);
}

ImageResult LatentJob::run(const OnProgress& progress) {
  const MemoryPlan& how = plan();
  Networks& networks = model_.networks_;
  networks.require_unchanged();
  const std::vector<size_t>& controls = passes_[0].control_members;
  if (!controls.empty() || !how.everything) networks.release_other_controls(controls);
  if (!how.everything) {
    networks.release({.controls = controls});
    // Find non-finite weights before all the steps, not after them.
    networks.check_numbers_once({.without = passes_[0].unused(), .controls = controls}, how.resident);
  }
  Holding holding(networks, {how.resident, how.on_card}, changes_, !how.release);
  if (passes_.size() == 1) return diffusion::run(model_.members_, passes_[0], how, holding, progress);

  ImageResult first = diffusion::run(model_.members_, passes_[0], of_first_pass(how), holding, progress);
  if (first.ended_after > 0) return first;
  const auto start = std::chrono::steady_clock::now();
  Pass second = passes_[1];
  if (!second.task.edit.latents) holding.load({.role = Role::codec}, progress);
  begin_second(second, *task_.request.hires, first.latents,
               [&](const Tensor& latents) { return model_.codec_of(holding, how.tile).decode(latents); });
  first.encode_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  first.latents = {};
  return both(first, diffusion::run(model_.members_, second, how, holding, progress));
}

}  // namespace hearth::models::diffusion
