// Control networks as text, for the command and for metadata.
#include "hearth/control.h"

#include <fmt/ranges.h>

#include <array>
#include <map>

#include "core/error.h"
#include "core/text/values.h"
#include "hearth/preprocess.h"
#include "media/editing/control_image.h"

namespace hearth {
namespace {

constexpr std::array<std::string_view, 8> keys{"path", "image", "scale", "start", "end", "mode", "guess", "preprocess"};

// The key at this place of the text, followed by "="; empty: none.
std::string_view key_at(std::string_view text, size_t at) {
  for (const std::string_view key : keys)
    if (text.substr(at).starts_with(key) && text.substr(at + key.size()).starts_with("=")) return key;
  return {};
}

double number_of(std::string_view key, const std::string& value) {
  try {
    return parse_number(value);
  } catch (const UsageError&) { fail<UsageError>("control: {} is '{}', expected a number", key, value); }
}

}  // namespace

Control parse_control(const std::string& text) {
  Control control;
  std::map<std::string, std::string, std::less<>> values;
  for (size_t at = 0; at < text.size();) {
    const std::string_view key = key_at(text, at);
    if (key.empty())
      fail<UsageError>("control: '{}' does not begin with a key, expected one of {} followed by '='", text.substr(at),
                       fmt::join(keys, ", "));
    const size_t begin = at + key.size() + 1;
    size_t end = text.find(',', begin);  // a comma that no key follows belongs to the value
    while (end != text.npos && key_at(text, end + 1).empty()) {
      if (key != "path" && key != "image") break;
      end = text.find(',', end + 1);
    }
    if (!values.emplace(key, text.substr(begin, std::min(end, text.size()) - begin)).second)
      fail<UsageError>("control: {} is given twice, expected once", key);
    at = end == text.npos ? text.size() : end + 1;
  }
  for (const char* key : {"path", "image"})
    if (values[key].empty()) fail<UsageError>("control: '{}' has no {}, expected path=PATH,image=FILE", text, key);
  for (const auto& [key, value] : values) {
    if (key == "path") control.path = value;
    if (key == "image") control.image_name = value;
    if (key == "scale") control.scale = number_of(key, value);
    if (key == "start") control.start = number_of(key, value);
    if (key == "end") control.end = number_of(key, value);
    if (key == "mode") control.mode = value;
    if (key == "preprocess") control.preprocess = value;
    if (key == "guess") {
      if (value != "on" && value != "off") fail<UsageError>("control: guess is '{}', expected on or off", value);
      control.guess = value == "on";
    }
  }
  control.image = Image::load(control.image_name);
  return control;
}

std::string to_text(const Control& c) {
  std::string text = "path=" + c.path.string();
  if (!c.image_name.empty()) text += ",image=" + c.image_name;
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
