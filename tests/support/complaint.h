// The error that a call throws, as "WeightError: …"; "" if it succeeds.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "hearth/error.h"

namespace hearth::test {

inline std::string complaint_of(const std::function<void()>& call) {
  const auto described = [&](const char* kind, const Error& e) {
    std::string message = fmt::format("{}: {}", kind, e.what());
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    return message;
  };
  try {
    call();
  } catch (const ShapeError& e) { return described("ShapeError", e); } catch (const WeightError& e) {
    return described("WeightError", e);
  } catch (const UnsupportedError& e) { return described("UnsupportedError", e); } catch (const IoError& e) {
    return described("IoError", e);
  } catch (const UsageError& e) { return described("UsageError", e); } catch (const NonFiniteError& e) {
    return described("NonFiniteError", e);
  }
  return "";
}

}  // namespace hearth::test
