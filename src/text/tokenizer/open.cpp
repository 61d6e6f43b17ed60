#include "core/error.h"
#include "core/file.h"
#include "text/tokenizer/readers.h"
#include "text/tokenizer/tokenizer.h"

namespace hearth::text {

namespace fs = std::filesystem;

Tokenizer Tokenizer::open(const fs::path& path) {
  if (!fs::exists(path)) fail<IoError>("{}: there is no such file or folder", path.string());
  const bool is_folder = fs::is_directory(path);
  const fs::path folder = is_folder ? path : path.parent_path();
  const fs::path json = is_folder ? folder / "tokenizer.json" : path;
  const fs::path model = is_folder ? folder / "tokenizer.model" : path;
  const pipeline::FolderConfig config = pipeline::FolderConfig::read(folder);
  const bool named_model = !is_folder && path.extension() == ".model";

  pipeline::TokenizerFile file;
  if (!named_model && fs::exists(json)) file = pipeline::parse_tokenizer_file(read_file(json), json.string());
  else fail<IoError>("{}: there is no tokenizer: tokenizer.json, tokenizer.model or vocab.json and merges.txt was needed", path.string());
  pipeline::apply_class(file, config);
  const auto data = pipeline::make_tokenizer(std::move(file));
  pipeline::apply_config(*data, config);
  return Tokenizer(data);
}

}  // namespace hearth::text
