#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files/file.h"
#include "text/tokenizer/readers.h"
#include "text/tokenizer/tokenizer.h"
#include "text/tokenizer/world_vocabulary.h"

namespace hearth::text {

namespace fs = std::filesystem;

namespace {

// The file does not contain the token that ends a text, whose id is 0.
std::string end_of(const pipeline::FolderConfig& folder) {
  const nlohmann::json& config = *folder.config;
  const auto tokens = config.find("added_tokens_decoder");
  if (tokens == config.end() || !tokens->is_object() || !tokens->contains("0")) return "<s>";
  return pipeline::added_token_of(tokens->at("0")).content;
}

std::shared_ptr<const Tokenizer::Data> open_world_data(const TokenizerFiles::Text& file, const pipeline::FolderConfig& config) {
  const auto data = pipeline::make_world_tokenizer(pipeline::read_world_vocabulary(file.text, file.where), end_of(config));
  data->added.add({.content = end_of(config), .normalized = false, .special = true}, *data->model);
  pipeline::apply_config(*data, config);
  return data;
}

}  // namespace

Tokenizer Tokenizer::open(const fs::path& path, std::span<const FamilyClass> classes) {
  if (!fs::exists(path)) fail<IoError>("{}: no such file or folder", path.string());
  const bool is_folder = fs::is_directory(path), is_model = !is_folder && path.extension() == ".model";
  const fs::path folder = is_folder ? path : path.parent_path();
  // The given file replaces that of its kind.
  const auto place_of = [=](const std::string& name) {
    if (is_folder) return folder / name;
    if (name == "tokenizer.json") return is_model ? fs::path() : path;
    return is_model && name.ends_with(".model") ? path : folder / name;
  };
  const auto read = [=](const std::string& name) -> std::optional<TokenizerFiles::Text> {
    const fs::path file = place_of(name);
    if (file.empty() || !fs::exists(file)) return std::nullopt;
    return TokenizerFiles::Text{read_file(file), file.string()};
  };
  return open({.where = path.string(), .read = read}, classes);
}

Tokenizer Tokenizer::open(const TokenizerFiles& files, std::span<const FamilyClass> classes) {
  const pipeline::FolderConfig config = pipeline::FolderConfig::read(files, classes);
  const char* const model_name = config.tokenizer_class == "T5Tokenizer" ? "spiece.model" : "tokenizer.model";
  const bool has_list = config.tokenizer_class == "BertTokenizer";
  std::optional<TokenizerFiles::Text> model, json, vocab, merges, list;
  if (pipeline::prefers_sentencepiece(config)) model = files.read(model_name);
  if (!model) json = files.read("tokenizer.json");
  if (!model && !json) model = files.read(model_name);
  if (!model && !json && has_list) list = files.read("vocab.txt");
  if (!model && !json && !list) vocab = files.read("vocab.json"), merges = files.read("merges.txt");

  if (!model && !json && !list && !(vocab && merges))
    if (const auto world = files.read(pipeline::world_vocabulary_file)) return Tokenizer(open_world_data(*world, config));

  pipeline::TokenizerFile file;
  if (model) file = pipeline::convert_sentencepiece(model->text, model->where, config);
  else if (json) file = pipeline::parse_tokenizer_file(json->text, json->where);
  else if (list) file = pipeline::read_word_list(*list, config);
  else if (vocab && merges) file = pipeline::read_slow_files(*vocab, *merges, files.where, config);
  else
    fail<IoError>("{}: holds no tokenizer, expected tokenizer.json, {}, or vocab.json and merges.txt", files.where,
                  has_list ? "vocab.txt" : model_name);
  pipeline::apply_class(file, config);
  const auto data = pipeline::make_tokenizer(std::move(file));
  pipeline::apply_config(*data, config);
  return Tokenizer(data);
}

}  // namespace hearth::text
