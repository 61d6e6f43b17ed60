// What tests of the page in a browser share.
#pragma once

#include <fstream>

#include "server/live_server_test.h"
#include "server/page/browser_test.h"

#define NEEDS_CHROMIUM() \
  if (Browser::command().empty()) GTEST_SKIP() << "Chromium is not installed: tools/install_packages.sh test"

namespace hearth::server::test {

constexpr int ctrl = 2, shift = 8;

inline const std::string idle =
    "document.documentElement.dataset.ready === '' && !document.querySelector('[aria-busy=true]') && "
    "document.querySelector('#send').textContent === 'Send'";
// Parts of the last message.
inline const std::string last = "[...document.querySelectorAll('.message')].at(-1)";
inline const std::string last_text = last + ".querySelector('.text').innerText";

// Whether something is wider than the window.
inline const std::string overflow =
    "document.documentElement.scrollWidth > innerWidth || [...document.querySelectorAll('main:not([hidden]), main:not([hidden]) > "
    "*:not(#list):not([hidden]), header > *')].some((e) => e.getClientRects().length && e.getBoundingClientRect().right > innerWidth + "
    "0.5)";

inline void open_page(Browser& browser, const LiveServer& server = live_server()) {
  browser.open(server.url() + "/");
  browser.wait_until("document.documentElement.dataset.ready === ''");
}

// Types it and waits for the whole answer.
inline void say(Browser& browser, const std::string& text) {
  const Json before = browser.evaluate("document.querySelectorAll('.message').length");
  browser.click("#message");
  browser.type(text);
  browser.press("Enter");
  browser.wait_until("document.querySelectorAll('.message').length === " + std::to_string(before.get<int>() + 2) + " && " + idle);
}

inline const std::string drawn = "document.querySelector('#job').hidden && document.querySelector('#draw-button').textContent === 'Draw'";

inline void open_images(Browser& browser, const LiveServer& server = live_server()) {
  open_page(browser, server);
  browser.click("#tab-images");
  browser.wait_until("document.querySelector('#draw-button')");
}

inline void draw(Browser& browser, int pictures) {
  browser.click("#draw-button");
  browser.wait_until(drawn + " && document.querySelectorAll('.thumb').length === " + std::to_string(pictures));
}

// Width, height and a hash of what an expression of an image or a Blob shows.
inline Json pixels(Browser& browser, const std::string& image) {
  return browser.evaluate(
      "(async () => { const b = await createImageBitmap(" + image +
      "), x = new OffscreenCanvas(b.width, b.height).getContext('2d'); x.drawImage(b, 0, 0); return [b.width, b.height, "
      "x.getImageData(0, 0, b.width, b.height).data.reduce((h, v) => (h * 31 + v) % 1000000007, 7)]; })()");
}
// The expression of a Blob for a file in base64.
inline std::string blob_of(const std::string& base64) {
  return "new Blob([Uint8Array.from(atob('" + base64 + "'), (c) => c.charCodeAt(0))], {type: 'image/png'})";
}

// Waits until a metric has the value.
inline void wait_for_metric(const LiveServer& server, const std::string& name, double value) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (server.metric(name) != value && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(server.metric(name), value) << name;
}

// The picture of a document is made again with HEARTH_SCREENSHOTS=FOLDER.
inline void keep_screenshot(Browser& browser, const std::string& name) {
  const std::string png = browser.screenshot();
  EXPECT_TRUE(png.starts_with("\x89PNG"));
  if (const char* folder = std::getenv("HEARTH_SCREENSHOTS")) std::ofstream(std::filesystem::path(folder) / name, std::ios::binary) << png;
}

}  // namespace hearth::server::test
