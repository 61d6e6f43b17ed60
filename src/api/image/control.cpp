// Control networks as text, for the command and for metadata.
#include "hearth/control.h"

#include "api/image/key_values.h"
#include "core/error.h"
#include "hearth/preprocess.h"
#include "media/editing/control_image.h"

namespace hearth {
Control parse_control(const std::string& text) {
  constexpr api::ValueKey keys[] = {{"path", true}, {"image", true}, {"mask", true}, {"scale"},     {"start"},
                                    {"end"},        {"mode"},        {"guess"},      {"preprocess"}};
  auto values = api::key_values("control", text, keys);
  const auto number = [](const std::string& key, const std::string& value) { return api::number_of("control", key, value); };
  Control control;
  for (const char* key : {"path", "image"})
    if (values[key].empty()) fail<UsageError>("control: '{}' has no {}, expected path=PATH,image=FILE", text, key);
  for (const auto& [key, value] : values) {
    if (key == "path") control.path = value;
    if (key == "image") control.image_name = value;
    if (key == "mask") control.mask_name = value;
    if (key == "scale") control.scale = number(key, value);
    if (key == "start") control.start = number(key, value);
    if (key == "end") control.end = number(key, value);
    if (key == "mode") control.mode = value;
    if (key == "preprocess") control.preprocess = value;
    if (key == "guess") {
      if (value != "on" && value != "off") fail<UsageError>("control: guess is '{}', expected on or off", value);
      control.guess = value == "on";
    }
  }
  control.image = Image::load(control.image_name);
  if (!control.mask_name.empty()) control.mask = Image::load(control.mask_name);
  return control;
}

std::string to_text(const Control& c) {
  std::string text = "path=" + c.path.string();
  if (!c.image_name.empty()) text += ",image=" + c.image_name;
  if (!c.mask_name.empty()) text += ",mask=" + c.mask_name;
  if (c.scale != 1) text += fmt::format(",scale={}", c.scale);
  if (c.start != 0) text += fmt::format(",start={}", c.start);
  if (c.end != 1) text += fmt::format(",end={}", c.end);
  if (!c.mode.empty()) text += ",mode=" + c.mode;
  if (c.guess) text += ",guess=on";
  if (!c.preprocess.empty()) text += ",preprocess=" + c.preprocess;
  return text;
}

Image preprocess(const Image& image, const std::string& how) {
  if (how.empty()) return image;
  Pixels made = control_image({.width = image.width, .height = image.height, .rgb = image.rgb}, how);
  return {.width = made.width, .height = made.height, .rgb = std::move(made.rgb)};
}

std::vector<std::string> list_preprocessors() {
  std::vector<std::string> names;
  for (const ControlFilter& filter : control_filters()) names.push_back(filter.name);
  return names;
}

}  // namespace hearth
