#include "server/model_host.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>

#include "api/assets.h"
#include "api/image/clip_source.h"
#include "core/error.h"
#include "core/memory.h"
#include "hub/local_model.h"
#include "models/language_loading.h"
#include "models/language_registry.h"
#include "server/api_error.h"
#include "server/image/image_service.h"
#include "weights/gguf/gguf_folder.h"

namespace hearth::server {
namespace {

namespace fs = std::filesystem;

std::string name_of(const fs::path& path) {
  fs::path clean = path.lexically_normal();
  if (!clean.has_filename()) clean = clean.parent_path();
  return fs::is_directory(clean) ? clean.filename().string() : clean.stem().string();
}

int64_t weight_files_bytes(const fs::path& path) {
  if (!fs::is_directory(path)) return int64_t(fs::file_size(path));
  int64_t sum = 0;
  for (const auto& entry : fs::recursive_directory_iterator(path))
    if (entry.path().extension() == ".safetensors" || entry.path().extension() == ".bin") sum += int64_t(entry.file_size());
  return sum;
}

int64_t written_at(const fs::path& path) {
  std::error_code error;
  const auto at = fs::last_write_time(path, error);
  if (error) return 0;
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::file_clock::to_sys(at).time_since_epoch()).count();
}

// How long a request to unload waits for another one that has been answered, but has not returned yet.
constexpr std::chrono::seconds patience{1};

struct Services {
  std::unique_ptr<LanguageService> language;
  std::unique_ptr<ImageService> image;
};

}  // namespace

struct ModelHost::Impl : std::enable_shared_from_this<Impl> {
  struct Model {
    OfferedModel offered;
    Services services;
    int64_t leases = 0;  // pointers that were given out
    int64_t used = 0;
    bool loading = false;

    bool loaded() const { return services.language || services.image; }
    bool answers() const {
      return (services.language && !services.language->engine().idle()) || (services.image && !services.image->idle());
    }
    bool idle() const { return leases == 0 && !answers(); }
    int64_t bytes() const { return services.language ? services.language->bytes() : services.image ? services.image->bytes() : 0; }
  };

  // A pointer that keeps the model in memory. It does not own the service: the last one is often released on the service's own thread,
  // which cannot end itself.
  template <class Service> std::shared_ptr<Service> lease(Model& model, const std::unique_ptr<Service>& service) {
    ++model.leases;
    return {service.get(), [impl = shared_from_this(), &model](Service*) {
              const std::lock_guard lock(impl->mutex);
              --model.leases;
              impl->changed.notify_all();
            }};
  }

  Model& find(const std::string& id) {
    if (id.empty()) return models.front();
    for (Model& m : models)
      if (m.offered.id == id) return m;
    throw ApiError(404, fmt::format("the model '{}' does not exist", id), "model", "model_not_found");
  }

  // Keys and values of a language model: what was asked for, else a part of the limit; 0: the engine decides.
  int64_t cache_bytes() const {
    return options.language.engine.cache_bytes ? options.language.engine.cache_bytes : options.memory_limit / 8;
  }
  // Memory of a model, before it is loaded.
  int64_t needed(const Model& model) const {
    return model.offered.weight_bytes + (model.offered.kind == OfferedModel::Kind::language ? cache_bytes() : 0);
  }

  // Takes out of the table what must go so that everything fits, models that load included: those that were not used for longest. The
  // caller destroys it without the mutex.
  std::vector<Services> make_room(std::unique_lock<std::mutex>& lock) {
    const auto until = std::chrono::steady_clock::now() + patience;
    for (;;) {
      int64_t sum = 0;
      std::vector<Model*> idle, out;
      bool soon_idle = false;
      for (Model& m : models) {
        sum += m.loading ? needed(m) : m.bytes();
        if (m.loaded() && m.idle()) idle.push_back(&m);
        else if (m.loaded() && !m.answers()) soon_idle = true;
      }
      std::ranges::sort(idle, {}, &Model::used);
      for (Model* const m : idle) {
        if (options.memory_limit == 0 || sum <= options.memory_limit) break;
        sum -= m->bytes();
        out.push_back(m);
      }
      if (options.memory_limit == 0 || sum <= options.memory_limit) {
        std::vector<Services> dropped;
        for (Model* const m : out) dropped.push_back(std::move(m->services));
        return dropped;
      }
      if (soon_idle && changed.wait_until(lock, until) != std::cv_status::timeout) continue;
      ApiError error(503, "all models in memory are answering, and there is no room for another", "model", "no_memory");
      error.retry_after = 5;
      throw error;
    }
  }

  Model& loaded(std::unique_lock<std::mutex>& lock, const std::string& id, OfferedModel::Kind kind) {
    const bool language = kind == OfferedModel::Kind::language;
    const auto first = std::ranges::find_if(models, [&](const Model& m) { return m.offered.kind == kind; });
    Model& model = id.empty() && first != models.end() ? *first : find(id);
    if (model.offered.kind != kind)
      throw ApiError(400,
                     fmt::format("the model '{}' generates {}, expected one that generates {}", model.offered.id,
                                 language ? "images" : "text", language ? "text" : "images"),
                     "model");
    changed.wait(lock, [&] { return !model.loading; });
    model.used = ++clock;
    if (model.loaded()) return model;
    model.loading = true;
    Services made;
    std::exception_ptr failed;
    try {
      std::vector<Services> dropped = make_room(lock);
      lock.unlock();
      dropped.clear();
      LanguageService::Options how = options.language;
      how.path = model.offered.path;
      how.engine.cache_bytes = cache_bytes();
      if (language) made.language = std::make_unique<LanguageService>(model.offered.id, how);
      else
        made.image = std::make_unique<ImageService>(model.offered.id, model.offered.path, options.image,
                                                    ImageService::Limits{.controls = options.controls, .lora_folder = options.lora_folder});
    } catch (...) { failed = std::current_exception(); }
    if (!lock.owns_lock()) lock.lock();
    model.loading = false;
    model.services = std::move(made);
    changed.notify_all();
    if (failed) std::rethrow_exception(failed);
    return model;
  }

  Options options;
  std::vector<Model> models;
  std::mutex mutex;
  std::condition_variable changed;  // a model was loaded, or a pointer to one was given back
  int64_t clock = 0;
};

ModelHost::ModelHost(const Options& options) : impl_(std::make_shared<Impl>()) {
  impl_->options = options;
  auto models = options.models;
  if (models.empty()) models = {{"demo-language-model", ""}, {"demo-model", ""}};
  for (auto& [id, given] : models) {
    Impl::Model model;
    OfferedModel& m = model.offered;
    const bool demo = given.empty();
    const fs::path path =
        demo ? (id == "demo-model" ? api::demo_model_folder() : api::demo_language_model_folder()) : gguf_file_of(hub::local_model(given));
    std::error_code error;
    if (!fs::exists(path, error)) fail<IoError>("{}: no such file or folder", path.string());
    m.id = id.empty() ? name_of(given) : id;
    m.path = path;
    m.created = written_at(path);
    const bool image = fs::is_directory(path) ? fs::exists(path / "model_index.json") : api::is_image_model(path);
    m.kind = image ? OfferedModel::Kind::image : OfferedModel::Kind::language;
    if (m.kind == OfferedModel::Kind::language) {
      const LanguageCheckpoint checkpoint = models::open_language_checkpoint(path, options.language.open.variant);
      models::find_family(checkpoint);  // refuses what cannot run
      for (const auto& [tensor, info] : checkpoint.tensors()->list()) m.weight_bytes += int64_t(bytes_of(info.dtype, info.shape.numel()));
    } else {
      m.weight_bytes = weight_files_bytes(path);
      m.defaults = api::image_defaults(path, options.image);  // refuses what cannot run
    }
    for (const Impl::Model& other : impl_->models)
      if (other.offered.id == m.id) fail<UsageError>("two models have the id '{}'; give one another with -m ID=PATH", m.id);
    if (const int64_t needed = impl_->needed(model); options.memory_limit > 0 && needed > options.memory_limit)
      fail<UsageError>("the model '{}' needs {:.3f} GB, but the memory limit is {:.3f} GB", m.id, double(needed) * 1e-9,
                       double(options.memory_limit) * 1e-9);
    impl_->models.push_back(std::move(model));
  }
}

// Without the mutex, which requests that are canceled here take.
ModelHost::~ModelHost() {
  for (Impl::Model& model : impl_->models) model.services = {};
}

const fs::path& ModelHost::lora_folder() const { return impl_->options.lora_folder; }

std::vector<OfferedModel> ModelHost::list() const {
  const std::lock_guard lock(impl_->mutex);
  std::vector<OfferedModel> all;
  for (const Impl::Model& m : impl_->models) {
    all.push_back(m.offered);
    all.back().loaded = m.loaded();
  }
  return all;
}

OfferedModel ModelHost::find(const std::string& id) const {
  const std::lock_guard lock(impl_->mutex);
  const Impl::Model& model = impl_->find(id);
  OfferedModel found = model.offered;
  found.loaded = model.loaded();
  return found;
}

std::shared_ptr<LanguageService> ModelHost::language(const std::string& id) {
  std::unique_lock lock(impl_->mutex);
  Impl::Model& model = impl_->loaded(lock, id, OfferedModel::Kind::language);
  return impl_->lease(model, model.services.language);
}

std::shared_ptr<ImageService> ModelHost::image(const std::string& id) {
  std::unique_lock lock(impl_->mutex);
  Impl::Model& model = impl_->loaded(lock, id, OfferedModel::Kind::image);
  return impl_->lease(model, model.services.image);
}

void ModelHost::load(const std::string& id) {
  std::unique_lock lock(impl_->mutex);
  impl_->loaded(lock, id, impl_->find(id).offered.kind);
}

void ModelHost::unload(const std::string& id) {
  Services dropped;  // destroyed without the mutex
  std::unique_lock lock(impl_->mutex);
  Impl::Model& model = impl_->find(id);
  impl_->changed.wait_for(lock, patience, [&] { return model.loading || model.idle() || model.answers(); });
  if (model.loading || !model.idle())
    throw ApiError(409, fmt::format("the model '{}' is answering", model.offered.id), "model", "model_busy");
  dropped = std::move(model.services);
  lock.unlock();
}

std::vector<std::shared_ptr<ImageService>> ModelHost::loaded_images() const {
  const std::lock_guard lock(impl_->mutex);
  std::vector<std::shared_ptr<ImageService>> all;
  for (Impl::Model& m : impl_->models)
    if (m.services.image) all.push_back(impl_->lease(m, m.services.image));
  return all;
}

std::vector<std::shared_ptr<LanguageService>> ModelHost::loaded_language() const {
  const std::lock_guard lock(impl_->mutex);
  std::vector<std::shared_ptr<LanguageService>> all;
  for (Impl::Model& m : impl_->models)
    if (m.services.language) all.push_back(impl_->lease(m, m.services.language));
  return all;
}

}  // namespace hearth::server
