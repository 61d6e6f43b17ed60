// A headless Chromium that a test drives over the DevTools protocol, through a pipe.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "server/fields.h"
#include "support/files.h"

namespace hearth::server::test {

class Browser {
 public:
  // The command, or empty where Chromium is not installed.
  static std::string command();

  // A new profile, one page of this size in CSS pixels.
  Browser(int width, int height);
  ~Browser();
  Browser(const Browser&) = delete;
  Browser& operator=(const Browser&) = delete;

  // Loads the address, or the page again, and waits for its end.
  void open(const std::string& url);
  void reload();
  void resize(int width, int height, bool mobile = false);
  void prefer(const std::string& feature, const std::string& value);  // "prefers-color-scheme", "dark"

  // The value of a JavaScript expression, awaited if it is a promise. A failed test, and null, if it throws.
  Json evaluate(const std::string& expression);
  // Waits until the expression is true; a failed test after `patience`.
  bool wait_until(const std::string& expression, std::chrono::milliseconds patience = std::chrono::seconds(60));

  void click(const std::string& selector);  // in the middle of the first visible element that matches
  // The same for an element with this text, exactly: click_text(".message button", "Edit").
  void click_text(const std::string& selector, const std::string& text);
  void drag(const std::string& selector, double from_x, double from_y, double to_x, double to_y);  // shares of its box
  void type(const std::string& text);                                                              // into what has the focus
  void fill(const std::string& selector, const std::string& text);                                 // instead of what it contains
  void press(const std::string& key, int modifiers = 0);                                           // "Enter"; 2: Ctrl, 8: Shift

  std::string screenshot();  // PNG
  // Errors and warnings of the console, exceptions, violations of the content security policy, failed loads, so far.
  const std::vector<std::string>& complaints();

 private:
  Json call(const std::string& method, Json params = Json::object());
  void receive(std::chrono::steady_clock::time_point until);  // one message
  void click_at(const std::string& finder);

  hearth::test::TemporaryFolder profile_;
  pid_t pid_ = -1;
  int to_ = -1, from_ = -1;
  std::string in_, session_;
  int64_t last_ = 0;
  std::map<int64_t, Json> answers_;
  int64_t loads_ = 0;  // load events so far
  std::vector<std::string> complaints_;
};

}  // namespace hearth::server::test
