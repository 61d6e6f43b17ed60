// Files for tests.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace hearth::test {

// A new empty folder, which its destructor removes.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::path(testing::TempDir()) / "hearth-XXXXXX").string();
    if (!::mkdtemp(pattern.data())) throw std::runtime_error("cannot create a folder like " + pattern);
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::filesystem::path& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

// The message of the E that f throws; "" if it throws none. `folder` in it becomes "FOLDER", so that it can be compared.
template <class E, class F> std::string message_of(F f, const std::filesystem::path& folder = {}) {
  try {
    f();
  } catch (const E& e) {
    std::string message = e.what();
    const std::string path = folder.string();
    for (size_t at; !path.empty() && (at = message.find(path)) != message.npos;) message.replace(at, path.size(), "FOLDER");
    return message;
  }
  return "";
}

}  // namespace hearth::test
