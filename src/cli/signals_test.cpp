#include "cli/signals.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>

#include "cli/command.h"

namespace hearth::cli {
namespace {

// The exit status of a child process that runs `body`.
int status_of(const std::function<void()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    body();
    ::_exit(7);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

TEST(Signals, the_first_signal_cancels_and_the_second_kills) {
  for (const int first : {SIGINT, SIGTERM})
    for (const int second : {SIGINT, SIGTERM}) {
      const int status = status_of([=] {
        catch_signals();
        std::raise(first);
        if (!canceled) ::_exit(1);
        std::raise(second);
      });
      EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == second) << first << " " << second;
    }
}

TEST(Signals, signals_that_nohup_ignores_stay_ignored) {
  const int status = status_of([] {
    std::signal(SIGINT, SIG_IGN);
    catch_signals();
    std::raise(SIGINT);
    ::_exit(canceled ? 1 : 0);
  });
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace hearth::cli
