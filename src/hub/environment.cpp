#include "hub/environment.h"

#include <algorithm>
#include <cstdlib>

#include "core/error.h"
#include "core/files/file.h"

namespace hearth::hub {
namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
  const char* text = std::getenv(name);
  return text ? text : "";
}

// `from` names the token's source; messages must not contain the token.
std::string checked(std::string token, const std::string& from) {
  const auto blank = [](unsigned char c) { return c <= ' ' || c >= 0x7f; };
  while (!token.empty() && blank(static_cast<unsigned char>(token.back()))) token.pop_back();
  token.erase(0, size_t(std::ranges::find_if_not(token, blank) - token.begin()));
  if (std::ranges::any_of(token, blank)) fail<UsageError>("{}: invalid token, expected one without blanks and control characters", from);
  return token;
}

std::string read_token(const fs::path& file) { return checked(read_file(file, 1 << 16), file.string()); }

}  // namespace

std::string endpoint_of(const std::string& given) {
  std::string endpoint = given.empty() ? variable("HF_ENDPOINT") : given;
  if (endpoint.empty()) endpoint = "https://huggingface.co";
  while (endpoint.ends_with('/')) endpoint.pop_back();
  if (!endpoint.starts_with("https://") && !endpoint.starts_with("http://"))
    fail<UsageError>("endpoint '{}': expected a URL such as https://huggingface.co", endpoint);
  return endpoint;
}

std::string find_token(const fs::path& file) {
  if (!file.empty()) return read_token(file);
  for (const char* name : {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"})
    if (const std::string token = variable(name); !token.empty()) return checked(token, name);
  if (const std::string path = variable("HF_TOKEN_PATH"); !path.empty()) return read_token(path);
  fs::path home = variable("HF_HOME");
  if (home.empty() && !variable("XDG_CACHE_HOME").empty()) home = fs::path(variable("XDG_CACHE_HOME")) / "huggingface";
  if (home.empty() && !variable("HOME").empty()) home = fs::path(variable("HOME")) / ".cache" / "huggingface";
  std::error_code error;
  return !home.empty() && fs::is_regular_file(home / "token", error) ? read_token(home / "token") : "";
}

}  // namespace hearth::hub
