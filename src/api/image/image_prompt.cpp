// Image prompts as text, for the command and for metadata.
#include "hearth/image_prompt.h"

#include "api/image/key_values.h"
#include "api/image/vector_file.h"
#include "core/error.h"

namespace hearth {

std::vector<float> read_face(const std::filesystem::path& file) { return api::read_vector(file); }

ImagePrompt parse_image_prompt(const std::string& text) {
  constexpr api::ValueKey keys[] = {{"path", true}, {"image", true}, {"faceid", true}, {"mask", true}, {"scale"}, {"shortcut"}};
  const auto values = api::key_values("image prompt", text, keys);
  const auto of = [&](std::string_view key) {
    const auto found = values.find(key);
    return found == values.end() ? std::string() : found->second;
  };
  if (of("path").empty()) fail<UsageError>("image prompt: '{}' has no path, expected path=PATH,image=FILE", text);
  if (of("image").empty() && of("faceid").empty())
    fail<UsageError>("image prompt: '{}' has no image, expected path=PATH,image=FILE, or faceid=FILE for a FaceID adapter", text);
  if (values.contains("shortcut") && of("shortcut") != "on" && of("shortcut") != "off")
    fail<UsageError>("image prompt: shortcut is '{}', expected on or off", of("shortcut"));
  ImagePrompt prompt{.path = of("path"),
                     .image_name = of("image"),
                     .mask_name = of("mask"),
                     .face_name = of("faceid"),
                     .shortcut = of("shortcut") == "on"};
  if (values.contains("scale")) prompt.scale = api::number_of("image prompt", "scale", of("scale"));
  if (!prompt.image_name.empty()) prompt.image = Image::load(prompt.image_name);
  if (!prompt.face_name.empty()) prompt.face = read_face(prompt.face_name);
  if (!prompt.mask_name.empty()) prompt.mask = Image::load(prompt.mask_name);
  return prompt;
}

std::string to_text(const ImagePrompt& p) {
  std::string text = "path=" + p.path.string();
  if (!p.image_name.empty()) text += ",image=" + p.image_name;
  if (!p.face_name.empty()) text += ",faceid=" + p.face_name;
  if (!p.mask_name.empty()) text += ",mask=" + p.mask_name;
  if (p.scale != 1) text += fmt::format(",scale={}", p.scale);
  if (p.shortcut) text += ",shortcut=on";
  return text;
}

}  // namespace hearth
