#include "models/language_encoder/tokenizer.h"

#include "core/error.h"
#include "models/gguf_wording.h"
#include "models/language_registry.h"
#include "weights/gguf/gguf.h"

namespace hearth::models::language_encoder {

text::Tokenizer tokenizer_of(const Checkpoint& checkpoint, std::string_view component, std::string_view encoder) {
  if (const GgufFile* gguf = checkpoint.gguf(encoder)) return text::Tokenizer::from_gguf(gguf_vocabulary(gguf->metadata()));
  const std::string place = checkpoint.place_of(component);
  const auto read = [&](const std::string& name) -> std::optional<text::TokenizerFiles::Text> {
    auto text = checkpoint.text_file(component, name);
    if (!text) return std::nullopt;
    return text::TokenizerFiles::Text{std::move(*text), place + "/" + name};
  };
  if (checkpoint.is_single_file() && !read("tokenizer.json") && !read("tokenizer.model") && !read("vocab.json"))
    fail<WeightError>("{}: has no tokenizer, expected --config with a folder that has one, or a text encoder in a GGUF file",
                      checkpoint.root().string());
  return text::Tokenizer::open({.where = place, .read = read}, tokenizer_classes());
}

std::string cut_off(std::vector<int32_t>& ids, int64_t most, text::PromptRole role, const text::Tokenizer& tokenizer) {
  if (std::ssize(ids) <= most) return "";
  const auto dropped = std::span<const int32_t>(ids).subspan(size_t(most));
  std::string what = fmt::format("the {} has {} tokens too many for the {} of the text encoder; dropped: {}", in_words(role),
                                 dropped.size(), most, tokenizer.decode(dropped));
  ids.resize(size_t(most));
  return what;
}

}  // namespace hearth::models::language_encoder
