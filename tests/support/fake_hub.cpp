#include "support/fake_hub.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <nlohmann/json.hpp>

#include "core/files/file.h"
#include "core/files/sha256.h"

namespace hearth::test {
namespace {

std::string sha256(const std::string& bytes) {
  Sha256 hash;
  hash.add(bytes);
  return hash.hex();
}

std::string git_blob(const std::string& bytes) {
  const std::string text = fmt::format("blob {}", bytes.size()) + '\0' + bytes;
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  EVP_Digest(text.data(), text.size(), digest, &size, EVP_sha1(), nullptr);
  std::string digits;
  for (unsigned int i = 0; i < size; ++i) digits += fmt::format("{:02x}", digest[i]);
  return digits;
}

}  // namespace

FakeHub::FakeHub(std::string repo)
    : repo_(std::move(repo)), hub_([this](const HttpRequest& r) { return respond(r); }), cdn_([this](const HttpRequest& r) {
        const std::string path = r.path.substr(std::string("/cdn/").size());
        HttpResponse response = send_file(r, path);
        if (const Change f = change) f(r, path, response);
        return response;
      }) {}

void FakeHub::add(const std::string& path, std::string content) {
  std::map<std::string, std::string> files = files_;
  files[path] = std::move(content);
  files_ = std::move(files);
}

void FakeHub::add_folder(const std::filesystem::path& folder) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) add(entry.path().lexically_relative(folder).generic_string(), read_file(entry.path()));
}

int FakeHub::requests_for(const std::string& path) const {
  const std::string target = on_cdn.get() ? fmt::format("/cdn/{}", path) : fmt::format("/{}/resolve/{}/{}", repo_, commit.get(), path);
  int count = 0;
  for (const HttpServer* server : {&hub_, &cdn_})
    for (const HttpRequest& r : server->requests())
      if (r.method == "GET" && r.path == target) ++count;
  return count;
}

HttpResponse FakeHub::respond(const HttpRequest& request) {
  if (const std::string t = token; !t.empty() && request.header("authorization") != "Bearer " + t)
    return {.status = 401, .headers = {{"X-Error-Message", "Repository not found"}}, .body = {}};
  const std::string listing = fmt::format("/api/models/{}/revision/", repo_), resolve = fmt::format("/{}/resolve/{}/", repo_, commit.get());
  HttpResponse changed;
  if (request.path.starts_with(listing)) {
    const ChangeListing f = change_listing;
    return f && f(changed) ? changed : list();
  }
  if (!request.path.starts_with(resolve)) return {.status = 404, .headers = {}, .body = {}};
  const std::string path = request.path.substr(resolve.size());
  if (!on_cdn.get()) {
    HttpResponse response = send_file(request, path);
    if (const Change f = change) f(request, path, response);
    return response;
  }
  const std::map<std::string, std::string> files = files_;
  const auto file = files.find(path);
  if (file == files.end()) return {.status = 404, .headers = {}, .body = {}};
  return {.status = 302,
          .headers = {{"Location", cdn_.url() + "/cdn/" + path},
                      {"X-Repo-Commit", commit.get()},
                      {"X-Linked-Size", std::to_string(file->second.size())},
                      {"X-Linked-ETag", fmt::format("\"{}\"", sha256(file->second))}},
          .body = {}};
}

HttpResponse FakeHub::send_file(const HttpRequest& request, const std::string& path) const {
  const std::map<std::string, std::string> files = files_;
  const auto file = files.find(path);
  if (file == files.end()) return {.status = 404, .headers = {}, .body = {}};
  const std::string& bytes = file->second;
  HttpResponse response{.headers = {{"ETag", fmt::format("\"{}\"", sha256(bytes))}}, .body = bytes};
  unsigned long long begin = 0, end = 0;
  if (ranges.get() && std::sscanf(request.header("range").c_str(), "bytes=%llu-%llu", &begin, &end) == 2) {
    response.status = 206;
    response.body = bytes.substr(begin, end - begin + 1);
    response.headers.emplace_back("Content-Range", fmt::format("bytes {}-{}/{}", begin, end, bytes.size()));
  }
  return response;
}

HttpResponse FakeHub::list() const {
  nlohmann::json siblings = nlohmann::json::array();
  for (const auto& [path, bytes] : files_.get()) {
    nlohmann::json entry = {{"rfilename", path}};
    if (blobs.get()) entry["size"] = bytes.size(), entry["blobId"] = git_blob(bytes);
    if (blobs.get() && large.get()) entry["lfs"] = {{"sha256", sha256(bytes)}, {"size", bytes.size()}, {"pointerSize", 134}};
    siblings.push_back(entry);
  }
  return {.headers = {{"Content-Type", "application/json"}}, .body = nlohmann::json{{"sha", commit.get()}, {"siblings", siblings}}.dump()};
}

}  // namespace hearth::test
