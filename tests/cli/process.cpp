#include "cli/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <fstream>
#include <sstream>
#include <thread>

namespace hearth::test {
namespace {

namespace fs = std::filesystem;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

fs::path fresh_folder() {
  std::string name = (fs::temp_directory_path() / "hearth-command-XXXXXX").string();
  return ::mkdtemp(name.data());
}

std::string content(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

}  // namespace

Process::Process(const fs::path& folder, const std::vector<std::string>& arguments, const std::function<void()>& prepare)
    : folder_(fresh_folder()), begin_(now()) {
  std::vector<std::string> words = {HEARTH_COMMAND};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const std::string out = folder_ / "out", err = folder_ / "err";
  pid_ = ::fork();
  if (pid_ != 0) return;
  const auto redirect = [](const std::string& file, int to) { ::dup2(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666), to); };
  redirect(out, STDOUT_FILENO);
  redirect(err, STDERR_FILENO);
  ::dup2(::open("/dev/null", O_RDONLY), STDIN_FILENO);
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, SIG_DFL);  // a shell's `&` makes background processes ignore them
  if (::chdir(folder.c_str()) != 0) ::_exit(99);
  if (prepare) prepare();
  ::execv(HEARTH_COMMAND, argv.data());
  ::_exit(98);
}

Process::~Process() {
  if (!ended(false)) {
    ::kill(pid_, SIGKILL);
    ended(true);
  }
  fs::remove_all(folder_);
}

bool Process::ended(bool block) {
  if (!reaped_) reaped_ = ::wait4(pid_, &status_, block ? 0 : WNOHANG, &usage_) == pid_;
  return reaped_;
}

std::string Process::out() const { return content(folder_ / "out"); }
std::string Process::err() const { return content(folder_ / "err"); }
void Process::send(int signal) const { ::kill(pid_, signal); }

bool Process::wait_for(const std::string& text) {
  for (const double start = now(); now() - start < 60;) {
    if (err().find(text) != std::string::npos) return true;
    if (ended(false)) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

Ended Process::wait() {
  ended(true);
  return {.code = WIFEXITED(status_) ? WEXITSTATUS(status_) : -1,
          .signal = WIFSIGNALED(status_) ? WTERMSIG(status_) : 0,
          .out = out(),
          .err = err(),
          .seconds = now() - begin_,
          .peak_bytes = usage_.ru_maxrss * 1024};
}

CommandTest::CommandTest() : folder(fresh_folder()) {}
CommandTest::~CommandTest() { fs::remove_all(folder); }

Ended CommandTest::run(const std::vector<std::string>& arguments, const std::function<void()>& prepare) const {
  return Process(folder, arguments, prepare).wait();
}

std::vector<std::string> CommandTest::files() const {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::string not_one_line(const Ended& run, int code) {
  const bool one_line =
      run.err.rfind("hearth: ", 0) == 0 && std::count(run.err.begin(), run.err.end(), '\n') == 1 && run.err.back() == '\n';
  if (run.code == code && run.out.empty() && one_line) return "";
  return fmt::format("exit code {} (signal {}), expected {}; stdout: {}; stderr: {}", run.code, run.signal, code, run.out, run.err);
}

std::map<std::string, std::string> CommandTest::help_of_flags(const std::string& command) const {
  std::map<std::string, std::string> flags;
  std::istringstream help(run({command, "--help-all"}).out);
  std::string current;
  for (std::string line; std::getline(help, line) && line != "Examples:";) {
    const size_t begin = std::min(line.find_first_not_of(' '), line.size());
    const bool names = (begin == 2 || begin == 6) && line[begin] == '-';
    if (names) {
      const size_t name = line.find("--"), end = std::min(line.find(' ', name), line.size());
      current = line.substr(name, end - name);
      flags[current] = line.substr(end);
    } else if (begin <= 6) {
      current.clear();
    } else if (!current.empty()) {
      flags[current].append(1, ' ').append(line.substr(begin));
    }
  }
  return flags;
}

std::set<std::string> CommandTest::flags_in_help(const std::string& command) const {
  std::set<std::string> flags;
  for (const auto& [flag, help] : help_of_flags(command)) flags.insert(flag);
  return flags;
}

}  // namespace hearth::test
