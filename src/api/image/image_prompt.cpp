// Image prompts as text, for the command and for metadata.
#include "hearth/image_prompt.h"

#include "api/image/key_values.h"
#include "core/error.h"

namespace hearth {

ImagePrompt parse_image_prompt(const std::string& text) {
  constexpr api::ValueKey keys[] = {{"path", true}, {"image", true}, {"mask", true}, {"scale"}};
  const auto values = api::key_values("image prompt", text, keys);
  const auto of = [&](std::string_view key) {
    const auto found = values.find(key);
    return found == values.end() ? std::string() : found->second;
  };
  for (const char* key : {"path", "image"})
    if (of(key).empty()) fail<UsageError>("image prompt: '{}' has no {}, expected path=PATH,image=FILE", text, key);
  ImagePrompt prompt{.path = of("path"), .image_name = of("image"), .mask_name = of("mask")};
  if (values.contains("scale")) prompt.scale = api::number_of("image prompt", "scale", of("scale"));
  prompt.image = Image::load(prompt.image_name);
  if (!prompt.mask_name.empty()) prompt.mask = Image::load(prompt.mask_name);
  return prompt;
}

std::string to_text(const ImagePrompt& p) {
  std::string text = "path=" + p.path.string();
  if (!p.image_name.empty()) text += ",image=" + p.image_name;
  if (!p.mask_name.empty()) text += ",mask=" + p.mask_name;
  if (p.scale != 1) text += fmt::format(",scale={}", p.scale);
  return text;
}

}  // namespace hearth
