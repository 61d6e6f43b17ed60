#include "models/clip/files.h"

namespace hearth::models::clip {

text::ClipFiles clip_files(const Checkpoint& checkpoint, std::string_view component) {
  const auto content = [&](const char* file) { return checkpoint.text_file(component, file); };
  return {.where = checkpoint.place_of(component),
          .vocab_json = content("vocab.json"),
          .merges_txt = content("merges.txt"),
          .tokenizer_config = content("tokenizer_config.json"),
          .special_tokens_map = content("special_tokens_map.json"),
          .added_tokens = content("added_tokens.json"),
          .tokenizer_json = content("tokenizer.json")};
}

}  // namespace hearth::models::clip
