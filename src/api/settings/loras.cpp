#include "api/settings/loras.h"

#include <fmt/format.h>

#include <array>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

#include "adapters/adapter_file.h"
#include "api/rerun/rerun.h"
#include "api/settings/members.h"
#include "api/settings/table.h"
#include "core/error.h"
#include "core/files/sha256.h"
#include "core/text/utf8.h"
#include "core/text/values.h"

namespace hearth {
namespace {

bool is_number(const std::string& text) {
  try {
    parse_number(text);
  } catch (const UsageError&) { return false; }
  return true;
}

}  // namespace

Lora parse_lora(const std::string& text) {
  Lora lora;
  std::string rest = text;
  // Options are taken from the end: the file's name may contain colons.
  for (size_t colon = rest.rfind(':'); colon != rest.npos && colon > 0; colon = rest.rfind(':')) {
    const std::string option = rest.substr(colon + 1);
    const size_t equals = option.rfind('=');
    if (equals == option.npos ? !is_number(option) : equals == 0 || !is_number(option.substr(equals + 1))) break;
    const double value = parse_number(equals == option.npos ? option : option.substr(equals + 1));
    if (equals == option.npos) {
      lora.scale = value;
      rest.resize(colon);
      break;
    }
    if (const std::string name = option.substr(0, equals); name == "text") lora.text_scale = value;
    else lora.parts.emplace(lora.parts.begin(), name, value);
    rest.resize(colon);
  }
  if (rest.empty()) fail<UsageError>("'{}' has no file, expected FILE[:SCALE]", text);
  lora.file = rest;
  return lora;
}

std::string text_of(const Lora& lora) {
  std::string text = fmt::format("{}:{}", lora.file.string(), lora.scale);
  if (lora.text_scale) text += fmt::format(":text={}", *lora.text_scale);
  for (const auto& [pattern, factor] : lora.parts) text += fmt::format(":{}={}", pattern, factor);
  return text;
}

namespace api {
namespace {

Json json_of(const Lora& lora) {
  Json json = {{"file", valid_utf8(lora.file.string())}, {"scale", lora.scale}};
  if (lora.text_scale) json["text_scale"] = *lora.text_scale;
  for (const auto& [pattern, factor] : lora.parts) json["parts"][pattern] = factor;
  return json;
}

void rerun_loras(const Row& row, const Json& stored, const Json&, Rerun& r) {
  const std::string flag = flag_of(row.setting);
  for (const Json& one : stored) {
    Lora lora{.file = one.at("file").get<std::string>(), .scale = one.value("scale", 1.0)};
    if (one.contains("text_scale")) lora.text_scale = one.at("text_scale").get<double>();
    if (one.contains("parts"))
      for (const auto& [pattern, factor] : one.at("parts").items()) lora.parts.emplace_back(pattern, factor.get<double>());
    add_flag(r, flag, text_of(lora));
    r.files.push_back({.flag = "--" + flag, .file = lora.file.string(), .sha256 = one.value("sha256", "")});
  }
}

}  // namespace

std::string sum_of_file(const std::filesystem::path& given) {
  const std::filesystem::path file = adapters::file_of(given);
  struct Known {
    std::filesystem::file_time_type time;
    std::string sum;
  };
  static std::mutex mutex;
  static std::map<std::filesystem::path, Known> known;
  std::error_code absent;
  const auto time = std::filesystem::last_write_time(file, absent);
  const std::lock_guard lock(mutex);
  Known& own = known[file];
  if (own.sum.empty() || own.time != time) own = {time, sha256_of_files(std::array{file})};
  return own.sum;
}

Row loras() {
  return {
      .setting = {.name = "loras",
                  .flags = "--lora",
                  .type = "FILE[:SCALE]",
                  .help = "LoRA, LoHa, LoKr, DoRA or another adapter, and its strength; :text=X after it sets that of the text encoders, "
                          ":down_blocks.1.*=X a factor for a part of the model. Repeat it for several",
                  .default_text = "none; SCALE 1",
                  .group = group::adapters,
                  .repeatable = true},
      .form = Form::files,
      .set = [](Request& r, const std::string& text) { r.loras.push_back(parse_lora(text)); },
      .value =
          [](const Request& r) {
            Json list = Json::array();
            for (const Lora& lora : r.loras) list.push_back(json_of(lora));
            return list.empty() ? no_value() : list;
          },
      .reporting = {.keep = Keep::given,
                    .order = 5,
                    .metadata_value =
                        [](const Request& r) {
                          Json list = Json::array();
                          for (const Lora& lora : r.loras) {
                            list.push_back(json_of(lora));
                            list.back()["sha256"] = sum_of_file(lora.file);
                          }
                          return list;
                        },
                    .a1111 = "Lora hashes",
                    .a1111_value =
                        [](const Request& r) {
                          std::string hashes;
                          for (const Lora& lora : r.loras)
                            hashes += fmt::format("{}{}: {}", hashes.empty() ? "" : ", ", lora.file.stem().string(),
                                                  sum_of_file(lora.file).substr(0, 12));
                          return hashes;
                        },
                    .rerun = rerun_loras},
      .of_caller = true};
}

Row lora_folder() {
  return {.setting = {.name = "lora_folder",
                      .flags = "--lora-dir",
                      .type = "DIR",
                      .help = "Folder with the adapters that <lora:NAME:0.8> in a prompt in A1111's syntax names",
                      .default_text = "none",
                      .group = group::adapters},
          .set = [](Request& r, const std::string& text) { r.lora_folder = text; },
          .value = [](const Request& r) { return r.lora_folder.empty() ? no_value() : Json(valid_utf8(r.lora_folder.string())); },
          .reporting = {.report = Report::among_flags}};
}

}  // namespace api
}  // namespace hearth
