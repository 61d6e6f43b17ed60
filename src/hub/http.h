// HTTP for pulls, on libcurl: redirects, a token that only the hub receives, retries, Ctrl-C.
#pragma once

#include <curl/curl.h>

#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::hub {

struct HttpOptions {
  std::string token;                             // empty: none
  int retries = 5;                               // of a request that failed for a transient reason
  double retry_seconds = 1;                      // before the first retry; doubles with each retry
  double longest_wait = 120;                     // seconds; a longer Retry-After is an error
  long idle_seconds = 60;                        // without a byte, after which a connection is considered broken
  std::function<void(const std::string&)> warn;  // receives a line for each wait
};

// One request, with the responses of all its redirects.
class Transfer {
 public:
  // May throw, which ends the transfer; rethrow() then rethrows it.
  using OnBody = std::function<void(std::string_view)>;

  // `on_body` receives the body of a successful response; that of an error is kept for its message.
  Transfer(const HttpOptions& options, const std::string& url, OnBody on_body);
  ~Transfer();
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  void set_range(int64_t begin, int64_t end);  // in bytes, `end` excluded
  void set_head();                             // request the headers only

  CURL* handle() const { return handle_; }
  int status() const;                                     // of the last response; 0: none
  std::string header(const std::string& name) const;      // of the last response; `name` in lower case
  std::string hub_header(const std::string& name) const;  // of the first response that has it: the hub's, not its CDN's
  std::string etag() const;                               // without quotes: X-Linked-ETag, or the last response's ETag
  double retry_after() const;                             // in seconds; 0: not in the response
  void rethrow() const;                                   // rethrows what on_body threw, if anything

  // Whether a retry may succeed, and why this attempt failed: "host answered 503".
  bool may_retry(CURLcode code) const;
  std::string problem(CURLcode code) const;
  // Throws an IoError whose message starts with `what`. `repo_url`: the page where the terms of a gated model are accepted.
  [[noreturn]] void refuse(CURLcode code, const std::string& what, const std::string& repo_url) const;

 private:
  static size_t on_header(char* data, size_t size, size_t count, void* self);
  static size_t on_data(char* data, size_t size, size_t count, void* self);
  std::string host() const;

  CURL* handle_;
  OnBody on_body_;
  bool has_token_;
  std::string url_, error_body_;
  std::vector<std::map<std::string, std::string>> answers_;
  std::exception_ptr thrown_;
  char error_text_[CURL_ERROR_SIZE] = "";
};

// A pool of connections, kept open between requests.
class Http {
 public:
  explicit Http(HttpOptions options);
  ~Http();
  Http(const Http&) = delete;
  Http& operator=(const Http&) = delete;

  const HttpOptions& options() const { return options_; }
  CURLM* multi() const { return multi_; }

  // The body, at most 64 MB. IoError as from Transfer::refuse.
  std::string get(const std::string& url, const std::string& what, const std::string& repo_url);
  // A file's size and ETag, from its headers.
  struct Head {
    int64_t size = -1;
    std::string etag;
  };
  Head head(const std::string& url, const std::string& what, const std::string& repo_url);

  // Seconds to wait after `failures` failed attempts; IoError if the hub's Retry-After exceeds the longest wait.
  double wait_after(const Transfer& transfer, int failures, const std::string& what) const;

 private:
  std::unique_ptr<Transfer> perform(const std::function<std::unique_ptr<Transfer>()>& make, const std::string& what,
                                    const std::string& repo_url);
  CURLcode run(Transfer& transfer);

  HttpOptions options_;
  CURLM* multi_;
};

// "a b/c" → "a%20b/c".
std::string encode_path(std::string_view path);
// The same with '/' encoded.
std::string encode_segment(std::string_view text);

}  // namespace hearth::hub
