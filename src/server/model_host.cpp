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

}  // namespace

struct ModelHost::Impl {
  struct Model {
    OfferedModel offered;
    std::shared_ptr<LanguageService> language;
    std::shared_ptr<ImageService> image;
    int64_t used = 0;
    bool loading = false;   // by a thread, which first waits for room
    bool has_room = false;  // while it is loaded: its memory is set aside

    bool loaded() const { return language || image; }
    // Besides this table nobody has it, and it answers nothing.
    bool idle() const {
      return (!language || (language.use_count() == 1 && language->engine().idle())) &&
             (!image || (image.use_count() == 1 && image->idle()));
    }
    int64_t bytes() const { return language ? language->bytes() : image ? image->bytes() : 0; }
  };

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

  // Waits a moment until `holds`: what has just been answered is still held while its last bytes are written.
  bool soon(std::unique_lock<std::mutex>& lock, const auto& holds) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
    while (!holds()) {
      if (std::chrono::steady_clock::now() > until) return false;
      changed.wait_for(lock, std::chrono::milliseconds(2));
    }
    return true;
  }

  // Sets memory aside for `model`, or returns false. Unloads idle models for it, first those that were not used for longest.
  bool make_room(Model& model) {
    for (;;) {
      int64_t sum = needed(model);
      Model* oldest = nullptr;
      for (Model& m : models) {
        sum += m.has_room ? needed(m) : m.bytes();
        if (m.loaded() && m.idle() && (!oldest || m.used < oldest->used)) oldest = &m;
      }
      if (options.memory_limit == 0 || sum <= options.memory_limit) return model.has_room = true;
      if (!oldest) return false;
      oldest->language.reset(), oldest->image.reset();
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
    if (!soon(lock, [&] { return make_room(model); })) {
      model.loading = false;
      changed.notify_all();
      ApiError error(503, "all models in memory are answering, and there is no room for another", "model", "no_memory");
      error.retry_after = 5;
      throw error;
    }
    lock.unlock();
    std::shared_ptr<LanguageService> text;
    std::shared_ptr<ImageService> images;
    std::exception_ptr failed;
    try {
      LanguageService::Options how = options.language;
      how.path = model.offered.path;
      how.engine.cache_bytes = cache_bytes();
      if (language) text = std::make_shared<LanguageService>(model.offered.id, how);
      else images = std::make_shared<ImageService>(model.offered.id, model.offered.path, options.image);
    } catch (...) { failed = std::current_exception(); }
    lock.lock();
    model.loading = model.has_room = false;
    model.language = std::move(text), model.image = std::move(images);
    changed.notify_all();
    if (failed) std::rethrow_exception(failed);
    return model;
  }

  Options options;
  std::vector<Model> models;
  std::mutex mutex;
  std::condition_variable changed;  // a model was loaded, or could not be
  int64_t clock = 0;
};

ModelHost::ModelHost(const Options& options) : impl_(std::make_unique<Impl>()) {
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

ModelHost::~ModelHost() = default;

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
  return impl_->loaded(lock, id, OfferedModel::Kind::language).language;
}

std::shared_ptr<ImageService> ModelHost::image(const std::string& id) {
  std::unique_lock lock(impl_->mutex);
  return impl_->loaded(lock, id, OfferedModel::Kind::image).image;
}

void ModelHost::load(const std::string& id) {
  std::unique_lock lock(impl_->mutex);
  impl_->loaded(lock, id, impl_->find(id).offered.kind);
}

void ModelHost::unload(const std::string& id) {
  std::unique_lock lock(impl_->mutex);
  Impl::Model& model = impl_->find(id);
  if (!impl_->soon(lock, [&] { return !model.loading && model.idle(); }))
    throw ApiError(409, fmt::format("the model '{}' is answering", model.offered.id), "model", "model_busy");
  model.language.reset(), model.image.reset();
}

std::vector<std::shared_ptr<ImageService>> ModelHost::loaded_images() const {
  const std::lock_guard lock(impl_->mutex);
  std::vector<std::shared_ptr<ImageService>> all;
  for (const Impl::Model& m : impl_->models)
    if (m.image) all.push_back(m.image);
  return all;
}

std::vector<std::shared_ptr<LanguageService>> ModelHost::loaded_language() const {
  const std::lock_guard lock(impl_->mutex);
  std::vector<std::shared_ptr<LanguageService>> all;
  for (const Impl::Model& m : impl_->models)
    if (m.language) all.push_back(m.language);
  return all;
}

}  // namespace hearth::server
