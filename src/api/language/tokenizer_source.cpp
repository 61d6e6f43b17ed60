#include "api/language/tokenizer_source.h"

#include "models/gguf_wording.h"
#include "models/language_registry.h"
#include "weights/gguf/gguf.h"
#include "weights/gguf/gguf_folder.h"

namespace hearth {
text::Tokenizer open_folder_tokenizer(const std::filesystem::path& path) {
  return text::Tokenizer::open(path, models::tokenizer_classes());
}

text::Tokenizer open_tokenizer(const std::filesystem::path& model) {
  const std::filesystem::path path = gguf_file_of(model);
  if (!GgufFile::is_one(path)) return open_folder_tokenizer(path);
  const std::shared_ptr<GgufFile> file = GgufFile::open(path);
  return text::Tokenizer::from_gguf(models::gguf_vocabulary(file->metadata()));
}

}  // namespace hearth
