#include "server/http/access.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

#include <algorithm>

#include "core/error.h"
#include "server/http/uri.h"

namespace hearth::http {
namespace {

bool is_alphanumeric(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

std::array<unsigned char, 32> digest_of(std::string_view text) {
  std::array<unsigned char, 32> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  return digest;
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = char(c + ('a' - 'A'));
  return lower;
}

// "localhost:8080" → "localhost"; "[::1]:80" → "[::1]".
std::string host_name(std::string_view host) {
  const size_t colon = host.rfind(':');
  if (colon != std::string_view::npos && host.find(']', colon) == std::string_view::npos) host = host.substr(0, colon);
  return lower_case(host);
}

// A list of header names of a preflight, which goes back into a header.
bool is_name_list(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return is_alphanumeric(c) || c == '-' || c == '_' || c == ',' || c == ' '; });
}

}  // namespace

KeyRing::KeyRing(const std::vector<std::string>& keys) {
  for (const std::string& key : keys) {
    const auto invalid = [](char c) { return c <= ' ' || c > '~'; };
    if (key.empty() || std::any_of(key.begin(), key.end(), invalid))
      fail<UsageError>("API key {} is empty or has blanks or control characters, expected printable ASCII", digests_.size() + 1);
    digests_.push_back(digest_of(key));
  }
}

bool KeyRing::admits(const Headers& headers) const {
  if (digests_.empty()) return true;
  std::string_view key = headers.get("x-api-key");
  const std::string_view authorization = headers.get("authorization");
  constexpr std::string_view scheme = "Bearer ";
  if (equal_without_case(authorization.substr(0, scheme.size()), scheme)) key = trim(authorization.substr(scheme.size()));
  const auto digest = digest_of(key);
  int different = 1;  // stays 1 unless a key is equal
  for (const auto& known : digests_) different &= CRYPTO_memcmp(digest.data(), known.data(), digest.size()) != 0;
  return different == 0;
}

Origins::Origins(std::vector<std::string> allowed) : allowed_(std::move(allowed)) {
  for (std::string& origin : allowed_) {
    if (origin == "*") {
      all_ = true;
      continue;
    }
    const size_t host = origin.find("://");
    const bool valid = host != 0 && host != std::string::npos && host + 3 < origin.size() &&
                       origin.find_first_of("/?#*@, ", host + 3) == std::string::npos;
    if (!valid) fail<UsageError>("CORS origin '{}': expected SCHEME://HOST or SCHEME://HOST:PORT, or *", origin);
    origin = lower_case(origin);
  }
}

bool Origins::allows(std::string_view origin) const {
  return std::find(allowed_.begin(), allowed_.end(), lower_case(origin)) != allowed_.end();
}

HeaderList Origins::headers_for(const Headers& request) const {
  if (allowed_.empty()) return {};
  const std::string_view origin = request.get("origin");
  HeaderList headers;
  if (!origin.empty() && allows(origin)) {
    headers.emplace_back("Access-Control-Allow-Origin", origin);
  } else if (!origin.empty() && all_) {
    headers.emplace_back("Access-Control-Allow-Origin", "*");
  }
  if (!headers.empty()) headers.emplace_back("Access-Control-Expose-Headers", "X-Request-Id, Retry-After");
  headers.emplace_back("Vary", "Origin");  // for all: a cache must not serve one page's response to another
  return headers;
}

std::optional<HeaderList> Origins::preflight(const Headers& request, const std::vector<std::string>& methods) const {
  if (!allows(request.get("origin")) && !all_) return std::nullopt;
  HeaderList headers;
  std::string list;
  for (const std::string& method : methods) list += (list.empty() ? "" : ", ") + method;
  headers.emplace_back("Access-Control-Allow-Methods", list);
  const std::string_view wanted = request.get("access-control-request-headers");
  if (!wanted.empty() && is_name_list(wanted)) headers.emplace_back("Access-Control-Allow-Headers", wanted);
  headers.emplace_back("Access-Control-Max-Age", "600");
  return headers;
}

bool Origins::is_foreign(const Headers& request) const {
  const std::string_view origin = request.get("origin");
  if (origin.empty() || all_ || allows(origin)) return false;
  const size_t host = origin.find("://");
  return host == std::string_view::npos || !equal_without_case(origin.substr(host + 3), request.get("host"));
}

bool is_own_host(std::string_view host, const std::vector<std::string>& names) {
  const std::string name = host_name(host);
  if (name == "localhost" || name == "[::1]") return true;
  const auto loopback_digits = [](char c) { return (c >= '0' && c <= '9') || c == '.'; };
  if (name.substr(0, 4) == "127." && std::all_of(name.begin(), name.end(), loopback_digits)) return true;
  return std::any_of(names.begin(), names.end(), [&](const std::string& own) { return equal_without_case(own, name); });
}

std::string request_id(std::string_view from_client) {
  const auto valid = [](char c) { return is_alphanumeric(c) || c == '.' || c == '_' || c == '-' || c == ':'; };
  if (!from_client.empty() && from_client.size() <= 128 && std::all_of(from_client.begin(), from_client.end(), valid))
    return std::string(from_client);
  std::array<unsigned char, 16> bytes{};
  if (RAND_bytes(bytes.data(), int(bytes.size())) != 1) fail<Error>("openssl has no random bytes");
  std::string id;
  for (const unsigned char byte : bytes) {
    id += "0123456789abcdef"[byte >> 4];
    id += "0123456789abcdef"[byte & 15];
  }
  return id;
}

std::string media_type(std::string_view content_type) { return lower_case(trim(content_type.substr(0, content_type.find(';')))); }

}  // namespace hearth::http
