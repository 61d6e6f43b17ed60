#include "hub/cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files/file.h"
#include "hearth/hub.h"
#include "hub/http.h"
#include "hub/local_model.h"

namespace hearth {
namespace hub {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

fs::path record_of(const CachePlace& place) { return place.own / "pulled.json"; }

bool ends_in(const fs::path& path, std::initializer_list<std::string_view> endings) {
  return std::ranges::find(endings, path.extension().string()) != endings.end();
}

bool is_weights(const fs::path& path) { return ends_in(path, {".safetensors", ".gguf", ".dduf", ".ckpt", ".pt", ".pth", ".bin"}); }

// Whether a name of the form ORG/NAME is rather a path FOLDER/FILE.
bool is_file_name(const std::string& name) {
  return is_weights(name) || ends_in(name, {".png", ".jpg", ".jpeg", ".webp", ".json", ".txt", ".model"});
}

// Paths of the regular files below the folder, relative to it.
std::vector<std::string> files_below(const fs::path& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (it->is_regular_file(error)) paths.push_back(it->path().lexically_relative(folder).generic_string());
  std::ranges::sort(paths);
  return paths;
}

// The path to open: the model's folder, or its only model file if the folder has no configuration.
fs::path opened_of(const fs::path& folder) {
  std::error_code error;
  if (fs::exists(folder / "model_index.json", error) || fs::exists(folder / "config.json", error)) return folder;
  std::vector<std::string> models = files_below(folder);
  std::erase_if(models, [](const std::string& path) { return !is_weights(path); });
  if (models.empty()) return folder;
  const std::string whole = without_part(models[0]);
  return std::ranges::all_of(models, [&](const std::string& path) { return without_part(path) == whole; }) ? folder / models[0] : folder;
}

}  // namespace

CachePlace cache_place(const fs::path& cache, const ModelName& name, const std::string& revision) {
  std::string folder = name.name;
  if (!revision.empty() && revision != "main") folder.append("@").append(encode_segment(revision));
  return {cache / "models" / name.owner / folder, cache / "pulls" / name.owner / folder};
}

Pulled load_pulled(const CachePlace& place) {
  Pulled pulled;
  try {
    const Json json = Json::parse(read_file(record_of(place)));
    pulled.commit = json.at("commit").get<std::string>();
    for (const auto& [path, file] : json.at("files").items())
      pulled.files[path] = {.path = path,
                            .size = file.at("size").get<int64_t>(),
                            .sha256 = file.value("sha256", std::string()),
                            .git = file.value("git", std::string())};
  } catch (const std::exception&) { return {}; }
  return pulled;
}

void save_pulled(const CachePlace& place, const Pulled& pulled) {
  Json files = Json::object();
  for (const auto& [path, file] : pulled.files) {
    files[path] = {{"size", file.size}};
    if (!file.sha256.empty()) files[path]["sha256"] = file.sha256;
    if (!file.git.empty()) files[path]["git"] = file.git;
  }
  write_file(record_of(place), Json{{"commit", pulled.commit}, {"files", files}}.dump(2) + "\n");
}

bool is_pulled(const CachePlace& place) {
  std::error_code error;
  return fs::is_regular_file(record_of(place), error) && fs::is_directory(place.model, error);
}

PullLock::PullLock(const CachePlace& place, const std::string& model) {
  const std::string path = place.own / "lock";
  file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file_ < 0) fail<IoError>("write {}: {}", path, std::strerror(errno));
  if (::flock(file_, LOCK_EX | LOCK_NB) == 0) return;
  const int reason = errno;
  ::close(file_);
  if (reason == EWOULDBLOCK) fail<IoError>("{}: another process is pulling it", model);
  fail<IoError>("lock {}: {}", path, std::strerror(reason));
}

PullLock::~PullLock() { ::close(file_); }

fs::path local_model(const fs::path& path) {
  std::error_code error;
  if (path.empty() || fs::exists(path, error)) return path;
  const auto name = parse_model_name(path.string());
  if (!name || (name->file.empty() && is_file_name(name->name))) return path;
  if (const auto found = find_pulled(path.string())) return *found;
  fail<IoError>("{}: not found; run hearth pull {} to download it", path.string(), path.string());
}

}  // namespace hub

std::filesystem::path pull_cache() {
  const auto value = [](const char* name) {
    const char* text = std::getenv(name);
    return std::filesystem::path(text ? text : "");
  };
  if (const auto home = value("HEARTH_HOME"); !home.empty()) return home;
  if (const auto cache = value("XDG_CACHE_HOME"); cache.is_absolute()) return cache / "hearth";
  if (const auto home = value("HOME"); !home.empty()) return home / ".cache" / "hearth";
  fail<UsageError>("pull: neither HEARTH_HOME nor HOME is set, expected one of them to locate the hub cache");
}

std::optional<std::filesystem::path> find_pulled(const std::string& model, const std::filesystem::path& cache_dir) {
  const auto name = hub::parse_model_name(model);
  if (!name) fail<UsageError>("{}: expected ORG/NAME, ORG/NAME@REVISION or ORG/NAME:FILE", model);
  const hub::CachePlace place = hub::cache_place(cache_dir.empty() ? pull_cache() : cache_dir, *name, name->revision);
  if (!hub::is_pulled(place)) return std::nullopt;
  if (name->file.empty()) return hub::opened_of(place.model);
  const std::vector<std::string> matches = hub::match_file(hub::files_below(place.model), name->file);
  if (matches.empty()) return std::nullopt;
  const std::string whole = hub::without_part(matches[0]);
  for (const std::string& path : matches)
    if (hub::without_part(path) != whole)
      fail<UsageError>("{}: matches both {} and {}, expected the name of one file", model, matches[0], path);
  if (int(matches.size()) < hub::parts_of(matches[0])) return std::nullopt;
  return place.model / matches[0];
}

}  // namespace hearth
