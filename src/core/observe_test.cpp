#include "core/observe.h"

#include <stdexcept>

#include "support/backend_test.h"

namespace hearth {
namespace {

struct Count : Observer {
  void on_tap(std::string_view path, const Tensor&) override {
    ++taps;
    last = path;
  }
  int taps = 0;
  std::string last;
};

BACKEND_TEST(Observe, an_observer_ends_with_its_scope_even_on_exceptions) {
  const Tensor x = Tensor::empty(device, {1});
  Count outer, inner;
  const ObserverScope watch(outer);
  try {
    const ObserverScope scope(inner);
    tap("mid_block", x);
    throw std::runtime_error("in the middle of a forward pass");
  } catch (const std::runtime_error&) {}
  tap("conv_out", x);
  EXPECT_EQ(inner.taps, 1);
  EXPECT_EQ(inner.last, "mid_block");
  EXPECT_EQ(outer.taps, 2);
  EXPECT_EQ(outer.last, "conv_out");
}

TEST(Cancellation, reaches_the_thread_of_its_scope) {
  std::atomic<bool> flag = false;
  check_canceled();
  {
    const CancelScope scope(flag);
    check_canceled();
    flag = true;
    EXPECT_THROW(check_canceled(), Canceled);
  }
  check_canceled();
}

}  // namespace
}  // namespace hearth
