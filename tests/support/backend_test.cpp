#include "support/backend_test.h"

#include <atomic>

#include "backends/backends.h"
#include "backends/cpu/cpu_backend.h"
#include "backends/split/split_backend.h"
#include "backends/vulkan/vulkan_backend.h"
#include "support/detached_backend.h"

namespace hearth::test {
namespace {

// Whether there is a driver with all that hearth needs.
bool has_vulkan() {
  static const bool has = [] {
    const auto cards = vulkan_cards();
    return !cards.empty() && cards.front().missing.empty();
  }();
  return has;
}

}  // namespace

std::vector<std::string> backend_names() {
  return {"reference", "detached", "split", "cpu_avx2", "cpu_avx512", "cpu_avx512bf16", "cpu_amx", "cpu_emulated", "vulkan"};
}

std::unique_ptr<Backend> make_test_backend(const std::string& name, int threads) {
  if (name == "reference") return make_backend({.name = "reference", .threads = threads});
  if (name == "detached") return make_detached_backend({.threads = threads});
  if (name == "split")
    return make_split_backend(make_detached_backend({.threads = threads}), nullptr,
                              [turn = std::make_shared<std::atomic<int>>(0)] { return ++*turn % 2 ? Side::card : Side::host; });
  if (name == "cpu_emulated") return cpu_path_available("avx2") ? make_emulating_cpu_backend(threads) : nullptr;
  if (name.starts_with("vulkan")) {
    if (!has_vulkan()) return nullptr;
    return make_backend({.name = "vulkan", .features = name == "vulkan_narrow" ? "narrow" : "", .threads = threads});
  }
  const std::string features = name.substr(4);
  if (!cpu_path_available(features)) return nullptr;
  return make_backend({.name = "cpu", .features = features, .threads = threads});
}

namespace {

class BackendTest : public ::testing::Test {
 public:
  BackendTest(std::string backend, BackendTestBody body) : backend_(std::move(backend)), body_(body) {}
  void TestBody() override {
    const auto device = make_test_backend(backend_);
    if (!device) GTEST_SKIP() << backend_ << ": not supported by this machine";
    body_(*device);
  }

 private:
  std::string backend_;
  BackendTestBody body_;
};

bool register_on(const std::vector<std::string>& backends, const char* suite, const char* name, const char* file, int line,
                 BackendTestBody body) {
  for (const std::string& backend : backends)
    ::testing::RegisterTest(suite, (std::string(name) + "/" + backend).c_str(), nullptr, nullptr, file, line,
                            [backend, body]() -> BackendTest* { return new BackendTest(backend, body); });
  return true;
}

}  // namespace

bool register_backend_test(const char* suite, const char* name, const char* file, int line, BackendTestBody body) {
  return register_on(backend_names(), suite, name, file, line, body);
}

bool register_host_test(const char* suite, const char* name, const char* file, int line, BackendTestBody body) {
  std::vector<std::string> hosts = backend_names();
  std::erase_if(hosts, [](const std::string& backend) { return backend == "detached" || backend == "split" || backend == "vulkan"; });
  return register_on(hosts, suite, name, file, line, body);
}

}  // namespace hearth::test
