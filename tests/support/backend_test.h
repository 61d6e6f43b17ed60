// BACKEND_TEST(Suite, name) { … device … } runs its body once on every backend and kernel path; a path that this
// CPU does not support is reported as skipped.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "core/backend.h"

namespace hearth::test {

using BackendTestBody = void (*)(Backend& device);
bool register_backend_test(const char* suite, const char* name, const char* file, int line, BackendTestBody body);
bool register_host_test(const char* suite, const char* name, const char* file, int line, BackendTestBody body);

// Those of every BACKEND_TEST: "reference", "detached" (detached_backend.h), "split" (its ops alternate between detached and reference),
// "cpu_" and a kernel path, "cpu_emulated" (AMX in plain loops), "vulkan".
std::vector<std::string> backend_names();
// One of these, or "vulkan_narrow" (used as the smallest cards: make_vulkan_backend). nullptr if this machine does not support it.
std::unique_ptr<Backend> make_test_backend(const std::string& name, int threads = 2);

// Where products take long: the reference's plain loops, which detached and split devices run too, and Vulkan's software driver, which
// compiles each variant of a shader. Tests make fewer rounds there.
inline bool slow(const Backend& device) { return device.name() != "cpu"; }

}  // namespace hearth::test

#define BACKEND_TEST(suite, name)                                                                      \
  static void suite##_##name##_body(::hearth::Backend& device);                                        \
  [[maybe_unused]] static const bool suite##_##name##_registered =                                     \
      ::hearth::test::register_backend_test(#suite, #name, __FILE__, __LINE__, suite##_##name##_body); \
  static void suite##_##name##_body([[maybe_unused]] ::hearth::Backend& device)

// The same on backends whose memory the CPU can read, for code that runs on a host.
#define HOST_TEST(suite, name)                                                                      \
  static void suite##_##name##_body(::hearth::Backend& device);                                     \
  [[maybe_unused]] static const bool suite##_##name##_registered =                                  \
      ::hearth::test::register_host_test(#suite, #name, __FILE__, __LINE__, suite##_##name##_body); \
  static void suite##_##name##_body([[maybe_unused]] ::hearth::Backend& device)
