#include "models/language_encoder/config.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "models/language_encoder/files.h"
#include "models/language_registry.h"

namespace hearth::models::language_encoder {

namespace {

// Earlier files of models that see images have what concerns images beside what concerns texts.
Config without_images(const Config& whole) {
  if (!whole.has("vision_config")) return whole;
  nlohmann::json config = nlohmann::json::parse(whole.dump());
  for (const char* key :
       {"vision_config", "image_token_id", "video_token_id", "vision_token_id", "vision_start_token_id", "vision_end_token_id"})
    config.erase(key);
  return Config::parse(config.dump(), whole.where());
}

}  // namespace

parts::DecoderConfig decoder_of(const Checkpoint& checkpoint, std::string_view name) {
  const std::string& class_name = checkpoint.component(name).class_name;
  if (!files.has_class(class_name))
    fail<UnsupportedError>("{}: component '{}' has the class {}, expected a language model", checkpoint.root().string(), name, class_name);
  const Config whole = checkpoint.config(name);
  const Config config = whole.has("text_config") ? whole.object("text_config") : without_images(whole);
  const std::string type = config.text("model_type");
  std::vector<std::string_view> known;
  for (const auto& [family_name, family] : language_families()) {
    if (!family.decoder) continue;
    if (std::ranges::find(family.model_types, type) != family.model_types.end()) return family.decoder(config);
    known.insert(known.end(), family.model_types.begin(), family.model_types.end());
  }
  fail<UnsupportedError>("{}: the model type '{}' is not supported as a text encoder, expected one of {}", config.where(), type,
                         fmt::join(known, ", "));
}

}  // namespace hearth::models::language_encoder
