#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "api/assets.h"
#include "api/gpu_share.h"
#include "api/image/array.h"
#include "api/image/job.h"
#include "api/places.h"
#include "api/precision.h"
#include "api/run_scope.h"
#include "backends/backends.h"
#include "core/error.h"
#include "core/threads.h"
#include "hub/local_model.h"
#include "models/checkpoints.h"
#include "models/registry.h"
#include "ops/shape_ops.h"

namespace hearth {
namespace {

using api::Clock, api::OptionalCancel, api::seconds_since;

// Adds the dtypes and devices of single components. `model` owns the devices.
void add_components(const OpenOptions& options, const api::GpuShare& share, api::LoadedModel& model, models::LoadRequest& request) {
  for (const auto& [name, component] : options.components) {
    Backend* device = model.device.get();
    if (!component.device.empty()) {
      const std::shared_ptr<Backend> opened =
          api::open_device({.name = component.device, .threads = options.threads, .pinned = options.pin_threads}, share);
      if (opened != model.device && std::ranges::find(model.others, opened) == model.others.end()) model.others.push_back(opened);
      device = request.devices[name] = opened.get();
    }
    if (component.precision) request.types_of_some[name] = api::weight_types(*component.precision, *device);
  }
}

// Text encoders share their flags, as image encoders do, so a setting may name one that the model lacks beside one that it has.
void check_components(const OpenOptions& options, const models::ImageModel& model) {
  std::map<std::string, std::string> flags;
  for (const ComponentInfo& info : list_components()) flags[info.name] = info.precision_flag;
  std::vector<std::string> names;
  std::set<std::string> effective;
  for (const models::ComponentReport& c : model.components()) names.push_back(c.name), effective.insert(flags[c.name]);
  for (const auto& [name, component] : options.components)
    if ((component.precision || !component.device.empty()) && !effective.contains(flags[name]))
      fail<UsageError>("open: a {} is given for {}, which the model does not have, expected one for {}",
                       component.precision ? "precision" : "device", name, fmt::join(names, ", "));
}

// The name of the folder, or of the file without its extension.
std::string name_of(const Checkpoint& checkpoint, const std::filesystem::path& path) {
  const auto root = std::filesystem::absolute(path).lexically_normal();
  const auto name = root.has_filename() ? root.filename() : root.parent_path().filename();
  return (checkpoint.is_file() ? name.stem() : name).string();
}

}  // namespace

const char* version() { return HEARTH_VERSION; }

Model::Model(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

Model Model::open(const std::filesystem::path& given, const OpenOptions& options) {
  const std::filesystem::path path = hub::local_model(given);
  const auto start = Clock::now();
  const OptionalCancel cancel(options.cancel);
  if (options.memory_limit < 0) fail<UsageError>("open: the memory limit is {} bytes, expected at least 0", options.memory_limit);
  const Checkpoint checkpoint = models::open_checkpoint(path, api::places_of(path, options));
  std::optional<Checkpoint> refiner;
  const std::filesystem::path refiner_path = hub::local_model(options.refiner);
  if (!refiner_path.empty()) refiner = models::open_checkpoint(refiner_path, api::places_of(refiner_path));
  if (options.warn)
    for (const std::string& note : checkpoint.notes()) options.warn(note);

  auto impl = std::make_unique<Impl>();
  const auto root = std::filesystem::absolute(path).lexically_normal();
  impl->name = name_of(checkpoint, path);
  if (refiner) impl->refiner = name_of(*refiner, refiner_path);
  const BackendOptions device{.name = options.device, .threads = options.threads, .pinned = options.pin_threads};
  api::GpuShare share = api::gpu_share(options.gpu_layers, options.gpu_memory);
  impl->device = api::open_model_device(device, share);
  models::LoadRequest request{.variant = options.variant,
                              .types = api::weight_types(options.precision, *impl->device),
                              .cache = options.cache,
                              .warn = options.warn ? options.warn : [](const std::string&) {},
                              .progress = options.progress,
                              .when_needed = options.load_when_needed,
                              .memory_limit = options.memory_limit,
                              .card_blocks = share.memory ? 0 : share.layers.value_or(models::all_blocks),
                              .card_memory = share.memory,
                              .refiner = refiner ? &*refiner : nullptr,
                              .preview_decoder = hub::local_model(options.preview_decoder)};
  add_components(options, share, *impl, request);
  std::vector<std::shared_ptr<Backend>> devices{impl->device};
  devices.insert(devices.end(), impl->others.begin(), impl->others.end());
  api::require_divided(share, devices);
  impl->pipeline = models::open_image_model(checkpoint, *impl->device, request);
  check_components(options, *impl->pipeline);
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

bool Model::device_lost() const {
  return impl_->device->lost() || std::ranges::any_of(impl_->others, [](const auto& device) { return device->lost(); });
}

Model::Traits Model::traits() const {
  const models::ImageModel& model = *impl_->pipeline;
  Traits traits{.side_unit = model.side_unit(),
                .previews = model.shows_previews(),
                .edits_references = model.edits_references(),
                .references_as_prompt = model.references_as_prompt()};
  for (const models::ComponentReport& c : model.components()) traits.weight_bytes += c.bytes;
  return traits;
}

std::string Model::description() const { return api::describe(*impl_); }

Job Model::prepare(const Request& request) { return prepare(request, false); }

Job Model::prepare(const Request& request, bool common_levels) { return Job(std::make_unique<Job::Impl>(*impl_, request, common_levels)); }

Generation Model::generate(const Request& request) { return prepare(request).run(); }

Model::Prediction Model::predict_memory(const Request& request) { return prepare(request).memory(); }

Array Model::encode(const Array& pixels) {
  const Tensor images = api::to_tensor(pixels, impl_->device->host(), "pixels");
  return api::to_array(impl_->pipeline->encode(ops::to_channels_last(images)));
}

Array Model::decode(const Array& latents) {
  return api::to_array(impl_->pipeline->decode(ops::to_channels_last(api::to_tensor(latents, impl_->device->host(), "latents"))));
}

}  // namespace hearth
