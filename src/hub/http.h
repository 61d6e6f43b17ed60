// HTTP as pulls need it: redirects, a token that goes to the hub alone, retries, Ctrl-C. On libcurl.
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
  int retries = 5;                               // of a request that failed for a reason that may pass
  double retry_seconds = 1;                      // before the first of them; each waits twice as long as the one before
  double longest_wait = 120;                     // seconds; a hub that asks to wait longer is not waited for
  long idle_seconds = 60;                        // without a byte, after which a connection counts as broken
  std::function<void(const std::string&)> warn;  // a line for each wait
};

// One request, with the answers of the redirects on its way.
class Transfer {
 public:
  // May throw, which ends the transfer; rethrow() then throws it on.
  using OnBody = std::function<void(std::string_view)>;

  // The body of a success goes to `on_body`, that of an error is kept for its message.
  Transfer(const HttpOptions& options, const std::string& url, OnBody on_body);
  ~Transfer();
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  void set_range(int64_t begin, int64_t end);  // bytes, the end excluded
  void set_head();                             // headers alone

  CURL* handle() const { return handle_; }
  int status() const;                                     // of the last answer; 0: none came
  std::string header(const std::string& name) const;      // of the last answer; lower case
  std::string hub_header(const std::string& name) const;  // of the first answer that has it: the hub's, not its CDN's
  std::string etag() const;                               // without quotes: X-Linked-ETag, or the last answer's ETag
  double retry_after() const;                             // seconds; 0: the answer did not say
  void rethrow() const;                                   // what on_body threw, or nothing

  // Whether another attempt may succeed, and why this one failed: "host answered 503".
  bool may_retry(CURLcode code) const;
  std::string problem(CURLcode code) const;
  // Ends the operation: one line that begins with `what`. `repo_url` is where the terms of a gated model are accepted.
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

// Connections, which are kept open between requests.
class Http {
 public:
  explicit Http(HttpOptions options);
  ~Http();
  Http(const Http&) = delete;
  Http& operator=(const Http&) = delete;

  const HttpOptions& options() const { return options_; }
  CURLM* multi() const { return multi_; }

  // The body, of at most 64 MB. IoError as Transfer::refuse says it.
  std::string get(const std::string& url, const std::string& what, const std::string& repo_url);
  // The headers of a file: its size and what names its content.
  struct Head {
    int64_t size = -1;
    std::string etag;
  };
  Head head(const std::string& url, const std::string& what, const std::string& repo_url);

  // Seconds before the attempt after `failures` of them; IoError where the hub asks for more than the longest wait.
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
