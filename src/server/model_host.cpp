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
#include "models/adapter_use.h"
#include "models/language_loading.h"
#include "models/language_registry.h"
#include "server/api_error.h"
#include "server/image/image_service.h"
#include "weights/checkpoint_files.h"
#include "weights/gguf/gguf_folder.h"

namespace hearth::server {
namespace {

namespace fs = std::filesystem;

std::string name_of(const fs::path& path) {
  fs::path clean = path.lexically_normal();
  if (!clean.has_filename()) clean = clean.parent_path();
  return fs::is_directory(clean) ? clean.filename().string() : clean.stem().string();
}

int64_t written_at(const fs::path& path) {
  std::error_code error;
  const auto at = fs::last_write_time(path, error);
  if (error) return 0;
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::file_clock::to_sys(at).time_since_epoch()).count();
}

// How long a request that needs a model without answers waits for those that end now.
constexpr std::chrono::seconds patience{1};

struct Services {
  std::unique_ptr<LanguageService> language;
  std::unique_ptr<ImageService> image;
};

}  // namespace

struct ModelHost::Impl : std::enable_shared_from_this<Impl> {
  struct Model {
    OfferedModel offered;
    std::optional<Lora> adapter;
    Services services;
    int64_t leases = 0;    // pointers that were given out
    int64_t adapters = 0;  // of these, those of loaded adapters
    int64_t used = 0;
    bool loading = false;

    bool loaded() const { return services.language || services.image; }
    bool lost() const {
      return (services.language && services.language->device_lost()) || (services.image && services.image->device_lost());
    }
    bool answers() const {
      return (services.language && !services.language->engine().idle()) || (services.image && !services.image->idle());
    }
    bool idle() const { return leases == adapters && !answers(); }
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

  bool idle_with_adapters(const Model& model) const {
    return model.idle() && std::ranges::all_of(models, [&](const Model& m) {
             return m.offered.parent != model.offered.id || (!m.loading && (!m.loaded() || m.idle()));
           });
  }
  bool answers_with_adapters(const Model& model) const {
    return model.answers() ||
           std::ranges::any_of(models, [&](const Model& m) { return m.offered.parent == model.offered.id && m.answers(); });
  }
  // The model's services, for the caller to destroy without the mutex.
  Services taken(Model& model) {
    if (model.loaded() && model.adapter) --find(model.offered.parent).adapters;
    return std::move(model.services);
  }

  // Keys and values of a language model: what was asked for, else a part of the limit; 0: the engine decides.
  int64_t cache_bytes() const {
    return options.language.engine.cache_bytes ? options.language.engine.cache_bytes : options.memory_limit / 8;
  }
  // Memory of a model, before it is loaded.
  int64_t needed(const OfferedModel& model) const {
    return model.weight_bytes + (model.kind == OfferedModel::Kind::language ? cache_bytes() : 0);
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
        sum += m.loading ? needed(m.offered) : m.bytes();
        if (m.loaded() && idle_with_adapters(m)) idle.push_back(&m);
        else if (m.loaded() && !answers_with_adapters(m)) soon_idle = true;
      }
      std::ranges::sort(idle, {}, &Model::used);  // adapters come before the model that they need
      for (Model* const m : idle) {
        if (options.memory_limit == 0 || sum <= options.memory_limit) break;
        sum -= m->bytes();
        out.push_back(m);
      }
      if (options.memory_limit == 0 || sum <= options.memory_limit) {
        std::vector<Services> dropped;
        for (Model* const m : out) dropped.push_back(taken(*m));
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
    // A model whose GPU failed is opened again when all of its answers have ended.
    changed.wait_for(lock, patience, [&] { return !model.lost() || idle_with_adapters(model); });
    changed.wait(lock, [&] { return !model.loading; });
    const auto touch = [&] {
      model.used = ++clock;
      if (model.adapter) find(model.offered.parent).used = ++clock;
    };
    touch();
    if (model.loaded() && !(model.lost() && idle_with_adapters(model))) return model;
    model.loading = true;
    if (model.loaded()) {
      const Services lost = taken(model);
      lock.unlock();
    }
    if (!lock.owns_lock()) lock.lock();
    Services made;
    std::exception_ptr failed;
    try {
      std::shared_ptr<LanguageService> base;
      if (model.adapter) {
        Model& parent = loaded(lock, model.offered.parent, kind);
        base = lease(parent, parent.services.language);
        touch();
      }
      std::vector<Services> dropped = make_room(lock);
      lock.unlock();
      dropped.clear();
      LanguageService::Options how = options.language;
      how.path = model.offered.path;
      how.engine.cache_bytes = cache_bytes();
      if (base) made.language = std::make_unique<LanguageService>(model.offered.id, std::move(base), *model.adapter, how);
      else if (language) made.language = std::make_unique<LanguageService>(model.offered.id, how);
      else
        made.image = std::make_unique<ImageService>(model.offered.id, model.offered.path, options.image,
                                                    ImageService::Limits{.adapters = options.adapters});
    } catch (...) { failed = std::current_exception(); }
    if (!lock.owns_lock()) lock.lock();
    model.loading = false;
    model.services = std::move(made);
    if (model.adapter && model.loaded()) ++find(model.offered.parent).adapters;
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

namespace {

// What a checkpoint offers under an id. Refuses what cannot run.
OfferedModel offered_model(const std::string& id, const fs::path& given, const ModelHost::Options& options) {
  OfferedModel m;
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
    models::find_family(checkpoint);
    for (const auto& [tensor, info] : checkpoint.tensors()->list()) m.weight_bytes += int64_t(bytes_of(info.dtype, info.shape.numel()));
  } else {
    m.weight_bytes = weight_files_bytes(path);
    m.defaults = api::image_defaults(path, options.image);
  }
  return m;
}

void require_fit(const Lora& adapter, const OfferedModel& base, const std::string& variant) {
  const LanguageCheckpoint checkpoint = models::open_language_checkpoint(base.path, variant);
  const adapters::AdapterUse use = models::use_of(adapter);
  const adapters::AdaptedNetwork network = models::adapted_network(models::find_family(checkpoint).family, checkpoint);
  adapters::read_adapters({&use, 1}, {&network, 1});
}

// An adapter for the first of the language models that it fits. If it fits none, the error is that of the first.
OfferedModel offered_adapter(const std::string& id, const Lora& adapter, std::span<const OfferedModel> models, const std::string& variant) {
  std::exception_ptr refusal;
  for (const OfferedModel& base : models) {
    if (base.kind != OfferedModel::Kind::language || !base.parent.empty()) continue;
    try {
      require_fit(adapter, base, variant);
      return {.id = id,
              .path = adapter.file,
              .parent = base.id,
              .kind = OfferedModel::Kind::language,
              .created = written_at(adapter.file),
              .weight_bytes = weight_files_bytes(adapter.file)};
    } catch (const WeightError&) {
      if (!refusal) refusal = std::current_exception();
    }
  }
  if (refusal) std::rethrow_exception(refusal);
  fail<UsageError>("the adapter '{}' needs a language model, expected one with -m", id);
}

}  // namespace

ModelHost::ModelHost(const Options& options) : impl_(std::make_shared<Impl>()) {
  impl_->options = options;
  auto models = options.models;
  if (models.empty()) models = {{"demo-language-model", ""}, {"demo-model", ""}};
  std::vector<OfferedModel> offered;
  const auto add = [&](OfferedModel m) {
    for (const OfferedModel& other : offered)
      if (other.id == m.id)
        fail<UsageError>("two models have the id '{}'; give one another with {}=PATH", m.id, m.parent.empty() ? "-m ID" : "--lora ID");
    if (const int64_t needed = impl_->needed(m); options.memory_limit > 0 && needed > options.memory_limit)
      fail<UsageError>("the model '{}' needs {:.3f} GB, but the memory limit is {:.3f} GB", m.id, double(needed) * 1e-9,
                       double(options.memory_limit) * 1e-9);
    offered.push_back(std::move(m));
  };
  for (const auto& [id, path] : models) add(offered_model(id, path, options));
  for (const auto& [id, adapter] : options.loras) add(offered_adapter(id, adapter, offered, options.language.open.variant));
  for (size_t i = 0; i < offered.size(); ++i) {
    Impl::Model& model = impl_->models.emplace_back();
    model.offered = offered[i];
    if (i >= models.size()) model.adapter = options.loras[i - models.size()].second;
  }
}

// Without the mutex, which requests that are canceled here take.
ModelHost::~ModelHost() {
  for (Impl::Model& model : impl_->models)
    if (model.adapter) model.services = {};
  for (Impl::Model& model : impl_->models) model.services = {};
}

const OfferedAdapters& ModelHost::adapters() const { return impl_->options.adapters; }

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
  std::vector<Services> dropped;  // destroyed without the mutex
  std::unique_lock lock(impl_->mutex);
  Impl::Model& model = impl_->find(id);
  impl_->changed.wait_for(lock, patience,
                          [&] { return model.loading || impl_->idle_with_adapters(model) || impl_->answers_with_adapters(model); });
  if (model.loading || !impl_->idle_with_adapters(model))
    throw ApiError(409, fmt::format("the model '{}' is answering", model.offered.id), "model", "model_busy");
  for (Impl::Model& m : impl_->models)
    if (m.offered.parent == model.offered.id) dropped.push_back(impl_->taken(m));
  dropped.push_back(impl_->taken(model));
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
