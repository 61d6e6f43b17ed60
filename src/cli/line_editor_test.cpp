#include "cli/line_editor.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <cstdlib>

namespace hearth::cli {
namespace {

// A pseudoterminal, and a process that reads one line from it.
class Typist {
 public:
  Typist() {
    grantpt(terminal_);
    unlockpt(terminal_);
    if (pipe(read_) != 0) ADD_FAILURE() << "pipe";
    child_ = fork();
    if (child_ != 0) {
      close(read_[1]);
      return;
    }
    setsid();
    setenv("TERM", "dumb", 1);
    const int end = open(ptsname(terminal_), O_RDWR);
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(end, stream);
    LineEditor editor("> ");
    const std::string line = editor.read().value_or("nothing");
    _exit(write(read_[1], line.data(), line.size()) == ssize_t(line.size()) ? 0 : 1);
  }
  Typist(const Typist&) = delete;
  Typist& operator=(const Typist&) = delete;
  ~Typist() {
    close(terminal_);
    close(read_[0]);
    waitpid(child_, nullptr, 0);
  }

  // The line that the process reads when this is typed after its prompt. libedit shows the prompt before it takes the
  // terminal over, and until then the kernel edits the line, by bytes.
  std::string line(const std::string& typed) {
    termios modes;
    while (tcgetattr(terminal_, &modes) == 0 && (modes.c_lflag & ICANON)) usleep(1000);
    if (write(terminal_, typed.data(), typed.size()) != ssize_t(typed.size())) return "not typed";
    std::string line;
    while (more(read_[0], line)) {}
    return line;
  }

 private:
  static bool more(int from, std::string& text) {
    char bytes[256];
    const ssize_t count = read(from, bytes, sizeof bytes);
    if (count > 0) text.append(bytes, size_t(count));
    return count > 0;
  }

  int terminal_ = posix_openpt(O_RDWR | O_NOCTTY);
  int read_[2] = {-1, -1};
  pid_t child_ = -1;
};

TEST(LineEditor, characters_of_several_bytes_are_whole) {
  EXPECT_EQ(Typist().line("h\u00e9 \u6f22\u5b57\n"), "h\u00e9 \u6f22\u5b57");
  EXPECT_EQ(Typist().line("h\u00e9 \u6f22\u5b57\x7f\x7f\U0001f600!\n"), "h\u00e9 \U0001f600!");
}

}  // namespace
}  // namespace hearth::cli
