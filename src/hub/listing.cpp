#include "hub/listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files/json.h"
#include "core/files/sha256.h"
#include "hub/model_name.h"

namespace hearth::hub {
namespace {

using Json = nlohmann::json;

bool is_hex(const std::string& text, size_t digits) {
  return text.size() == digits && std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

std::string text_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

int64_t size_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_unsigned() ? found->get<int64_t>() : -1;
}

}  // namespace

std::string RemoteFile::key() const {
  if (!sha256.empty()) return sha256;
  if (!git.empty()) return git;
  Sha256 hash;
  hash.add(path);
  return "path-" + hash.hex();
}

Listing parse_listing(std::string_view text, const std::string& where) {
  const Json json = parse_json(text, where);
  if (!json.is_object() || !json.contains("siblings") || !json["siblings"].is_array())
    fail<IoError>("{}: the response does not list a model's files; is this the endpoint of a model hub?", where);
  Listing listing{.commit = text_of(json, "sha"), .files = {}};
  if (!is_hex(listing.commit, 40))
    fail<IoError>("{}: 'sha' of the listing is '{}', expected a commit of 40 hexadecimal digits", where, listing.commit);
  for (const Json& entry : json["siblings"]) {
    if (!entry.is_object()) fail<IoError>("{}: 'siblings' of the listing has an invalid entry, expected objects", where);
    RemoteFile file{.path = text_of(entry, "rfilename"), .size = size_of(entry, "size"), .sha256 = {}, .git = text_of(entry, "blobId")};
    if (!is_safe_path(file.path))
      fail<IoError>("{}: the listing has the file '{}', expected a path inside the model's folder", where, file.path);
    if (const auto lfs = entry.find("lfs"); lfs != entry.end() && lfs->is_object()) {
      file.sha256 = text_of(*lfs, "sha256");
      file.git.clear();  // it identifies the LFS pointer
      if (const int64_t size = size_of(*lfs, "size"); size >= 0) file.size = size;
    }
    if ((!file.sha256.empty() && !is_hex(file.sha256, 64)) || (!file.git.empty() && !is_hex(file.git, 40)))
      fail<IoError>("{}: the listing has the checksum '{}{}' for {}, expected a SHA-256 or git blob id", where, file.sha256, file.git,
                    file.path);
    listing.files.push_back(std::move(file));
  }
  std::ranges::sort(listing.files, {}, &RemoteFile::path);
  return listing;
}

std::string shown_size(int64_t bytes) {
  if (bytes < 0) return "size unknown";
  if (bytes < 1000) return fmt::format("{} B", bytes);
  if (bytes < 1'000'000) return fmt::format("{:.1f} kB", double(bytes) / 1e3);
  if (bytes < 1'000'000'000) return fmt::format("{:.1f} MB", double(bytes) / 1e6);
  return fmt::format("{:.1f} GB", double(bytes) / 1e9);
}

}  // namespace hearth::hub
