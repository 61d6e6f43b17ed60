// Tests of what a backend may refuse: its kernels come one by one, the reference backend has them all.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "core/backend.h"

namespace hearth::test {

// Runs `call`, which asks `device` for one thing and checks what it gets. False where the backend refuses it by name, with an
// UnsupportedError that says "the backend NAME": the test is then reported as skipped, and goes on; it fails as ever when another check of
// it does. Whatever else `call` throws, and any refusal of the reference backend, is thrown on.
template <class F> bool supported(Backend& device, F call) {
  try {
    call();
    return true;
  } catch (const UnsupportedError& e) {
    const std::string message = e.what();
    if (device.name() == "reference" || message.find("the backend " + device.name() + " ") == std::string::npos) throw;
    const bool told = ::testing::UnitTest::GetInstance()->current_test_info()->result()->Skipped();
    if (!told) [&] { GTEST_SKIP() << message; }();
    return false;
  }
}

}  // namespace hearth::test
