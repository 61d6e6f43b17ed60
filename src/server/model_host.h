// The models that the server offers, by id. They are loaded when a request first needs them, and the one that was not used for longest
// makes room for another; one that is answering never does.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "api/image/defaults.h"
#include "server/image/offered_adapters.h"
#include "server/text/language_service.h"

namespace hearth::server {

class ImageService;  // image/image_service.h

struct OfferedModel {
  enum class Kind { language, image };
  std::string id;              // ALIAS of -m ALIAS=PATH, else the file's or folder's name
  std::filesystem::path path;  // empty: the demo model
  std::string parent;          // id of the model that an adapter changes; empty: it is no adapter
  Kind kind = Kind::language;
  int64_t created = 0;  // unix seconds: when the checkpoint was written
  int64_t weight_bytes = 0;
  bool loaded = false;
  std::optional<api::ImageDefaults> defaults;  // of an image model
};

class ModelHost {
 public:
  struct Options {
    std::vector<std::pair<std::string, std::filesystem::path>> models;  // id (may be empty) and path; none: the demo models
    int64_t memory_limit = 0;                                           // bytes of all resident models; 0: none
    LanguageService::Options language;                                  // for each language model
    OpenOptions image;                                                  // for each image model
    std::vector<std::pair<std::string, Lora>> loras;                    // id and adapter of a language model: the first one that it fits
    OfferedAdapters adapters = {};                                      // for the image models
  };
  // Looks at every checkpoint and adapter without loading it. UsageError for two with one id, for an adapter without a language model, and
  // for a model that is larger than the limit, with both numbers; IoError, WeightError, UnsupportedError.
  explicit ModelHost(const Options& options);
  ~ModelHost();

  std::vector<OfferedModel> list() const;
  const OfferedAdapters& adapters() const;
  OfferedModel find(const std::string& id) const;  // ApiError 404 "model_not_found"; an empty id: the first model
  // Loads it if necessary; an empty id: the first of the kind. ApiError 404; 400 for a model of the other kind; 503 if all resident models
  // are answering and there is no room. The model stays as long as the pointer, but not longer than this.
  std::shared_ptr<LanguageService> language(const std::string& id);
  std::shared_ptr<ImageService> image(const std::string& id);
  void load(const std::string& id);
  void unload(const std::string& id);  // ApiError 409 while it is answering
  std::vector<std::shared_ptr<LanguageService>> loaded_language() const;
  std::vector<std::shared_ptr<ImageService>> loaded_images() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace hearth::server
