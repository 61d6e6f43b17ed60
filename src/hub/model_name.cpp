#include "hub/model_name.h"

#include <algorithm>
#include <cctype>
#include <regex>

#include "hub/listing.h"

namespace hearth::hub {
namespace {

bool is_name(std::string_view text) {
  if (text.empty() || text.size() > 96 || text.find("..") != text.npos) return false;
  if (std::isalnum(static_cast<unsigned char>(text[0])) == 0 && text[0] != '_') return false;
  return std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.'; });
}

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  return text;
}

// Repositories also contain projectors and importance matrices with the same quantizations in their names.
bool is_language_model(const std::string& path) {
  const std::string name = lower(base(path));
  return name.ends_with(".gguf") && !name.starts_with("mmproj") && name.find("imatrix") == name.npos;
}

bool has_quantization(const std::string& path, const std::string& tag) {
  const std::string text = lower(path.substr(0, path.size() - std::string_view(".gguf").size()));
  const auto ends_word = [](char c) { return c == '-' || c == '.' || c == '/'; };
  for (size_t at = text.find(tag); at != text.npos; at = text.find(tag, at + 1)) {
    const size_t end = at + tag.size();
    if ((at == 0 || ends_word(text[at - 1]) || text[at - 1] == '_') && (end == text.size() || ends_word(text[end]))) return true;
  }
  return false;
}

const std::regex& part_pattern() {
  static const std::regex pattern("(.*)-\\d{5}-of-(\\d{5})(\\.[a-z]+)");
  return pattern;
}

}  // namespace

std::optional<ModelName> parse_model_name(std::string_view text) {
  ModelName result;
  if (const size_t colon = text.find(':'); colon != text.npos) {
    result.file = text.substr(colon + 1);
    text = text.substr(0, colon);
    if (!is_safe_path(result.file)) return std::nullopt;
  }
  if (const size_t at = text.find('@'); at != text.npos) {
    result.revision = text.substr(at + 1);
    text = text.substr(0, at);
    if (!is_safe_path(result.revision)) return std::nullopt;
  }
  const size_t slash = text.find('/');
  if (slash == text.npos) return std::nullopt;
  result.owner = text.substr(0, slash);
  result.name = text.substr(slash + 1);
  if (!is_name(result.owner) || !is_name(result.name)) return std::nullopt;
  return result;
}

bool is_safe_path(std::string_view path) {
  if (path.empty() || path.size() > 1024) return false;
  for (const unsigned char c : path)
    if (c < 0x20 || c == 0x7f || c == '\\') return false;
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view piece = path.substr(begin, end - begin);
    if (piece.empty() || piece == "." || piece == ".." || piece.size() > 255) return false;
    begin = end + 1;
  }
  return true;
}

std::vector<std::string> match_file(const std::vector<std::string>& paths, const std::string& file) {
  std::vector<std::string> matches;
  const auto collect = [&](const auto& matching) {
    if (!matches.empty()) return;
    for (const std::string& path : paths)
      if (matching(path)) matches.push_back(path);
  };
  collect([&](const std::string& path) { return path == file; });
  collect([&](const std::string& path) { return base(path) == file; });
  const std::string tag = lower(file);
  collect([&](const std::string& path) { return is_language_model(path) && has_quantization(path, tag); });
  // One shard stands for the whole model.
  if (matches.size() == 1 && parts_of(matches[0]) > 1) {
    const std::string whole = without_part(matches[0]);
    matches.clear();
    collect([&](const std::string& path) { return parts_of(path) > 1 && without_part(path) == whole; });
  }
  std::ranges::sort(matches);
  return matches;
}

std::string without_part(const std::string& path) {
  std::smatch match;
  return std::regex_match(path, match, part_pattern()) ? match[1].str() + match[3].str() : path;
}

int parts_of(const std::string& path) {
  std::smatch match;
  return std::regex_match(path, match, part_pattern()) ? std::stoi(match[2]) : 1;
}

}  // namespace hearth::hub
