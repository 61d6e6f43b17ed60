// What a call throws, as "WeightError: …"; "" where it succeeds.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "hearth/error.h"

namespace hearth::test {

inline std::string complaint_of(const std::function<void()>& call) {
  const auto told = [&](const char* kind, const Error& e) {
    std::string message = fmt::format("{}: {}", kind, e.what());
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    return message;
  };
  try {
    call();
  } catch (const ShapeError& e) { return told("ShapeError", e); } catch (const WeightError& e) {
    return told("WeightError", e);
  } catch (const UnsupportedError& e) { return told("UnsupportedError", e); } catch (const IoError& e) {
    return told("IoError", e);
  } catch (const UsageError& e) { return told("UsageError", e); } catch (const NonFiniteError& e) {
    return told("NonFiniteError", e);
  }
  return "";
}

}  // namespace hearth::test
