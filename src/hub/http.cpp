#include "hub/http.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/error.h"
#include "core/observe.h"

namespace hearth::hub {
namespace {

constexpr size_t most_of_an_error = 4096, most_of_a_text = size_t(64) << 20;

void start_curl() {
  static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (started != CURLE_OK) fail<Error>("libcurl: {}", curl_easy_strerror(started));
}

std::string trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return std::string(text);
}

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  return text;
}

bool is_success(long status) { return status >= 200 && status < 300; }

void pause(double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (std::chrono::steady_clock::now() < end) {
    check_canceled();
    std::this_thread::sleep_for(std::chrono::duration<double>(std::min(seconds, 0.05)));
  }
}

std::string encode(std::string_view text, bool keep_slash) {
  std::string encoded;
  for (const unsigned char c : text) {
    const bool plain = std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.' || c == '~' || (keep_slash && c == '/');
    encoded += plain ? std::string(1, char(c)) : fmt::format("%{:02X}", c);
  }
  return encoded;
}

}  // namespace

std::string encode_path(std::string_view path) { return encode(path, true); }
std::string encode_segment(std::string_view text) { return encode(text, false); }

Transfer::Transfer(const HttpOptions& options, const std::string& url, OnBody on_body)
    : handle_(curl_easy_init()), on_body_(std::move(on_body)), has_token_(!options.token.empty()), url_(url) {
  if (!handle_) fail<Error>("libcurl: cannot create a handle");
  curl_easy_setopt(handle_, CURLOPT_URL, url.c_str());
  curl_easy_setopt(handle_, CURLOPT_USERAGENT, "hearth");
  curl_easy_setopt(handle_, CURLOPT_ERRORBUFFER, error_text_);
  curl_easy_setopt(handle_, CURLOPT_NOSIGNAL, 1L);
  // One connection per range: over HTTP/2, several ranges would share one flow-control window.
  curl_easy_setopt(handle_, CURLOPT_HTTP_VERSION, long(CURL_HTTP_VERSION_1_1));
  curl_easy_setopt(handle_, CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(handle_, CURLOPT_MAXREDIRS, 10L);
  // A hub with TLS must not redirect to a server without.
  const char* protocols = url.starts_with("https:") ? "https" : "http,https";
  curl_easy_setopt(handle_, CURLOPT_PROTOCOLS_STR, protocols);
  curl_easy_setopt(handle_, CURLOPT_REDIR_PROTOCOLS_STR, protocols);
  curl_easy_setopt(handle_, CURLOPT_CONNECTTIMEOUT, 30L);
  curl_easy_setopt(handle_, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(handle_, CURLOPT_LOW_SPEED_TIME, options.idle_seconds);
  if (has_token_) {  // curl sends it only to the URL's host and port, not to redirect targets
    curl_easy_setopt(handle_, CURLOPT_HTTPAUTH, CURLAUTH_BEARER);
    curl_easy_setopt(handle_, CURLOPT_XOAUTH2_BEARER, options.token.c_str());
  }
  curl_easy_setopt(handle_, CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(handle_, CURLOPT_HEADERDATA, this);
  curl_easy_setopt(handle_, CURLOPT_WRITEFUNCTION, on_data);
  curl_easy_setopt(handle_, CURLOPT_WRITEDATA, this);
}

Transfer::~Transfer() { curl_easy_cleanup(handle_); }

void Transfer::set_range(int64_t begin, int64_t end) {
  curl_easy_setopt(handle_, CURLOPT_RANGE, fmt::format("{}-{}", begin, end - 1).c_str());
}

void Transfer::set_head() { curl_easy_setopt(handle_, CURLOPT_NOBODY, 1L); }

size_t Transfer::on_header(char* data, size_t size, size_t count, void* self) {
  auto& transfer = *static_cast<Transfer*>(self);
  const std::string_view line(data, size * count);
  if (line.starts_with("HTTP/")) transfer.answers_.emplace_back();
  if (const size_t colon = line.find(':'); colon != line.npos && !transfer.answers_.empty())
    transfer.answers_.back()[lower(trimmed(line.substr(0, colon)))] = trimmed(line.substr(colon + 1));
  return size * count;
}

size_t Transfer::on_data(char* data, size_t size, size_t count, void* self) {
  auto& transfer = *static_cast<Transfer*>(self);
  const std::string_view bytes(data, size * count);
  if (!is_success(transfer.status())) {
    transfer.error_body_.append(bytes.substr(0, most_of_an_error - transfer.error_body_.size()));
    return bytes.size();
  }
  try {
    transfer.on_body_(bytes);
  } catch (...) {
    transfer.thrown_ = std::current_exception();
    return 0;  // ends the transfer
  }
  return bytes.size();
}

int Transfer::status() const {
  long status = 0;
  curl_easy_getinfo(handle_, CURLINFO_RESPONSE_CODE, &status);
  return int(status);
}

std::string Transfer::header(const std::string& name) const {
  if (answers_.empty()) return "";
  const auto found = answers_.back().find(name);
  return found == answers_.back().end() ? "" : found->second;
}

std::string Transfer::hub_header(const std::string& name) const {
  for (const auto& answer : answers_)
    if (const auto found = answer.find(name); found != answer.end()) return found->second;
  return "";
}

std::string Transfer::etag() const {
  std::string tag = hub_header("x-linked-etag");
  if (tag.empty()) tag = header("etag");
  if (tag.starts_with("W/")) tag.erase(0, 2);
  std::erase(tag, '"');
  return tag;
}

double Transfer::retry_after() const {
  curl_off_t seconds = 0;
  curl_easy_getinfo(handle_, CURLINFO_RETRY_AFTER, &seconds);
  return double(seconds);
}

void Transfer::rethrow() const {
  if (thrown_) std::rethrow_exception(thrown_);
}

bool Transfer::may_retry(CURLcode code) const {
  switch (code) {
    case CURLE_OK: {
      const int s = status();
      return s == 408 || s == 429 || s == 500 || s == 502 || s == 503 || s == 504;
    }
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_PARTIAL_FILE:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR: return true;
    default: return false;
  }
}

std::string Transfer::host() const {
  const char* last = nullptr;
  curl_easy_getinfo(handle_, CURLINFO_EFFECTIVE_URL, &last);
  const std::string url = last && *last ? last : url_;
  const size_t begin = url.find("://") == url.npos ? 0 : url.find("://") + 3;
  return url.substr(begin, url.find_first_of("/?#", begin) - begin);
}

std::string Transfer::problem(CURLcode code) const {
  if (code == CURLE_TOO_MANY_REDIRECTS) return fmt::format("{} redirects in a circle (more than 10 times)", host());
  if (code == CURLE_PARTIAL_FILE) return fmt::format("{} closed the connection too early", host());
  if (code != CURLE_OK) return fmt::format("{}: {}", host(), *error_text_ ? error_text_ : curl_easy_strerror(code));
  std::string message = hub_header("x-error-message");
  if (message.empty() && nlohmann::json::accept(error_body_)) {
    const auto json = nlohmann::json::parse(error_body_);
    if (json.is_object() && json.contains("error") && json["error"].is_string()) message = json["error"];
  }
  return fmt::format("{} answered {}{}", host(), status(), message.empty() ? "" : " (" + message + ")");
}

void Transfer::refuse(CURLcode code, const std::string& what, const std::string& repo_url) const {
  const std::string why = problem(code);
  if (code != CURLE_OK) fail<IoError>("{}: {}", what, why);
  switch (status()) {
    case 401:
      if (has_token_) fail<IoError>("{}: {}: the token is not valid for it, or the model does not exist", what, why);
      fail<IoError>("{}: {}: the model does not exist or requires a token; set HF_TOKEN or pass --token-file", what, why);
    case 403:
      fail<IoError>("{}: {}: access is restricted; see {} for how to request it{}", what, why, repo_url,
                    has_token_ ? "" : ", and pass a token (HF_TOKEN or --token-file)");
    case 404:
      if (hub_header("x-error-code") == "RevisionNotFound") fail<IoError>("{}: {}: the revision does not exist", what, why);
      fail<IoError>("{}: {}: not found", what, why);
    case 429: fail<IoError>("{}: {}: too many requests; try again later", what, why);
    default: fail<IoError>("{}: {}", what, why);
  }
}

Http::Http(HttpOptions options) : options_(std::move(options)) {
  start_curl();
  multi_ = curl_multi_init();
  if (!multi_) fail<Error>("libcurl: cannot start");
}

Http::~Http() { curl_multi_cleanup(multi_); }

CURLcode Http::run(Transfer& transfer) {
  curl_multi_add_handle(multi_, transfer.handle());
  struct Removed {
    CURLM* multi;
    CURL* easy;
    ~Removed() { curl_multi_remove_handle(multi, easy); }
  } const removed{multi_, transfer.handle()};
  while (true) {
    check_canceled();
    int running = 0, left = 0;
    curl_multi_perform(multi_, &running);
    while (const CURLMsg* message = curl_multi_info_read(multi_, &left))
      if (message->msg == CURLMSG_DONE && message->easy_handle == transfer.handle()) return message->data.result;
    curl_multi_poll(multi_, nullptr, 0, 100, nullptr);
  }
}

double Http::wait_after(const Transfer& transfer, int failures, const std::string& what) const {
  const double requested = transfer.retry_after();
  if (requested > options_.longest_wait)
    fail<IoError>("{}: {} and requests a wait of {} seconds; try again later", what, transfer.problem(CURLE_OK), requested);
  return std::max(requested, options_.retry_seconds * std::pow(2.0, failures));
}

std::unique_ptr<Transfer> Http::perform(const std::function<std::unique_ptr<Transfer>()>& make, const std::string& what,
                                        const std::string& repo_url) {
  for (int failures = 0;; ++failures) {
    std::unique_ptr<Transfer> transfer = make();
    const CURLcode code = run(*transfer);
    transfer->rethrow();
    if (code == CURLE_OK && is_success(transfer->status())) return transfer;
    if (!transfer->may_retry(code) || failures == options_.retries) transfer->refuse(code, what, repo_url);
    const double wait = wait_after(*transfer, failures, what);
    if (options_.warn) options_.warn(fmt::format("{}: {}; trying again in {:.0f} s", what, transfer->problem(code), std::ceil(wait)));
    pause(wait);
  }
}

std::string Http::get(const std::string& url, const std::string& what, const std::string& repo_url) {
  std::string body;
  perform(
      [&] {
        body.clear();
        return std::make_unique<Transfer>(options_, url, [&](std::string_view bytes) {
          if (body.size() + bytes.size() > most_of_a_text) fail<IoError>("{}: {} sent more than 64 MB, expected less", what, url);
          body += bytes;
        });
      },
      what, repo_url);
  return body;
}

Http::Head Http::head(const std::string& url, const std::string& what, const std::string& repo_url) {
  const auto transfer = perform(
      [&] {
        auto made = std::make_unique<Transfer>(options_, url, [](std::string_view) {});
        made->set_head();
        return made;
      },
      what, repo_url);
  std::string size = transfer->hub_header("x-linked-size");
  if (size.empty()) size = transfer->header("content-length");
  Head head{.size = -1, .etag = transfer->etag()};
  if (!size.empty() && size.size() < 19 && std::ranges::all_of(size, [](unsigned char c) { return std::isdigit(c) != 0; }))
    head.size = std::stoll(size);
  if (head.size < 0) fail<IoError>("{}: the hub does not report its size", what);
  return head;
}

}  // namespace hearth::hub
