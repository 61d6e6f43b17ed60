// A model hub with one repository, org/NAME, on a local server; a second server is its CDN.
#pragma once

#include <filesystem>

#include "support/http_server.h"

namespace hearth::test {

// A setting that may change while requests are being served.
template <class T> class Guarded {
 public:
  Guarded(T value) : value_(std::move(value)) {}
  Guarded& operator=(T value) {
    const std::lock_guard lock(mutex_);
    value_ = std::move(value);
    return *this;
  }
  T get() const {
    const std::lock_guard lock(mutex_);
    return value_;
  }
  operator T() const { return get(); }

 private:
  T value_;
  mutable std::mutex mutex_;
};

class FakeHub {
 public:
  using Change = std::function<void(const HttpRequest&, const std::string& path, HttpResponse&)>;
  using ChangeListing = std::function<bool(HttpResponse&)>;

  explicit FakeHub(std::string repo = "org/demo-model");

  void add(const std::string& path, std::string content);
  void add_folder(const std::filesystem::path& folder);  // its files, unchanged
  std::string url() const { return hub_.url(); }
  HttpServer& hub() { return hub_; }
  HttpServer& cdn() { return cdn_; }
  int requests_for(const std::string& path) const;  // requests for a file's contents

  // `change` may alter any response about a file; `change_listing` replaces the listing if it returns true. Both are called from
  // several threads while the hub exists.
  Guarded<std::string> commit = std::string(40, 'a'), token = std::string();  // token: required from requests unless empty
  // supports Range; lists sizes and checksums; files are stored with LFS, else as git blobs
  Guarded<bool> ranges = true, blobs = true, large = true;
  Guarded<bool> on_cdn = true;  // files are served by the second server
  Guarded<Change> change = Change();
  Guarded<ChangeListing> change_listing = ChangeListing();

 private:
  HttpResponse respond(const HttpRequest& request);
  HttpResponse send_file(const HttpRequest& request, const std::string& path) const;
  HttpResponse list() const;

  std::string repo_;
  Guarded<std::map<std::string, std::string>> files_ = std::map<std::string, std::string>();
  HttpServer hub_, cdn_;
};

}  // namespace hearth::test
