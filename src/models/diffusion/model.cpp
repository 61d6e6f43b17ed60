#include "models/diffusion/model.h"

#include "core/error.h"
#include "core/memory.h"
#include "core/text/bytes.h"
#include "models/checkpoints.h"
#include "models/control_files.h"
#include "models/diffusion/preview.h"

namespace hearth::models::diffusion {
namespace {

Members members_of(std::unique_ptr<const LatentModel> model, std::unique_ptr<const LatentModel> refiner, const LoadRequest& request) {
  if (refiner) model->require_refiner(*refiner, request.refiner->root().string());
  std::unique_ptr<const LatentModel> second = model->second();
  Members members;
  members.push_back(std::move(model));
  if (second) members.push_back(std::move(second));
  if (refiner) members.push_back(std::move(refiner));
  return members;
}

std::vector<Networks::Member> components_of(const Checkpoint& checkpoint, const Members& members, const LoadRequest& request) {
  std::vector<Networks::Member> all = {{.checkpoint = checkpoint, .components = members[0]->components()}};
  if (members.size() > 1 && !request.refiner) all.push_back({.checkpoint = checkpoint, .components = members[1]->components()});
  if (request.refiner)  // images belong to the first one
    all.push_back({.checkpoint = *request.refiner,
                   .components = members[1]->components(),
                   .prefix = "refiner/",
                   .roles = {Role::text_encoder, Role::denoiser}});
  return all;
}

// Of the files that the paths lead to now; open files do not show that they were replaced.
std::string stamp_of(const std::vector<std::filesystem::path>& files) {
  std::string stamp;
  std::error_code error;
  for (const auto& file : files)
    stamp += fmt::format("{} {};", std::filesystem::file_size(file, error),
                         std::filesystem::last_write_time(file, error).time_since_epoch().count());
  return stamp;
}

}  // namespace

LatentImageModel::LatentImageModel(const Checkpoint& checkpoint, std::unique_ptr<const LatentModel> model,
                                   std::unique_ptr<const LatentModel> refiner, Backend& device, const LoadRequest& request)
    : memory_limit_(request.memory_limit),
      card_memory_(request.card_memory),
      members_(members_of(std::move(model), std::move(refiner), request)),
      networks_(components_of(checkpoint, members_, request), device, request) {
  if (!request.preview_decoder.empty()) open_preview(request.preview_decoder);
  if (request.when_needed || memory_limit_ > 0 || card_memory_) {
    networks_.check_names();
  } else {
    require_room();
    networks_.load({}, request.progress);
  }
}

// Checks before minutes of reading whether all networks fit into memory at once.
void LatentImageModel::require_room() const {
  MemoryLedger ledger;
  try {
    Networks(networks_, ledger).load({}, {});
  } catch (const WeightError&) { return; }  // loading reports such errors in full
  const int64_t needed = ledger.use().peak, available = system_available_bytes();
  if (available <= 0 || needed <= available) return;
  const auto [all, had] = in_gigabytes(needed, available);
  fail<UsageError>("open: the networks need {} GB of memory, {} GB are available; OpenOptions::load_when_needed takes less", all, had);
}

void LatentImageModel::open_preview(const std::filesystem::path& path) {
  const GivenComponent given = open_component(path, "vae");
  if (given.class_name != "AutoencoderTiny")
    fail<UnsupportedError>("{}: the preview decoder is an {}, expected an AutoencoderTiny (TAESD)", path.string(), given.class_name);
  const auto config = parts::AutoencoderTinyConfig::from(given.own_config());
  check_preview(config, facts().codec, path.string());
  ComponentList list;
  list.add<PreviewDecoder>("preview", Role::preview, [config](const Scope& w) { return PreviewDecoder(w, config); });
  networks_.add_preview(given, std::move(list.specs[0]));
}

template <class Kind, class Fit>
const LatentImageModel::OpenedForRuns<Kind>& LatentImageModel::opened(std::map<std::string, OpenedForRuns<Kind>>& all,
                                                                      std::string_view name, const std::string& path,
                                                                      GivenComponent (*open)(const std::filesystem::path&),
                                                                      const Fit& fit) {
  auto found = all.find(path);
  if (found != all.end() && stamp_of(found->second.files) != found->second.stamp) {
    networks_.retire_control(found->second.member);
    all.erase(found), found = all.end();
  }
  if (found == all.end()) {
    GivenComponent given = open(path);
    const std::shared_ptr<const Kind> model = fit(given);
    ComponentSpec spec{.name = std::string(name), .role = Role::control, .build = [model](const Scope& w) { return model->build(w); }};
    const size_t member = networks_.add_control(given, std::move(spec));
    found = all.emplace(path, OpenedForRuns<Kind>{.member = member, .model = model, .stamp = stamp_of(given.files), .files = given.files})
                .first;
  }
  return found->second;
}

std::vector<RunControl> LatentImageModel::open_controls(const ImageTask& task) {
  const std::lock_guard lock(controls_mutex_);
  std::vector<RunControl> all;
  for (const ControlTask& asked : task.controls) {
    const Control& control = asked.control;
    const std::string path = std::filesystem::absolute(control.path).lexically_normal().string();
    const auto& network = opened(controls_, "control", path, open_control_network, [&](GivenComponent& given) {
      require_control_for(facts().family, given);
      return members_[0]->control_for(given, networks_.tensors_of_denoiser());
    });
    RunControl one{.member = network.member,
                   .model = network.model,
                   .settings = {.scale = control.scale, .start = control.start, .end = control.end, .guess = control.guess},
                   .images = {{.pixels = asked.image, .mask = asked.mask, .mode = control.mode}},
                   .file = path,
                   .requested = all.size()};
    one.model->check(one.settings, control.mode);
    const bool masked = one.model->sight() == ControlSight::masked_latents;
    if (masked && asked.mask.values.empty())
      fail<UsageError>("{}: fills what a mask covers, expected mask=FILE, white where to fill", path);
    if (one.model->fills() && !asked.mask.values.empty())
      fail<UsageError>("{}: fills the image that a run starts from, expected --init-image and --mask in place of mask=FILE", path);
    if (!masked && !asked.mask.values.empty()) fail<UsageError>("{}: sees a whole image, expected no mask", path);
    all.push_back(std::move(one));
  }
  return in_fixed_order(std::move(all));
}

std::vector<RunImagePrompt> LatentImageModel::open_image_prompts(const ImageTask& task) {
  const std::lock_guard lock(controls_mutex_);
  std::vector<RunImagePrompt> all;
  for (const ImagePromptTask& asked : task.image_prompts) {
    const std::string path = std::filesystem::absolute(asked.prompt.path).lexically_normal().string();
    const auto& adapter = opened(adapters_, "ip_adapter", path, open_ip_adapter, [&](GivenComponent& given) {
      return members_[0]->image_prompt_for(given, networks_.tensors_of_denoiser());
    });
    all.push_back({.member = adapter.member,
                   .model = adapter.model,
                   .scale = asked.prompt.scale,
                   .input = {.image = asked.image, .face = asked.prompt.face, .shortcut = asked.prompt.shortcut},
                   .mask = asked.mask,
                   .file = path});
    adapter.model->check(all.back().input);
  }
  return in_fixed_order(std::move(all));
}

std::unique_ptr<ImageJob> LatentImageModel::prepare(const ImageTask& task) { return std::make_unique<LatentJob>(*this, task); }

HostedCodec LatentImageModel::codec_of(const Holding& holding, std::optional<int64_t> tile) const {
  return {members_[0]->codec(holding.of(0)), networks_.device({.role = Role::codec}), networks_.host(), tile};
}

Tensor LatentImageModel::encode(const Tensor& images) {
  Holding holding(networks_);
  holding.load({.role = Role::codec}, {});
  const HostedCodec codec = codec_of(holding);
  return codec.to_model(codec.encode(images).mode());
}

Tensor LatentImageModel::decode(const Tensor& latents) {
  Holding holding(networks_);
  holding.load({.role = Role::codec}, {});
  return codec_of(holding).decode(latents);
}

}  // namespace hearth::models::diffusion
