#include "hub/pull.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/error.h"
#include "core/observe.h"
#include "hub/cache.h"
#include "hub/digest.h"
#include "hub/download.h"
#include "hub/environment.h"
#include "hub/http.h"
#include "hub/listing.h"
#include "hub/partial_file.h"
#include "hub/selection.h"

namespace hearth {
namespace hub {
namespace {

namespace fs = std::filesystem;

ModelName name_of(const PullRequest& request) {
  const auto parsed = parse_model_name(request.model);
  if (!parsed) fail<UsageError>("{}: expected ORG/NAME, ORG/NAME@REVISION or ORG/NAME:FILE", request.model);
  ModelName name = *parsed;
  if (!request.revision.empty()) {
    if (!name.revision.empty() && name.revision != request.revision)
      fail<UsageError>("{}: has a revision, but --revision '{}' is also given, expected one of them", request.model, request.revision);
    if (!is_safe_path(request.revision)) fail<UsageError>("revision '{}': expected a branch, a tag or a commit", request.revision);
    name.revision = request.revision;
  }
  if (!name.file.empty() && (request.all || !request.include.empty() || !request.exclude.empty() || !request.variant.empty()))
    fail<UsageError>("{}: names a file, which cannot be combined with --all, --include, --exclude and --variant", request.model);
  if (request.all && !request.include.empty()) fail<UsageError>("{}: --all cannot be combined with --include", request.model);
  if ((request.all || !request.include.empty()) && !request.variant.empty())
    fail<UsageError>("{}: --variant cannot be combined with --all or --include", request.model);
  if (request.connections < 1 || request.connections > 64) fail<UsageError>("pull: {} connections, expected 1 to 64", request.connections);
  return name;
}

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail<IoError>("create the folder {}: {}", folder.string(), error.message());
}

class Pull {
 public:
  Pull(const PullRequest& request, const PullLimits& limits)
      : request_(request),
        limits_(limits),
        name_(name_of(request)),
        revision_(name_.revision.empty() ? "main" : name_.revision),
        endpoint_(endpoint_of(request.endpoint)),
        repo_url_(endpoint_ + "/" + name_.repo()),
        http_({.token = find_token(request.token_file),
               .retries = limits.retries,
               .retry_seconds = limits.retry_seconds,
               .idle_seconds = limits.idle_seconds,
               .warn = request.warn}),
        place_(cache_place(request.cache_dir.empty() ? pull_cache() : request.cache_dir, name_, name_.revision)) {}

  PullResult run() {
    list_files();
    const Pulled before = load_pulled(place_);
    if (request_.dry_run) return result_of(missing_of(before));
    make_folder(place_.own);
    make_folder(place_.model);
    const PullLock lock(place_, name_.repo());
    const std::set<std::string> missing = missing_of(before);
    const std::map<std::string, Download> downloads = downloads_of(missing);
    check_space(downloads);
    std::vector<Download> all;
    for (const auto& [key, download] : downloads) all.push_back(download);
    download_all(http_, all,
                 {.connections = request_.connections,
                  .piece = limits_.piece,
                  .model = name_.with_revision(),
                  .commit = listing_.commit,
                  .repo_url = repo_url_,
                  .progress = request_.progress});
    install(missing, downloads);
    record(before);
    return result_of(missing);
  }

 private:
  void list_files() {
    const std::string what = name_.with_revision();
    const std::string url = fmt::format("{}/api/models/{}/revision/{}?blobs=true", endpoint_, name_.repo(), encode_segment(revision_));
    listing_ = parse_listing(http_.get(url, what, repo_url_), what);
    const Choice choice{
        .file = name_.file, .variant = request_.variant, .include = request_.include, .exclude = request_.exclude, .all = request_.all};
    chosen_ =
        select_files(listing_, choice, what, [&] { return http_.get(url_of("model_index.json"), what + ": model_index.json", repo_url_); });
    for (RemoteFile& file : chosen_) {
      if (file.size >= 0) continue;
      const Http::Head head = http_.head(url_of(file.path), what + ": " + file.path, repo_url_);
      file.size = head.size;
    }
  }

  // Uses the commit, so that all files have the same state of the repository.
  std::string url_of(const std::string& path) const {
    return fmt::format("{}/resolve/{}/{}", repo_url_, listing_.commit, encode_path(path));
  }

  // The chosen files that are not in the folder with the right content. Verifies those that pulled.json does not cover.
  std::set<std::string> missing_of(const Pulled& before) const {
    std::set<std::string> missing;
    for (const RemoteFile& file : chosen_) {
      std::error_code error;
      const fs::path path = place_.model / file.path;
      const auto size = fs::file_size(path, error);
      if (error || int64_t(size) != file.size) {
        missing.insert(file.path);
        continue;
      }
      const auto known = before.files.find(file.path);
      const bool checksum = !file.sha256.empty() || !file.git.empty();
      if (known != before.files.end() && known->second.key() == file.key() && (checksum || before.commit == listing_.commit)) continue;
      if (!checksum || !difference_of(path, file).empty()) missing.insert(file.path);
    }
    return missing;
  }

  // One download per distinct content, by key.
  std::map<std::string, Download> downloads_of(const std::set<std::string>& missing) const {
    std::map<std::string, Download> downloads;
    for (const RemoteFile& file : chosen_)
      if (missing.contains(file.path))
        downloads.emplace(file.key(), Download{.file = file, .url = url_of(file.path), .stem = place_.own / file.key()});
    return downloads;
  }

  void check_space(const std::map<std::string, Download>& downloads) const {
    int64_t bytes = 0;
    for (const auto& [key, download] : downloads) {
      const PartialFile partial(download.stem, download.file.size);
      bytes += download.file.size - partial.done();
    }
    std::error_code error;
    const fs::space_info space = fs::space(place_.own, error);
    if (!error && bytes > int64_t(space.available))
      fail<IoError>("{}: needs {} of disk space in {}, but {} are available", name_.with_revision(), shown_size(bytes), place_.own.string(),
                    shown_size(int64_t(space.available)));
  }

  // Moves the complete and verified files into the model's folder.
  void install(const std::set<std::string>& missing, const std::map<std::string, Download>& downloads) const {
    std::map<std::string, int> uses;
    for (const RemoteFile& file : chosen_)
      if (missing.contains(file.path)) ++uses[file.key()];
    for (const RemoteFile& file : chosen_) {
      if (!missing.contains(file.path)) continue;
      PartialFile partial(downloads.at(file.key()).stem, file.size);
      const fs::path target = place_.model / file.path;
      make_folder(target.parent_path());
      std::error_code error;
      fs::path source = partial.path();
      if (--uses[file.key()] > 0) {  // another file has the same content
        source = place_.own / "copy";
        fs::copy_file(partial.path(), source, fs::copy_options::overwrite_existing, error);
        if (error) fail<IoError>("write {}: {}", source.string(), error.message());
      }
      fs::rename(source, target, error);
      if (error) fail<IoError>("write {}: {}", target.string(), error.message());
      if (uses[file.key()] == 0) partial.remove();
    }
  }

  // Deletes files that the repository no longer has, so that the folder does not mix two of its states.
  void record(const Pulled& before) const {
    Pulled now{.commit = listing_.commit, .files = {}};
    std::set<std::string> listed, keys = {"lock", "pulled"};
    for (const RemoteFile& file : listing_.files) listed.insert(file.path), keys.insert(file.key());
    std::error_code error;
    for (const auto& [path, file] : before.files) {
      if (listed.contains(path)) now.files[path] = file;
      else if (is_safe_path(path)) fs::remove(place_.model / path, error);
    }
    for (const RemoteFile& file : chosen_) now.files[file.path] = file;
    save_pulled(place_, now);
    for (const auto& entry : fs::directory_iterator(place_.own, error))
      if (!keys.contains(entry.path().stem().string())) fs::remove(entry.path(), error);
  }

  PullResult result_of(const std::set<std::string>& missing) const {
    PullResult result{.model = name_.with_revision(), .commit = listing_.commit, .path = place_.model, .files = {}};
    for (const RemoteFile& file : chosen_) {
      const bool present = !missing.contains(file.path);
      result.files.push_back({.path = file.path, .bytes = file.size, .sha256 = file.sha256, .present = present});
      result.bytes += file.size;
      if (!present) result.downloaded += file.size;
    }
    return result;
  }

  const PullRequest& request_;
  const PullLimits& limits_;
  ModelName name_;
  std::string revision_, endpoint_, repo_url_;
  Http http_;
  CachePlace place_;
  Listing listing_;
  std::vector<RemoteFile> chosen_;
};

}  // namespace

PullResult pull(const PullRequest& request, const PullLimits& limits) {
  std::optional<CancelScope> cancel;
  if (request.cancel) cancel.emplace(*request.cancel);
  return Pull(request, limits).run();
}

}  // namespace hub

PullResult pull(const PullRequest& request) { return hub::pull(request, {}); }

}  // namespace hearth
