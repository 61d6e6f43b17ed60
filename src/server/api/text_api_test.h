// What the tests of the text APIs share.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "server/fields.h"

namespace hearth::server::test {

// "400 path: message" of the ApiError that a call throws, which must name its field as `param`; "" if it succeeds.
inline std::string refusal_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const ApiError& e) { return std::to_string(e.status) + " " + e.what(); }
  return "";
}

// Their types, each run of one type once.
inline std::vector<std::string> types_of(const std::vector<Json>& events) {
  std::vector<std::string> types;
  for (const Json& event : events)
    if (types.empty() || types.back() != event["type"]) types.push_back(event["type"]);
  return types;
}

}  // namespace hearth::server::test
