#include "models/qwen_image/text_encoder.h"

namespace hearth::models::qwen_image {

TextEncoder::TextEncoder(const Scope& w, const TextEncoderConfig& c) : text(w, c.text, {std::ssize(c.text.layers)}) {
  if (c.vision) vision.emplace(w / "visual", *c.vision);
}

std::vector<Tensor> TextEncoder::operator()(std::span<const parts::PaddedText> texts) const {
  std::vector<Tensor> last;
  for (const std::vector<Tensor>& states : text(texts)) last.push_back(states[0]);
  return last;
}

}  // namespace hearth::models::qwen_image
