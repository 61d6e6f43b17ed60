// Runs the built command `hearth` and reads its output, exit status and files.
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace hearth::test {

struct Ended {
  int code = -1;   // exit code; −1 if a signal ended it
  int signal = 0;  // that signal
  std::string out, err;
  double seconds = 0;
  int64_t peak_bytes = 0;  // its largest resident size
};

// A running process; its output goes to files in its own folder.
class Process {
 public:
  // In `folder`; `prepare` runs in the new process before the command does.
  Process(const std::filesystem::path& folder, const std::vector<std::string>& arguments, const std::function<void()>& prepare = {});
  ~Process();  // kills it if it still runs
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  std::string out() const;
  std::string err() const;
  void send(int signal) const;
  // Waits until stderr contains the text; false after a minute or when the process ended without it.
  bool wait_for(const std::string& text);
  Ended wait();  // for its end

 private:
  bool ended(bool block);
  std::filesystem::path folder_;
  pid_t pid_ = -1;
  int status_ = 0;
  struct rusage usage_ {};
  bool reaped_ = false;
  double begin_ = 0;
};

// Runs the command in a folder that is deleted after the test.
class CommandTest : public ::testing::Test {
 protected:
  CommandTest();
  ~CommandTest() override;

  Ended run(const std::vector<std::string>& arguments, const std::function<void()>& prepare = {}) const;
  std::map<std::string, std::string> help_of_flags(const std::string& command) const;  // of --help-all: "--width" → its help
  std::set<std::string> flags_in_help(const std::string& command) const;               // the names alone
  std::vector<std::string> files() const;                                              // names in the folder, sorted

  std::filesystem::path folder;
};

// "" if the run failed with that exit code, nothing on stdout and one line "hearth: …" on stderr; else what is wrong.
std::string not_one_line(const Ended& run, int code);

}  // namespace hearth::test
