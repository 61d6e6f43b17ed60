#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/clip_source.h"
#include "api/tokenizer_source.h"
#include "core/error.h"
#include "core/json.h"
#include "hearth/tokenizer.h"
#include "text/clip_tokenizer.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;

// The folder of a CLIP tokenizer, which has words of its own for what it does to a prompt; empty for anything else.
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

// CLIP's, of a folder or of a picture model in one file; nothing for any other.
std::optional<text::ClipTokenizer> open_clip(const fs::path& model, const fs::path& config) {
  if (!fs::is_directory(model) && api::is_picture_model(model)) return api::prompt_encoders(model, config).at(0).tokenizer;
  if (!config.empty()) fail<UsageError>("{}: no single file; --config is for these", model.string());
  const fs::path folder = clip_folder(model);
  return folder.empty() ? std::nullopt : std::optional(text::ClipTokenizer::load(folder));
}

Tokens tokenize_clip(const text::ClipTokenizer& clip, std::string_view text, bool special_tokens) {
  Tokens tokens{.ids = clip.tokenize(text), .pieces = clip.pieces(text)};
  if (!special_tokens) return tokens;
  // All of the text between start and end, however long it is.
  const text::ClipTokenizer::Encoding around = clip.encode("");
  tokens.ids.insert(tokens.ids.begin(), clip.bos());
  tokens.ids.push_back(clip.eos());
  const auto spelled = [&clip](int32_t id) { return clip.decode({id}); };
  tokens.pieces.insert(tokens.pieces.begin(), spelled(around.ids.at(0)));
  tokens.pieces.push_back(spelled(around.ids.at(1)));
  return tokens;
}

}  // namespace

Tokens tokenize(const fs::path& model, std::string_view text, bool special_tokens, const fs::path& config) {
  if (const auto clip = open_clip(model, config)) return tokenize_clip(*clip, text, special_tokens);
  text::Tokenizer::Encoding encoding = open_tokenizer(folder_of(model)).encode_with_pieces(text, {.add_special_tokens = special_tokens});
  return {.ids = std::move(encoding.ids), .pieces = std::move(encoding.pieces)};
}

std::string detokenize(const fs::path& model, const std::vector<int32_t>& ids, const fs::path& config) {
  if (const auto clip = open_clip(model, config)) return clip->decode(ids);
  return open_tokenizer(folder_of(model)).decode(ids);
}

}  // namespace hearth
