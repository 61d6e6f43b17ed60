#include "server/page/browser_test.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "server/api/base64.h"

namespace hearth::server::test {
namespace {

using std::chrono::steady_clock;
constexpr auto patience_of_call = std::chrono::seconds(300);  // an expression may send a hundred requests, on a busy machine

std::string quoted(const std::string& text) { return Json(text).dump(); }

// The first element that matches and is visible.
std::string visible(const std::string& selector) {
  return fmt::format("[...document.querySelectorAll({})].find((e) => e.getClientRects().length)", quoted(selector));
}

}  // namespace

std::string Browser::command() {
  for (const char* name : {"chromium", "chromium-browser", "google-chrome"})
    for (const char* folder : {"/usr/bin", "/usr/local/bin", "/snap/bin"}) {
      const std::string path = fmt::format("{}/{}", folder, name);
      if (::access(path.c_str(), X_OK) == 0) return path;
    }
  return "";
}

Browser::Browser(int width, int height) {
  int down[2], up[2];
  if (::pipe2(down, O_CLOEXEC) != 0 || ::pipe2(up, O_CLOEXEC) != 0) throw std::runtime_error("browser: no pipes");
  const std::string home = profile_.path().string();
  std::vector<std::string> arguments = {command(),
                                        "--headless=new",
                                        "--no-sandbox",
                                        "--remote-debugging-pipe",
                                        "--user-data-dir=" + home + "/data",
                                        "--no-first-run",
                                        "--no-default-browser-check",
                                        "--disable-gpu",
                                        "--disable-dev-shm-usage",
                                        "--disable-extensions",
                                        "--disable-background-networking",
                                        "--disable-component-update",
                                        "--disable-sync",
                                        "--no-proxy-server",
                                        "--hide-scrollbars",
                                        "--force-color-profile=srgb",
                                        fmt::format("--window-size={},{}", width, height),
                                        "--no-startup-window"};
  std::vector<std::string> environment = {"HOME=" + home, "XDG_CONFIG_HOME=" + home,          "XDG_CACHE_HOME=" + home, "TMPDIR=" + home,
                                          "LANG=C.UTF-8", "PATH=/usr/local/bin:/usr/bin:/bin"};
  std::vector<char*> argv, envp;
  for (std::string& a : arguments) argv.push_back(a.data());
  for (std::string& e : environment) envp.push_back(e.data());
  argv.push_back(nullptr);
  envp.push_back(nullptr);
  const std::string errors = home + "/stderr";
  pid_ = ::fork();
  if (pid_ == 0) {  // between fork and exec only what is safe with other threads around
    ::setpgid(0, 0);
    const int log = ::open(errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ::dup2(log, 1);
    ::dup2(log, 2);
    // The ends may themselves be 3 or 4.
    const int in = ::fcntl(down[0], F_DUPFD, 10), out = ::fcntl(up[1], F_DUPFD, 10);
    ::dup2(in, 3);
    ::dup2(out, 4);
    ::close(in);
    ::close(out);
    ::execve(argv[0], argv.data(), envp.data());
    ::_exit(127);
  }
  ::setpgid(pid_, pid_);
  ::close(down[0]);
  ::close(up[1]);
  to_ = down[1], from_ = up[0];

  const Json target = call("Target.createTarget", {{"url", "about:blank"}})["targetId"];
  session_ = call("Target.attachToTarget", {{"targetId", target}, {"flatten", true}})["sessionId"];
  for (const char* domain : {"Page", "Runtime", "Log", "Network"}) call(fmt::format("{}.enable", domain));
  call("Browser.grantPermissions", {{"permissions", {"clipboardReadWrite", "clipboardSanitizedWrite"}}});
  resize(width, height);
}

Browser::~Browser() {
  ::close(to_);
  ::close(from_);
  ::kill(-pid_, SIGKILL);
  int status = 0;
  ::waitpid(pid_, &status, 0);
}

void Browser::receive(steady_clock::time_point until) {
  size_t end;
  while ((end = in_.find('\0')) == in_.npos) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - steady_clock::now()).count();
    pollfd ready{.fd = from_, .events = POLLIN, .revents = 0};
    if (left <= 0 || ::poll(&ready, 1, int(left)) <= 0) return;
    char bytes[1 << 16];
    const ssize_t count = ::read(from_, bytes, sizeof bytes);
    if (count <= 0) throw std::runtime_error("browser: Chromium has ended");
    in_.append(bytes, size_t(count));
  }
  const Json message = Json::parse(in_.substr(0, end));
  in_.erase(0, end + 1);
  if (message.contains("id")) {
    answers_[message["id"].get<int64_t>()] = message;
    return;
  }
  const std::string method = message["method"];
  const Json params = message.value("params", Json::object());
  if (method == "Page.loadEventFired") ++loads_;
  else if (method == "Runtime.exceptionThrown") complaints_.push_back(params["exceptionDetails"].dump());
  else if (method == "Runtime.consoleAPICalled" && (params["type"] == "error" || params["type"] == "warning"))
    complaints_.push_back(params["args"].dump());
  else if (method == "Log.entryAdded" && (params["entry"]["level"] == "error" || params["entry"]["level"] == "warning"))
    complaints_.push_back(params["entry"].dump());
}

Json Browser::call(const std::string& method, Json params) {
  Json message{{"id", ++last_}, {"method", method}, {"params", std::move(params)}};
  if (!session_.empty() && !method.starts_with("Target.") && !method.starts_with("Browser.")) message["sessionId"] = session_;
  const std::string text = message.dump() + '\0';
  for (size_t sent = 0; sent < text.size();) {
    const ssize_t count = ::write(to_, text.data() + sent, text.size() - sent);
    if (count <= 0) throw std::runtime_error("browser: Chromium has ended");
    sent += size_t(count);
  }
  const auto until = steady_clock::now() + patience_of_call;
  while (!answers_.contains(last_)) {
    if (steady_clock::now() > until) throw std::runtime_error("browser: no answer to " + method);
    receive(until);
  }
  const Json answer = answers_.extract(last_).mapped();
  if (answer.contains("error")) throw std::runtime_error(fmt::format("browser: {}: {}", method, answer["error"].dump()));
  return answer["result"];
}

void Browser::open(const std::string& url) {
  const int64_t before = loads_;
  call("Page.navigate", {{"url", url}});
  const auto until = steady_clock::now() + patience_of_call;
  while (loads_ == before && steady_clock::now() < until) receive(until);
}

void Browser::reload() {
  const int64_t before = loads_;
  call("Page.reload");
  const auto until = steady_clock::now() + patience_of_call;
  while (loads_ == before && steady_clock::now() < until) receive(until);
}

void Browser::resize(int width, int height, bool mobile) {
  call("Emulation.setDeviceMetricsOverride", {{"width", width}, {"height", height}, {"deviceScaleFactor", 1}, {"mobile", mobile}});
}

void Browser::prefer(const std::string& feature, const std::string& value) {
  call("Emulation.setEmulatedMedia", {{"features", {{{"name", feature}, {"value", value}}}}});
}

Json Browser::evaluate(const std::string& expression) {
  const Json answer =
      call("Runtime.evaluate", {{"expression", expression}, {"awaitPromise", true}, {"returnByValue", true}, {"userGesture", true}});
  if (answer.contains("exceptionDetails")) {
    ADD_FAILURE() << expression << ": " << answer["exceptionDetails"].dump();
    return {};
  }
  return answer["result"].value("value", Json());
}

bool Browser::wait_until(const std::string& expression, std::chrono::milliseconds patience) {
  const auto until = steady_clock::now() + patience;
  while (evaluate(fmt::format("Boolean({})", expression)) != true) {
    if (steady_clock::now() > until) {
      ADD_FAILURE() << "never: " << expression << "\nthe page: " << evaluate("document.body.innerText");
      return false;
    }
    receive(steady_clock::now() + std::chrono::milliseconds(20));
  }
  return true;
}

void Browser::click_at(const std::string& finder) {
  if (!wait_until(finder)) return;
  const Json at =
      evaluate(fmt::format("(() => {{ const e = {}; e.scrollIntoView({{block: 'center'}}); const b = e.getBoundingClientRect(); "
                           "return [b.x + b.width / 2, b.y + b.height / 2]; }})()",
                           finder));
  for (const char* type : {"mouseMoved", "mousePressed", "mouseReleased"})
    call("Input.dispatchMouseEvent", {{"type", type}, {"x", at[0]}, {"y", at[1]}, {"button", "left"}, {"clickCount", 1}});
}

void Browser::click(const std::string& selector) { click_at(visible(selector)); }

void Browser::click_text(const std::string& selector, const std::string& text) {
  click_at(fmt::format("[...document.querySelectorAll({})].find((e) => e.getClientRects().length && e.textContent === {})",
                       quoted(selector), quoted(text)));
}

void Browser::drag(const std::string& selector, double from_x, double from_y, double to_x, double to_y) {
  const Json box = evaluate(
      fmt::format("(() => {{ const b = {}.getBoundingClientRect(); return [b.x, b.y, b.width, b.height]; }})()", visible(selector)));
  const auto point = [&](const char* type, double x, double y) {
    call("Input.dispatchMouseEvent", {{"type", type},
                                      {"x", box[0].get<double>() + x * box[2].get<double>()},
                                      {"y", box[1].get<double>() + y * box[3].get<double>()},
                                      {"button", "left"},
                                      {"buttons", 1},
                                      {"clickCount", 1}});
  };
  point("mousePressed", from_x, from_y);
  for (int i = 1; i <= 8; ++i) point("mouseMoved", from_x + (to_x - from_x) * i / 8, from_y + (to_y - from_y) * i / 8);
  point("mouseReleased", to_x, to_y);
}

void Browser::type(const std::string& text) { call("Input.insertText", {{"text", text}}); }

void Browser::fill(const std::string& selector, const std::string& text) {
  if (!wait_until(visible(selector))) return;
  evaluate(fmt::format("(() => {{ const e = {}; e.focus(); e.select(); }})()", visible(selector)));
  if (text.empty()) press("Delete");
  else type(text);
}

void Browser::press(const std::string& key, int modifiers) {
  Json event{{"key", key}, {"code", key.size() == 1 ? "Key" + std::string(1, char(std::toupper(key[0]))) : key}, {"modifiers", modifiers}};
  if (key == "Enter") event["windowsVirtualKeyCode"] = 13, event["text"] = "\r";
  if (key == "Escape") event["windowsVirtualKeyCode"] = 27;
  if (key == "Delete") event["windowsVirtualKeyCode"] = 46;
  if (key.size() == 1) event["windowsVirtualKeyCode"] = std::toupper(key[0]);
  event["type"] = event.contains("text") ? "keyDown" : "rawKeyDown";
  call("Input.dispatchKeyEvent", event);
  event["type"] = "keyUp";
  event.erase("text");
  call("Input.dispatchKeyEvent", event);
}

std::string Browser::screenshot() {
  const std::string text = call("Page.captureScreenshot", {{"format", "png"}})["data"];
  return *from_base64(text);
}

const std::vector<std::string>& Browser::complaints() {
  evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 50)))");  // what is already under way
  return complaints_;
}

}  // namespace hearth::server::test
