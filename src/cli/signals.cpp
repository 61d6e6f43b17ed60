#include "cli/signals.h"

#include <csignal>

#include "cli/command.h"

namespace hearth::cli {

std::atomic<bool> canceled{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may set nothing else");

namespace {

constexpr int interrupts[] = {SIGINT, SIGTERM};

extern "C" void on_interrupt(int) {
  canceled.store(true);
  for (const int signal : interrupts) std::signal(signal, SIG_DFL);
}

}  // namespace

void catch_signals() {
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  sigemptyset(&action.sa_mask);
  for (const int signal : interrupts) {
    struct sigaction before {};
    sigaction(signal, nullptr, &before);
    if (before.sa_handler != SIG_IGN) sigaction(signal, &action, nullptr);  // nohup and `&` ignore them on purpose
  }
  // Reaching a file size limit becomes a write error with a message instead of killing the process.
  std::signal(SIGXFSZ, SIG_IGN);
}

}  // namespace hearth::cli
