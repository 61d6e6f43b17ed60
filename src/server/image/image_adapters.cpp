#include "server/image/image_adapters.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "hearth/preprocess.h"
#include "media/editing/fit.h"
#include "server/image/pictures.h"

namespace hearth::server {
namespace {

using Offered = std::map<std::string, std::filesystem::path>;

// A1111's clients append a hash: "canny [1a2b3c4d]".
std::string without_hash(std::string name) {
  if (const size_t bracket = name.rfind(" ["); bracket != name.npos && name.ends_with("]")) name.resize(bracket);
  return name;
}

[[noreturn]] void refuse_unknown(const Fields& fields, std::string_view field, const std::string& name,
                                 std::initializer_list<const Offered*> offered) {
  std::vector<std::string> names;
  for (const Offered* adapters : offered)
    for (const auto& [known, path] : *adapters) names.push_back(known);
  fields.refuse(field, fmt::format("'{}' is unknown, expected one of {}", name, fmt::join(names, ", ")));
}

// The adapter that a field names; `what` and `flag`: what the server would have to offer.
std::filesystem::path offered_by(const Fields& fields, std::string_view field, const Offered& offered, std::string_view what,
                                 std::string_view flag) {
  const std::string name = fields.need_text(field);
  if (offered.empty())
    fields.refuse(field, fmt::format("the server offers no {}; hearth serve {} NAME=PATH does", what, flag), "unsupported");
  const auto found = offered.find(name);
  if (found == offered.end()) refuse_unknown(fields, field, name, {&offered});
  return found->second;
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

// The unit's image in a field that may be an object; absent if the field is.
std::optional<Image> unit_image(const Fields& unit, std::string_view field, int64_t most_pixels) {
  std::string text;
  if (const Json* value = unit.value(field); value && value->is_object()) text = Fields(*value, unit.path_of(field)).need_text("image");
  else text = unit.text(field).value_or("");
  if (text.empty()) return {};
  return over_white(read_image_text(text, unit.path_of(field), most_pixels));
}

Image image_of(const Fields& unit, const ImageService::Limits& limits, const Request& request) {
  const auto own = unit_image(unit, unit.has("image") ? "image" : "input_image", limits.input_pixels);
  if (!own && !request.edit.image) unit.refuse("image", "is missing, expected the image in base64");
  return own ? *own : *request.edit.image;
}

struct Share {
  double start, end;  // of the calls
};

Share share_of(const Fields& unit) {
  return {unit.number("guidance_start", 0, 1).value_or(0), unit.number("guidance_end", 0, 1).value_or(1)};
}

void require_balanced(const Fields& unit) {
  constexpr std::string_view importance[] = {"Balanced", "My prompt is more important", "ControlNet is more important"};
  if (const int64_t mode = choice_of(unit, "control_mode", importance, 0); mode != 0)
    unit.refuse("control_mode", fmt::format("'{}' is not supported, expected '{}'", importance[mode], importance[0]), "unsupported");
}

constexpr std::string_view region = "effective_region_mask";

Control control_unit(const Fields& unit, const std::filesystem::path& path, const ImageService::Limits& limits, const Request& request) {
  Control control{.path = path};
  control.scale = unit.number("weight", -1e6, 1e6).value_or(1);
  const auto [start, end] = share_of(unit);
  control.start = start, control.end = end;
  require_balanced(unit);
  if (const Json* mask = unit.value(region); mask && *mask != "")
    unit.refuse(region, "is not supported for control networks, expected none", "unsupported");
  constexpr std::string_view fits[] = {"Just Resize", "Crop and Resize", "Resize and Fill"};
  constexpr Fit how[] = {Fit::stretch, Fit::crop, Fit::fill};
  const Fit fit = how[choice_of(unit, "resize_mode", fits, 1)];
  control.image = preprocess(image_of(unit, limits, request), filter_of(unit));
  control.mask = unit_image(unit, unit.has("mask") ? "mask" : "mask_image", limits.input_pixels);
  if (fit != Fit::stretch) control.image = fitted_to(control.image, *request.width, *request.height, fit);
  return control;
}

// The vector of the field "face". Empty if the request has no such field.
std::vector<float> face_of(const Fields& fields) {
  constexpr size_t most = 4096;
  std::vector<float> face;
  const Json* list = fields.list("face");
  if (!list) return face;
  if (list->empty() || list->size() > most) fields.refuse("face", fmt::format("{} values, expected 1 to {}", list->size(), most));
  for (const Json& value : *list) {
    if (!value.is_number() || !std::isfinite(value.get<float>())) fields.refuse("face", "has a value that is no number, expected numbers");
    face.push_back(value.get<float>());
  }
  return face;
}

// Modules of image prompts choose the vision tower there; here the server's is used.
constexpr std::string_view tower_modules[] = {"ip-adapter-auto", "ip-adapter_clip_h", "ip-adapter_clip_g", "ip-adapter_clip_sd15",
                                              "ip-adapter_clip_sdxl"};

ImagePrompt image_prompt_unit(const Fields& unit, const std::filesystem::path& path, const ImageService::Limits& limits,
                              const Request& request) {
  ImagePrompt prompt{.path = path};
  const std::string module = unit.text("module").value_or("none");
  if (!module.empty() && module != "none" && module != "None" && std::ranges::find(tower_modules, module) == std::end(tower_modules))
    unit.refuse("module", fmt::format("'{}' is not for image prompts, expected one of {}", module, fmt::join(tower_modules, ", ")));
  prompt.scale = unit.number("weight", -1e6, 1e6).value_or(1);
  if (const auto [start, end] = share_of(unit); start != 0 || end != 1)
    unit.refuse(start != 0 ? "guidance_start" : "guidance_end", "is not supported for image prompts, expected all steps", "unsupported");
  require_balanced(unit);
  prompt.face = face_of(unit);
  if (prompt.face.empty() || unit.has("image")) prompt.image = image_of(unit, limits, request);
  prompt.shortcut = unit.flag("shortcut").value_or(false);
  prompt.mask = unit_image(unit, region, limits.input_pixels);
  return prompt;
}

// The objects of a list, which have no fields but these.
std::vector<Fields> objects_of(const Fields& request, std::string_view name, std::span<const std::string_view> known) {
  std::vector<Fields> all;
  const Json* list = request.list(name);
  if (!list) return all;
  for (size_t i = 0; i < list->size(); ++i) {
    const Fields& fields = all.emplace_back((*list)[i], fmt::format("{}[{}]", request.path_of(name), i));
    for (const auto& [field, value] : fields.json().items())
      if (std::ranges::find(known, field) == known.end())
        fields.refuse(field, fmt::format("is unknown, expected one of {}", fmt::join(known, ", ")));
  }
  return all;
}

Image need_image(const Fields& fields, std::string_view name, const ImageService::Limits& limits) {
  return over_white(read_image_text(fields.need_text(name), fields.path_of(name), limits.input_pixels));
}

}  // namespace

std::vector<Control> read_controls(const Fields& request, const ImageService::Limits& limits) {
  constexpr std::string_view known[] = {"network", "image", "mask", "scale", "start", "end", "mode", "guess", "preprocess"};
  std::vector<Control> all;
  for (const Fields& fields : objects_of(request, "controls", known)) {
    Control& control = all.emplace_back();
    control.path = offered_by(fields, "network", limits.adapters.controls, "control networks", "--control");
    control.image = need_image(fields, "image", limits);
    if (fields.has("mask")) control.mask = need_image(fields, "mask", limits);
    control.scale = fields.number("scale", -1e6, 1e6).value_or(1);
    control.start = fields.number("start", 0, 1).value_or(0), control.end = fields.number("end", 0, 1).value_or(1);
    control.mode = fields.text("mode").value_or("");
    control.guess = fields.flag("guess").value_or(false);
    control.preprocess = fields.text("preprocess").value_or("");
  }
  return all;
}

std::vector<ImagePrompt> read_image_prompts(const Fields& request, const ImageService::Limits& limits) {
  constexpr std::string_view known[] = {"adapter", "image", "face", "shortcut", "scale", "mask"};
  std::vector<ImagePrompt> all;
  for (const Fields& fields : objects_of(request, "image_prompts", known)) {
    ImagePrompt& prompt = all.emplace_back();
    prompt.path = offered_by(fields, "adapter", limits.adapters.image_prompts, "adapters for image prompts", "--ip-adapter");
    prompt.face = face_of(fields);
    if (prompt.face.empty() || fields.has("image")) prompt.image = need_image(fields, "image", limits);
    prompt.shortcut = fields.flag("shortcut").value_or(false);
    prompt.scale = fields.number("scale", -1e6, 1e6).value_or(1);
    if (fields.has("mask")) prompt.mask = need_image(fields, "mask", limits);
  }
  return all;
}

void add_control_units(const Json& units, const std::string& where, const ImageService::Limits& limits, Request& request) {
  const Offered &controls = limits.adapters.controls, &prompts = limits.adapters.image_prompts;
  for (size_t i = 0; i < units.size(); ++i) {
    if (units[i].is_null() || units[i] == false) continue;
    const Fields unit(units[i], fmt::format("{}[{}]", where, i));
    if (!unit.flag("enabled").value_or(true)) continue;
    const std::string name = without_hash(unit.need_text("model"));
    if (const auto network = controls.find(name); network != controls.end())
      request.controls.push_back(control_unit(unit, network->second, limits, request));
    else if (const auto adapter = prompts.find(name); adapter != prompts.end())
      request.image_prompts.push_back(image_prompt_unit(unit, adapter->second, limits, request));
    else if (controls.empty() && prompts.empty())
      unit.refuse("model", "the server offers no control networks; hearth serve --control NAME=PATH does", "unsupported");
    else refuse_unknown(unit, "model", name, {&controls, &prompts});
  }
}

std::vector<std::string_view> control_module_names() {
  std::vector<std::string_view> names;
  for (const Module& module : modules) names.push_back(module.name);
  names.insert(names.end(), std::begin(tower_modules), std::end(tower_modules));
  return names;
}

}  // namespace hearth::server
