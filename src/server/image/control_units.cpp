#include "server/image/control_units.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "hearth/preprocess.h"
#include "media/editing/fit.h"
#include "server/image/pictures.h"

namespace hearth::server {
namespace {

// The network of this name; A1111's clients append its hash: "canny [1a2b3c4d]".
std::filesystem::path network_of(const Fields& fields, std::string_view field, std::string name, const ImageService::Limits& limits) {
  if (const size_t bracket = name.rfind(" ["); bracket != name.npos && name.ends_with("]")) name.resize(bracket);
  const auto found = limits.controls.find(name);
  if (found != limits.controls.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [known, path] : limits.controls) names.push_back(known);
  if (names.empty()) fields.refuse(field, "the server offers no control networks; hearth serve --control NAME=PATH does", "unsupported");
  fields.refuse(field, fmt::format("'{}' is unknown, expected one of {}", name, fmt::join(names, ", ")));
}

struct Module {
  std::string_view name, filter;                // A1111's; hearth's
  std::array<std::string_view, 2> values = {};  // fields of the unit that are the filter's values
};
constexpr std::array<Module, 9> modules{{{"none", ""},
                                         {"canny", "canny", {"threshold_a", "threshold_b"}},
                                         {"threshold", "threshold", {"threshold_a"}},
                                         {"blur_gaussian", "blur", {"threshold_a"}},
                                         {"tile_resample", "tile", {"threshold_a"}},
                                         {"invert", "invert"},
                                         {"invert (from white bg & black line)", "invert"},
                                         {"lineart_standard", "lineart"},
                                         {"lineart_standard (from white bg & black line)", "lineart"}}};

std::string filter_of(const Fields& unit) {
  std::string name = unit.text("module").value_or("none");
  if (name.empty() || name == "None") name = "none";
  const auto found = std::ranges::find(modules, name, &Module::name);
  if (found == modules.end()) {
    std::vector<std::string_view> names;
    for (const Module& module : modules) names.push_back(module.name);
    unit.refuse("module", fmt::format("'{}' is not supported, expected one of {}", name, fmt::join(names, ", ")), "unsupported");
  }
  std::string filter(found->filter);
  for (const std::string_view field : found->values) {
    if (field.empty()) continue;
    const auto value = unit.number(field, -1, 1e9);
    if (!value || *value < 0) break;  // −1: the module's default
    filter += fmt::format(":{}", *value);
  }
  return filter;
}

// 0, 1, 2 or their words.
int64_t choice_of(const Fields& unit, std::string_view name, std::span<const std::string_view> words, int64_t otherwise) {
  const Json* value = unit.value(name);
  if (!value) return otherwise;
  if (!value->is_string()) return *unit.integer(name, 0, int64_t(words.size()) - 1);
  const auto found = std::ranges::find(words, value->get<std::string>());
  if (found == words.end())
    unit.refuse(name, fmt::format("'{}' is unknown, expected one of {}", value->get<std::string>(), fmt::join(words, ", ")));
  return found - words.begin();
}

Image fitted_to(const Image& image, int64_t width, int64_t height, Fit fit) {
  Pixels pixels = fitted({.width = image.width, .height = image.height, .rgb = image.rgb}, width, height, fit);
  return {.width = pixels.width, .height = pixels.height, .rgb = std::move(pixels.rgb)};
}

Control unit_of(const Fields& unit, const std::optional<Image>& init, int64_t width, int64_t height, const ImageService::Limits& limits) {
  Control control;
  control.path = network_of(unit, "model", unit.need_text("model"), limits);
  control.scale = unit.number("weight", -1e6, 1e6).value_or(1);
  control.start = unit.number("guidance_start", 0, 1).value_or(0), control.end = unit.number("guidance_end", 0, 1).value_or(1);
  constexpr std::string_view importance[] = {"Balanced", "My prompt is more important", "ControlNet is more important"};
  if (const int64_t mode = choice_of(unit, "control_mode", importance, 0); mode != 0)
    unit.refuse("control_mode", fmt::format("'{}' is not supported, expected '{}'", importance[mode], importance[0]), "unsupported");
  constexpr std::string_view fits[] = {"Just Resize", "Crop and Resize", "Resize and Fill"};
  constexpr Fit how[] = {Fit::stretch, Fit::crop, Fit::fill};
  const Fit fit = how[choice_of(unit, "resize_mode", fits, 1)];
  const std::string_view field = unit.has("image") ? "image" : "input_image";
  std::string text;
  if (const Json* value = unit.value(field); value && value->is_object()) text = Fields(*value, unit.path_of(field)).need_text("image");
  else text = unit.text(field).value_or("");
  if (text.empty() && !init) unit.refuse("image", "is missing, expected the image in base64");
  control.image = text.empty() ? *init : over_white(read_image_text(text, unit.path_of(field), limits.input_pixels));
  control.image = preprocess(control.image, filter_of(unit));
  if (fit != Fit::stretch) control.image = fitted_to(control.image, width, height, fit);
  return control;
}

}  // namespace

std::vector<Control> read_controls(const Fields& request, const ImageService::Limits& limits) {
  std::vector<Control> all;
  const Json* list = request.list("controls");
  if (!list) return all;
  for (size_t i = 0; i < list->size(); ++i) {
    const Fields fields((*list)[i], fmt::format("{}[{}]", request.path_of("controls"), i));
    constexpr std::string_view known[] = {"network", "image", "scale", "start", "end", "mode", "guess", "preprocess"};
    for (const auto& [name, value] : fields.json().items())
      if (std::ranges::find(known, name) == std::end(known))
        fields.refuse(name, fmt::format("is unknown, expected one of {}", fmt::join(known, ", ")));
    Control control;
    control.path = network_of(fields, "network", fields.need_text("network"), limits);
    control.image = over_white(read_image_text(fields.need_text("image"), fields.path_of("image"), limits.input_pixels));
    control.scale = fields.number("scale", -1e6, 1e6).value_or(1);
    control.start = fields.number("start", 0, 1).value_or(0), control.end = fields.number("end", 0, 1).value_or(1);
    control.mode = fields.text("mode").value_or("");
    control.guess = fields.flag("guess").value_or(false);
    control.preprocess = fields.text("preprocess").value_or("");
    all.push_back(std::move(control));
  }
  return all;
}

std::vector<Control> read_control_units(const Json& units, const std::string& where, const std::optional<Image>& init, int64_t width,
                                        int64_t height, const ImageService::Limits& limits) {
  std::vector<Control> all;
  for (size_t i = 0; i < units.size(); ++i) {
    if (units[i].is_null() || units[i] == false) continue;
    const Fields unit(units[i], fmt::format("{}[{}]", where, i));
    if (!unit.flag("enabled").value_or(true)) continue;
    all.push_back(unit_of(unit, init, width, height, limits));
  }
  return all;
}

}  // namespace hearth::server
