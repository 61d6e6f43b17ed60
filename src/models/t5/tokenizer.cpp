#include "models/t5/tokenizer.h"

#include "core/error.h"

namespace hearth::models::t5 {

text::Tokenizer opened_tokenizer(const Checkpoint& checkpoint, std::string_view component) {
  const std::string place = checkpoint.place_of(component);
  const auto read = [&](const std::string& name) -> std::optional<text::TokenizerFiles::Text> {
    auto text = checkpoint.text_file(component, name);
    if (!text) return std::nullopt;
    return text::TokenizerFiles::Text{std::move(*text), place + "/" + name};
  };
  return text::Tokenizer::open({.where = place, .read = read, .tokenizer_class = checkpoint.component(component).class_name});
}

text::Tokenizer tokenizer_of(const Checkpoint& checkpoint, std::string_view component) {
  const std::string place = checkpoint.place_of(component);
  const text::Tokenizer tokenizer = opened_tokenizer(checkpoint, component);
  if (!tokenizer.eos()) fail<WeightError>("{}: the tokenizer has no end token, expected </s>", place);
  if (!tokenizer.pad()) fail<WeightError>("{}: the tokenizer has no padding token, expected <pad>", place);
  return tokenizer;
}

}  // namespace hearth::models::t5
