#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/image/clip_source.h"
#include "api/language/tokenizer_source.h"
#include "core/error.h"
#include "core/files/json.h"
#include "hearth/tokenizer.h"
#include "hub/local_model.h"
#include "models/clip/prompt_reader.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;

// The folder of a CLIP tokenizer, which ClipTokenizer reads; empty for anything else.
fs::path clip_folder(const fs::path& model) {
  if (!fs::is_directory(model)) return {};
  const fs::path folder = fs::exists(model / "model_index.json") ? model / "tokenizer" : model;
  if (!fs::exists(folder / "tokenizer_config.json")) return {};
  const nlohmann::json config = load_json(folder / "tokenizer_config.json");
  const nlohmann::json kind = config.is_object() ? config.value("tokenizer_class", nlohmann::json()) : nlohmann::json();
  return kind == "CLIPTokenizer" || kind == "CLIPTokenizerFast" ? folder : fs::path();
}

fs::path folder_of(const fs::path& model) {
  return fs::is_directory(model) && fs::exists(model / "model_index.json") ? model / "tokenizer" : model;
}

// The reader of a single-file image model or of a CLIP tokenizer's folder; null for anything else.
std::unique_ptr<models::PromptReader> prompt_reader(const fs::path& model, const fs::path& config) {
  if (!fs::is_directory(model) && api::is_image_model(model)) return std::move(api::prompt_readers(model, config).at(0));
  if (!config.empty()) fail<UsageError>("{}: --config does not apply, expected a single file", model.string());
  const fs::path folder = clip_folder(model);
  if (folder.empty()) return nullptr;
  return std::make_unique<models::clip::ClipPromptReader>(text::ClipTokenizer::load(folder));
}

}  // namespace

Tokens tokenize(const fs::path& given, std::string_view text, bool special_tokens, const fs::path& config) {
  const fs::path model = hub::local_model(given);
  if (const auto reader = prompt_reader(model, config)) return reader->tokenize(text, special_tokens);
  text::Tokenizer::Encoding encoding = open_tokenizer(folder_of(model)).encode_with_pieces(text, {.add_special_tokens = special_tokens});
  return {.ids = std::move(encoding.ids), .pieces = std::move(encoding.pieces)};
}

std::string detokenize(const fs::path& given, const std::vector<int32_t>& ids, const fs::path& config) {
  const fs::path model = hub::local_model(given);
  if (const auto reader = prompt_reader(model, config)) return reader->detokenize(ids);
  return open_tokenizer(folder_of(model)).decode(ids);
}

}  // namespace hearth
