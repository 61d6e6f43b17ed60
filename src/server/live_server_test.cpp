#include "server/live_server_test.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>

namespace hearth::server::test {
namespace {

struct Easy {
  Easy() : handle(curl_easy_init()) {}
  ~Easy() {
    curl_easy_cleanup(handle);
    curl_slist_free_all(list);
  }
  CURL* handle;
  curl_slist* list = nullptr;
};

size_t append(char* data, size_t size, size_t count, void* to) {
  static_cast<std::string*>(to)->append(data, size * count);
  return size * count;
}

size_t add_header(char* data, size_t size, size_t count, void* to) {
  const std::string line(data, size * count);
  const size_t colon = line.find(':');
  if (colon == line.npos) return line.size();
  std::string name = line.substr(0, colon), value = line.substr(colon + 1);
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  value.erase(0, value.find_first_not_of(" \t"));
  value.erase(value.find_last_not_of("\r\n ") + 1);
  (*static_cast<std::map<std::string, std::string>*>(to))[name] = value;
  return line.size();
}

struct Limited {
  size_t left;
};
size_t count_down(char*, size_t size, size_t count, void* to) {
  Limited& limited = *static_cast<Limited*>(to);
  if (size * count >= limited.left) return 0;  // curl closes the connection
  limited.left -= size * count;
  return size * count;
}

void prepare(Easy& easy, const std::string& method, const std::string& url, const std::string& body,
             const std::vector<std::string>& headers) {
  curl_easy_setopt(easy.handle, CURLOPT_URL, url.c_str());
  curl_easy_setopt(easy.handle, CURLOPT_CUSTOMREQUEST, method.c_str());
  curl_easy_setopt(easy.handle, CURLOPT_TIMEOUT, 120L);
  curl_easy_setopt(easy.handle, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy.handle, CURLOPT_NOPROXY, "*");
  if (method != "GET") {
    curl_easy_setopt(easy.handle, CURLOPT_POSTFIELDS, body.c_str());
    curl_easy_setopt(easy.handle, CURLOPT_POSTFIELDSIZE, long(body.size()));
  }
  const bool typed = std::ranges::any_of(headers, [](const std::string& h) { return h.starts_with("Content-Type"); });
  if (!typed) easy.list = curl_slist_append(easy.list, "Content-Type: application/json");
  for (const std::string& h : headers) easy.list = curl_slist_append(easy.list, h.c_str());
  curl_easy_setopt(easy.handle, CURLOPT_HTTPHEADER, easy.list);
}

}  // namespace

std::vector<Json> Response::events() const {
  std::vector<Json> all;
  bool ended = false;
  for (size_t begin = 0; begin < body.size();) {
    const size_t end = std::min(body.find("\n\n", begin), body.size());
    const std::string event = body.substr(begin, end - begin);
    begin = end + 2;
    const size_t data = event.starts_with("data: ") ? 6 : event.find("\ndata: ") == event.npos ? event.npos : event.find("\ndata: ") + 7;
    if (data == event.npos) continue;
    ended = event.substr(data) == "[DONE]";
    if (!ended) all.push_back(Json::parse(event.substr(data)));
  }
  EXPECT_TRUE(ended) << body;
  return all;
}

LiveServer::LiveServer(ServeOptions options) {
  std::promise<std::string> address;
  auto ready = address.get_future();
  options.http.port = 0;
  options.listening = [&](const std::string& a) { address.set_value(a); };
  if (!options.log) options.log = [](const std::string&) {};
  thread_ = std::thread([this, options, &address] {
    try {
      serve(options, stop_);
    } catch (...) {
      try {
        address.set_exception(std::current_exception());
      } catch (const std::future_error&) { std::terminate(); }
    }
  });
  try {
    url_ = ready.get();
  } catch (...) {
    thread_.join();
    throw;
  }
}

LiveServer::~LiveServer() { stop(); }

void LiveServer::stop() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
}

Response LiveServer::call(const std::string& method, const std::string& path, const std::string& body,
                          const std::vector<std::string>& headers) const {
  Easy easy;
  Response response;
  prepare(easy, method, url_ + path, body, headers);
  curl_easy_setopt(easy.handle, CURLOPT_WRITEFUNCTION, append);
  curl_easy_setopt(easy.handle, CURLOPT_WRITEDATA, &response.body);
  curl_easy_setopt(easy.handle, CURLOPT_HEADERFUNCTION, add_header);
  curl_easy_setopt(easy.handle, CURLOPT_HEADERDATA, &response.headers);
  const CURLcode code = curl_easy_perform(easy.handle);
  EXPECT_EQ(code, CURLE_OK) << curl_easy_strerror(code);
  long status = 0;
  curl_easy_getinfo(easy.handle, CURLINFO_RESPONSE_CODE, &status);
  response.status = status;
  response.content_type = response.headers["content-type"];
  return response;
}

void LiveServer::leave_after(const std::string& path, const Json& body, size_t bytes) const {
  Easy easy;
  const std::string text = body.dump();
  prepare(easy, "POST", url_ + path, text, {});
  Limited limited{bytes};
  curl_easy_setopt(easy.handle, CURLOPT_WRITEFUNCTION, count_down);
  curl_easy_setopt(easy.handle, CURLOPT_WRITEDATA, &limited);
  EXPECT_NE(curl_easy_perform(easy.handle), CURLE_OK);
}

double LiveServer::metric(const std::string& name) const {
  const std::string text = get("/metrics").body;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin);
    const std::string line = text.substr(begin, end - begin);
    if (line.starts_with(name)) return std::stod(line.substr(line.rfind(' ')));
    begin = end + 1;
  }
  return -1;
}

bool LiveServer::becomes(const std::string& name, double value, std::chrono::milliseconds patience) const {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (metric(name) != value) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

Visitor::Visitor(const LiveServer& server, const std::string& path, const Json& body) : handle_(curl_easy_init()) {
  const std::string text = body.dump(), host = server.url().substr(server.url().find("//") + 2);
  std::string request = fmt::format("POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{}", path,
                                    host, text.size(), text);
  curl_easy_setopt(handle_, CURLOPT_URL, server.url().c_str());
  curl_easy_setopt(handle_, CURLOPT_CONNECT_ONLY, 1L);
  curl_easy_setopt(handle_, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle_, CURLOPT_NOPROXY, "*");
  EXPECT_EQ(curl_easy_perform(handle_), CURLE_OK);
  while (!request.empty()) {
    size_t sent = 0;
    const CURLcode code = curl_easy_send(handle_, request.data(), request.size(), &sent);
    if (code == CURLE_AGAIN) continue;
    EXPECT_EQ(code, CURLE_OK) << curl_easy_strerror(code);
    if (code != CURLE_OK) return;
    request.erase(0, sent);
  }
}

bool Visitor::sees(const std::string& text) {
  curl_socket_t socket = CURL_SOCKET_BAD;
  curl_easy_getinfo(handle_, CURLINFO_ACTIVESOCKET, &socket);
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (in_.find(text) == in_.npos) {
    pollfd events{socket, POLLIN, 0};
    if (std::chrono::steady_clock::now() > end || ::poll(&events, 1, 1000) < 0) return false;
    char buffer[16384];
    size_t received = 0;
    const CURLcode code = curl_easy_recv(handle_, buffer, sizeof buffer, &received);
    if (code == CURLE_AGAIN) continue;
    if (code != CURLE_OK || received == 0) return false;
    in_.append(buffer, received);
  }
  return true;
}

void Visitor::leave() {
  if (handle_) curl_easy_cleanup(std::exchange(handle_, nullptr));
}

const LiveServer& live_server() {
  static const LiveServer server;
  return server;
}

}  // namespace hearth::server::test
