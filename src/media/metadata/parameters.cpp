#include "media/metadata/parameters.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/error.h"
#include "core/text/utf8.h"

namespace hearth {
namespace {

using Json = nlohmann::json;
using Settings = std::vector<std::pair<std::string, std::string>>;

constexpr std::string_view negative_mark = "Negative prompt:";
constexpr std::string_view blanks = " \t\r\n\f\v";
constexpr size_t fewest_settings = 3;

bool starts_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }
bool continues_name(char c) { return starts_name(c) || c == ' ' || c == '-' || c == '/'; }

std::string_view strip(std::string_view text) {
  const size_t begin = text.find_first_not_of(blanks);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
}

std::string quote(const std::string& value) {
  const bool plain = value.find_first_of(",:\"\n\r") == value.npos && strip(value).size() == value.size() && !value.empty();
  return plain ? value : Json(value).dump();
}

std::string unquote(std::string_view value) {
  if (!value.starts_with('"')) return std::string(value);
  const Json json = Json::parse(value, nullptr, false);
  return json.is_string() ? json.get<std::string>() : std::string(value);
}

// The end of the JSON string that starts at `begin`, one past its closing quotation mark; npos if it has none.
size_t end_of_string(std::string_view line, size_t begin) {
  for (size_t i = begin + 1; i < line.size(); ++i) {
    if (line[i] == '\\') ++i;
    else if (line[i] == '"') return i + 1;
  }
  return line.npos;
}

// `name: value, name: value`. Text between two settings that is neither is skipped.
Settings parse_settings(std::string_view line) {
  Settings settings;
  size_t at = 0;
  while (at < line.size()) {
    const size_t begin = at;
    if (!starts_name(line[begin])) {
      ++at;
      continue;
    }
    size_t colon = begin;
    while (colon < line.size() && continues_name(line[colon])) ++colon;
    if (colon == line.size() || line[colon] != ':' || colon - begin < 2) {
      at = colon;
      continue;
    }
    const size_t value = std::min(line.find_first_not_of(blanks, colon + 1), line.size());
    size_t end = line.npos;
    if (value < line.size() && line[value] == '"') {
      end = end_of_string(line, value);
      if (end != line.npos && end < line.size() && line[end] != ',') end = line.npos;  // the string is only part of the value
    }
    if (end == line.npos) end = std::min(line.find(',', value), line.size());
    settings.emplace_back(strip(line.substr(begin, colon - begin)), unquote(strip(line.substr(value, end - value))));
    at = end + 1;
  }
  return settings;
}

}  // namespace

const std::string* Parameters::find(std::string_view name) const {
  const auto at = std::find_if(settings.begin(), settings.end(), [&](const auto& setting) { return setting.first == name; });
  return at == settings.end() ? nullptr : &at->second;
}

std::string write_parameters(const Parameters& parameters) {
  const auto check_utf8 = [](const std::string& text, std::string_view what) {
    if (!is_utf8(text)) fail<UsageError>("parameters: {} is not valid UTF-8", what);
  };
  check_utf8(parameters.prompt, "the prompt");
  check_utf8(parameters.negative_prompt, "the negative prompt");

  std::string text = parameters.prompt;
  if (!parameters.negative_prompt.empty()) {
    if (!text.empty()) text += '\n';
    text += std::string(negative_mark) + ' ' + parameters.negative_prompt;
  }
  std::string line;
  for (const auto& [name, value] : parameters.settings) {
    if (name.size() < 2 || !starts_name(name[0]) || name.back() == ' ' || !std::all_of(name.begin(), name.end(), continues_name))
      fail<UsageError>("parameters: '{}' is not a valid setting name", name);
    check_utf8(value, "the value of " + name);
    line += (line.empty() ? "" : ", ") + name + ": " + quote(value);
  }
  if (!line.empty() && !text.empty()) text += '\n';
  return text + line;
}

Parameters parse_parameters(std::string_view text) {
  Parameters parameters;
  const size_t text_end = text.find_last_not_of(blanks);
  text = text.substr(0, text_end == text.npos ? 0 : text_end + 1);
  const size_t last_break = text.rfind('\n');
  const size_t last_line = last_break == text.npos ? 0 : last_break + 1;
  std::string_view prompts = text;
  if (Settings settings = parse_settings(text.substr(last_line)); settings.size() >= fewest_settings) {
    parameters.settings = std::move(settings);
    prompts = text.substr(0, last_line == 0 ? 0 : last_break);
  }

  std::string lines;  // with LF only
  for (size_t i = 0; i < prompts.size(); ++i)
    if (prompts[i] != '\r' || i + 1 < prompts.size()) {
      if (prompts[i] == '\r' && prompts[i + 1] == '\n') continue;
      lines += prompts[i];
    }

  for (size_t begin = 0; begin <= lines.size();) {
    const size_t end = std::min(lines.find('\n', begin), lines.size());
    const size_t word = std::min(lines.find_first_not_of(" \t", begin), end);
    if (std::string_view(lines).substr(word, negative_mark.size()) == negative_mark) {
      parameters.prompt = lines.substr(0, begin == 0 ? 0 : begin - 1);
      size_t negative = word + negative_mark.size();
      if (negative < lines.size() && lines[negative] == ' ') ++negative;
      parameters.negative_prompt = lines.substr(negative);
      return parameters;
    }
    begin = end + 1;
  }
  parameters.prompt = std::move(lines);
  return parameters;
}

}  // namespace hearth
