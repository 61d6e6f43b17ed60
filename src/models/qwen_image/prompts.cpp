#include "models/qwen_image/prompts.h"

#include <algorithm>
#include <limits>

#include "core/error.h"
#include "models/clip/towers.h"
#include "models/diffusion/finite.h"
#include "models/qwen_image/options.h"
#include "models/request.h"
#include "ops/shape_ops.h"

namespace hearth::models::qwen_image {
namespace {

// The text in front of a prompt with images of these numbers of tokens.
std::string text_with_images(const Edits& edits, std::span<const int64_t> tokens) {
  std::string text(edits.form.in_front);
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (edits.several) text += fmt::format("Picture {}: ", i + 1);
    text += "<|vision_start|>";
    for (int64_t t = 0; t < tokens[i]; ++t) text += image_pad;
    text += "<|vision_end|>";
  }
  return text;
}

}  // namespace

void Prompts::read_images(std::span<const Pixels> images) {
  const Edits& edits = *config_.edits;
  if (images.empty()) fail<UsageError>("generate: this model edits images, expected one with --reference");
  if (images.size() > 1 && !edits.several)
    fail<UsageError>("generate: this model edits one image, but there are {} reference images", images.size());
  for (const Pixels& image : images) {
    const auto [height, width] = size_of_area(edits.prompt_area, image.height, image.width);
    if (std::min(height, width) < 1)
      fail<UsageError>("generate: a reference image is {}×{}, expected sides that differ less", image.width, image.height);
    images_.push_back(config_.preparation.resized(resize(image, width, height, Filter::lanczos)));
  }
}

// Positions of a text with the images: rows and columns of an image's tokens are counted from the position behind the text before it.
parts::PaddedText Prompts::with_images(parts::PaddedText text) const {
  const int64_t unit = config_.preparation.unit;
  int64_t next = 0;
  size_t image = 0;
  for (int64_t at = 0; at < std::ssize(text.ids);) {
    if (text.ids[size_t(at)] != config_.image_token) {
      text.positions.push_back({next, next, next});
      ++next, ++at;
      continue;
    }
    if (image == images_.size()) fail<UsageError>("generate: the prompt contains {}, expected a text without it", image_pad);
    const int64_t rows = images_[image].height / unit, columns = images_[image].width / unit;
    if (!std::ranges::all_of(std::span(text.ids).subspan(size_t(at), size_t(std::min(rows * columns, std::ssize(text.ids) - at))),
                             [&](int32_t id) { return id == config_.image_token; }) ||
        at + rows * columns > std::ssize(text.ids))
      fail<WeightError>("the tokenizer of the text encoder makes other tokens of {}, expected {} for each", image_pad, config_.image_token);
    for (int64_t y = 0; y < rows; ++y)
      for (int64_t x = 0; x < columns; ++x) text.positions.push_back({next, next + y, next + x});
    text.inserted.push_back({.at = at});
    at += rows * columns, next += std::max(rows, columns), ++image;
  }
  if (image != images_.size())
    fail<WeightError>("the tokenizer of the text encoder has no token {} for {}, expected one", config_.image_token, image_pad);
  return text;
}

Prompts::Prompts(const QwenImageConfig& config, const Encoders& encoders, const ImageTask& task, bool use_negative, ResolvedImage& resolved)
    : config_(config), encoders_(encoders), dropped_(config.edits ? config.edits->dropped : dropped_tokens) {
  const Request& r = task.request;
  if (!r.embeddings.empty()) fail<UnsupportedError>("generate: {} does not support embeddings", family_name);
  const auto asked = option_of<int64_t>(r.options, max_sequence_length.name);
  int64_t most = std::numeric_limits<int32_t>::max();
  language_encoder::ChatForm form = prompt_form;
  std::string in_front;
  if (config.edits) {
    if (asked)
      fail<UnsupportedError>("generate: max_sequence_length is not supported by a model that edits, whose prompts have any length");
    read_images(task.references);
    std::vector<int64_t> tokens;
    for (const Pixels& image : images_) tokens.push_back(image.height / config.preparation.unit * (image.width / config.preparation.unit));
    in_front = text_with_images(*config.edits, tokens);
    form = config.edits->form, form.in_front = in_front;
  } else {
    const int64_t length = asked.value_or(default_length);
    resolved.options[std::string(max_sequence_length.name)] = length;
    most = dropped_ + length;
  }
  const auto read = [&](std::string_view prompt, text::PromptRole role) {
    language_encoder::Row row =
        config.tokenizer.row_of(language_encoder::text_in(prompt, syntax_of(r), emphasis_of(r)), role, form, {.most = most});
    if (!row.warning.empty()) clip::add_warning(row.warning, resolved);
    if (std::ssize(row.text.ids) <= dropped_)
      fail<WeightError>("the tokenizer of the text encoder makes {} tokens of a prompt and the texts around it, expected more than {}",
                        row.text.ids.size(), dropped_);
    texts_.push_back(config.edits ? with_images(std::move(row.text)) : std::move(row.text));
  };
  read(r.prompt, text::PromptRole::positive);
  const std::string negative = r.negative_prompt.value_or("");
  if (use_negative) read(negative, text::PromptRole::negative);
  else if (!negative.empty()) clip::add_warning("the negative prompt is ignored: it requires classifier-free guidance", resolved);
}

std::vector<diffusion::EncodedPrompt> Prompts::encode(const diffusion::Loaded& networks, Backend& host) const {
  const TextEncoder& encoder = networks[encoders_.text];
  std::vector<parts::PaddedText> texts = texts_;
  for (size_t i = 0; i < images_.size(); ++i) {
    const parts::QwenVision& tower = encoders_.vision ? networks[*encoders_.vision] : *encoder.vision;
    const Tensor rows = tower(config_.preparation.normalized(images_[i], host).to(*tower.embedding.backend));
    for (parts::PaddedText& text : texts) text.inserted[i].rows = rows;
  }
  std::vector<diffusion::EncodedPrompt> prompts;
  for (const Tensor& states : encoder(texts)) {
    const Tensor text = ops::contiguous(states.to(host).slice(0, dropped_, states.size(0)));
    diffusion::require_finite(text, "text_encoder", "its states");
    diffusion::Conditioning given;
    given.tensors[std::string(text_states)] = text.view({1, text.size(0), text.size(1)});
    prompts.push_back({.conditions = {{.entries = {{.given = std::move(given)}}}}});
  }
  return prompts;
}

}  // namespace hearth::models::qwen_image
