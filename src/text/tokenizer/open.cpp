#include "core/error.h"
#include "core/files/file.h"
#include "text/tokenizer/readers.h"
#include "text/tokenizer/tokenizer.h"

namespace hearth::text {

namespace fs = std::filesystem;

Tokenizer Tokenizer::open(const fs::path& path, std::span<const FamilyClass> classes) {
  if (!fs::exists(path)) fail<IoError>("{}: no such file or folder", path.string());
  const bool is_folder = fs::is_directory(path);
  const fs::path folder = is_folder ? path : path.parent_path();
  const pipeline::FolderConfig config = pipeline::FolderConfig::read(folder, classes);
  // The given file, or else the first that exists.
  const fs::path json = is_folder ? folder / "tokenizer.json" : path.extension() == ".model" ? fs::path() : path;
  const char* const model_name = config.tokenizer_class == "T5Tokenizer" ? "spiece.model" : "tokenizer.model";
  const fs::path model = !is_folder && path.extension() == ".model" ? path : folder / model_name;
  const bool has_json = !json.empty() && fs::exists(json), has_model = fs::exists(model);
  const bool convert = has_model && (!has_json || pipeline::prefers_sentencepiece(config));

  pipeline::TokenizerFile file;
  if (convert) file = pipeline::convert_sentencepiece(read_file(model), model.string(), config);
  else if (has_json) file = pipeline::parse_tokenizer_file(read_file(json), json.string());
  else if (fs::exists(folder / "vocab.json") && fs::exists(folder / "merges.txt")) file = pipeline::read_slow_files(folder, config);
  else fail<IoError>("{}: holds no tokenizer, expected tokenizer.json, tokenizer.model, or vocab.json and merges.txt", path.string());
  pipeline::apply_class(file, config);
  const auto data = pipeline::make_tokenizer(std::move(file));
  pipeline::apply_config(*data, config);
  return Tokenizer(data);
}

}  // namespace hearth::text
