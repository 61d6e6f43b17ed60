#include "server/image/image_fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "api/settings/setting.h"
#include "core/error.h"
#include "server/http/access.h"
#include "server/http/multipart.h"
#include "server/image/pictures.h"

namespace hearth::server {
namespace {

using api::Form, api::Row;

struct ImageField {
  std::string_view name, field;  // as sent; as read
};
constexpr ImageField image_fields[] = {
    {"image", "image"},           {"image[]", "image"},
    {"images", "image"},          {"mask", "mask"},
    {"depth_map", "depth_map"},   {"control_image", "control_image"},
    {"references", "references"}, {"references[]", "references"},
};

std::string image_text(const Json& value, const std::string& param) {
  if (value.is_string()) return value.get<std::string>();
  const Fields image(value, param);
  if (image.has("file_id")) image.refuse("file_id", "the server keeps no files, expected image_url with a data URL");
  if (const auto object = value.find("image_url"); object != value.end() && object->is_object())
    return Fields(*object, param + ".image_url").need_text("url");
  return image.need_text("image_url");
}

void take_json_images(ImageBody& body) {
  for (const auto& [name, field] : image_fields) {
    const auto found = body.fields.find(name);
    if (found == body.fields.end()) continue;
    const Json value = std::move(*found);
    body.fields.erase(found);
    if (value.is_null()) continue;
    std::vector<ImageBody::Upload>& to = body.images[std::string(field)];
    const auto add = [&](const Json& one, const std::string& param) {
      to.push_back({param, image_bytes_of(image_text(one, param), param)});
    };
    if (!value.is_array()) add(value, std::string(name));
    else
      for (size_t i = 0; i < value.size(); ++i) add(value[i], fmt::format("{}[{}]", name, i));
  }
}

// Texts of forms that are numbers and switches in JSON.
Json form_value(const std::string& name, std::string text) {
  constexpr std::string_view typed[] = {"n", "output_compression", "partial_images", "stream"};
  if (std::ranges::find(typed, name) == std::end(typed)) return text;
  const Json value = Json::parse(text, nullptr, false);
  return value.is_number() || value.is_boolean() ? value : Json(std::move(text));
}

void take_form(const http::Request& request, ImageBody& body) {
  for (const http::Part& part : http::parse_multipart(request.headers.get("content-type"), request.body)) {
    const auto image = std::ranges::find(image_fields, part.name, &ImageField::name);
    if (image != std::end(image_fields)) {
      std::vector<ImageBody::Upload>& to = body.images[std::string(image->field)];
      to.push_back({fmt::format("{}[{}]", image->field, to.size()), std::string(part.content)});
      continue;
    }
    if (!part.file_name.empty()) throw ApiError(400, fmt::format("{}: is a file, expected a text", part.name), part.name);
    if (body.fields.contains(part.name)) throw ApiError(400, fmt::format("{}: is given twice", part.name), part.name);
    body.fields[part.name] = form_value(part.name, std::string(part.content));
  }
}

// "guidance", "cfg_scale", "guidance_scale", "cfg".
std::vector<std::string> names_of(const Setting& setting) {
  std::vector<std::string> names{setting.name};
  const auto add = [&](std::string flag) {
    if (!flag.starts_with("--")) return;
    flag.erase(0, 2);
    std::ranges::replace(flag, '-', '_');
    if (std::ranges::find(names, flag) == names.end()) names.push_back(std::move(flag));
  };
  for (size_t at = 0; at <= setting.flags.size();) {
    const size_t end = std::min(setting.flags.find(',', at), setting.flags.size());
    add(setting.flags.substr(at, end - at));
    at = end + 1;
  }
  for (const std::string& alias : setting.aliases) add(alias);
  return names;
}

std::string text_of(const Json& value, const Fields& fields, const std::string& name) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "true" : "false";
  if (value.is_number_float() && std::floor(value.get<double>()) == value.get<double>() && std::abs(value.get<double>()) < 9e15)
    return fmt::format("{}", value.get<int64_t>());
  if (value.is_number()) return value.dump();
  fields.refuse(name, fmt::format("{}, expected a text or a number", value.dump(-1, ' ', false, Json::error_handler_t::replace)));
}

// A value as the command's flag takes it; several for options, which are set one by one.
std::vector<std::string> typed(const Row& row, const Json& value, const Fields& fields, const std::string& name) {
  if (row.form == Form::options && value.is_object()) {
    std::vector<std::string> texts;
    for (const auto& [key, option] : value.items()) texts.push_back(fmt::format("{}={}", key, text_of(option, fields, name)));
    return texts;
  }
  if ((row.form == Form::list || row.form == Form::size || row.form == Form::text) && value.is_array()) {
    std::vector<std::string> texts;
    for (const Json& one : value) texts.push_back(text_of(one, fields, name));
    return {fmt::format("{}", fmt::join(texts, row.form == Form::size ? "x" : ","))};
  }
  if (row.form == Form::toggle && !value.is_boolean() && value != "true" && value != "false")
    fields.refuse(name, fmt::format("{}, expected true or false", value.dump(-1, ' ', false, Json::error_handler_t::replace)));
  return {text_of(value, fields, name)};
}

void set_image(const ImageBody& body, const std::string& name, int64_t most_pixels, std::optional<Image>& member) {
  const auto& given = body.of(name);
  if (given.size() > 1) throw ApiError(400, fmt::format("{}: {} images, expected one", name, given.size()), name);
  if (!given.empty()) member = read_image(given[0].bytes, given[0].param, most_pixels);
}

}  // namespace

const std::vector<ImageBody::Upload>& ImageBody::of(const std::string& field) const {
  static const std::vector<Upload> none;
  const auto found = images.find(field);
  return found == images.end() ? none : found->second;
}

ImageBody read_image_body(const http::Request& request) {
  ImageBody body;
  if (http::media_type(request.headers.get("content-type")) == "multipart/form-data") {
    take_form(request, body);
    return body;
  }
  body.fields = parse_body(request.body);
  take_json_images(body);
  return body;
}

void set_image_settings(const ImageBody& body, std::span<const std::string_view> handled, int64_t most_pixels, Request& request) {
  const Fields fields(body.fields);
  for (const Row& row : api::rows()) {
    std::string given;
    for (const std::string& name : names_of(row.setting)) {
      if (!fields.has(name) || name == "prompt" || std::ranges::find(handled, name) != handled.end()) continue;
      if (!given.empty()) fields.refuse(name, fmt::format("is given as {}, too, expected one of them", given));
      given = name;
    }
    if (given.empty()) continue;
    if (row.image || row.form == Form::files || row.form == Form::names || row.setting.type == "DIR")
      fields.refuse(given, "is a file, and requests cannot name files of the server", "unsupported");
    try {
      for (const std::string& text : typed(row, fields.need(given), fields, given)) row.set(request, text);
    } catch (const UsageError& e) { fields.refuse(given, e.what()); }
  }
  set_image(body, "depth_map", most_pixels, request.edit.depth_map);
  set_image(body, "control_image", most_pixels, request.edit.control_image);
  for (const ImageBody::Upload& upload : body.of("references"))
    request.references.push_back({.image = read_image(upload.bytes, upload.param, most_pixels), .name = {}});
}

void check_size(const Fields& fields, std::string_view field, std::optional<int64_t> width, std::optional<int64_t> height, int64_t unit) {
  constexpr int64_t most = 16384;
  const auto fits = [&](std::optional<int64_t> side) { return !side || (*side >= unit && *side <= most && *side % unit == 0); };
  if (fits(width) && fits(height)) return;
  const auto nearest = [&](int64_t side) {
    return std::clamp((std::clamp<int64_t>(side, 0, most) + unit / 2) / unit * unit, unit, most / unit * unit);
  };
  const int64_t w = width.value_or(unit), h = height.value_or(unit);
  fields.refuse(field,
                fmt::format("{}x{}, expected sides that are multiples of {} up to {}; the nearest size is {}x{}", w, h, unit, most,
                            nearest(w), nearest(h)),
                "invalid_size");
}

}  // namespace hearth::server
