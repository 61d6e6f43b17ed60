// Tests of features that a backend may refuse: kernels are added one by one, but the reference backend supports everything.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "core/backend.h"

namespace hearth::test {

// Runs `call`, which uses one feature of `device` and checks the result. Returns false if the backend refuses it by name, with an
// UnsupportedError that contains "the backend NAME": the test is then reported as skipped and continues; it still fails if another check
// fails. Any other exception of `call`, and any refusal of the reference backend, is rethrown.
template <class F> bool supported(Backend& device, F call) {
  try {
    call();
    return true;
  } catch (const UnsupportedError& e) {
    const std::string message = e.what();
    if (device.name() == "reference" || message.find("the backend " + device.name() + " ") == std::string::npos) throw;
    const bool reported = ::testing::UnitTest::GetInstance()->current_test_info()->result()->Skipped();
    if (!reported) [&] { GTEST_SKIP() << message; }();
    return false;
  }
}

}  // namespace hearth::test
