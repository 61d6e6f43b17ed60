// Images that a response names by link: kept in memory for a while.
#pragma once

#include <chrono>
#include <deque>
#include <mutex>
#include <optional>
#include <string>

namespace hearth::server {

class ImageFiles {
 public:
  struct Limits {
    std::chrono::seconds life{3600};
    size_t bytes = size_t(256) << 20;  // beyond, the oldest are dropped
  };
  ImageFiles();
  explicit ImageFiles(const Limits& limits);

  struct File {
    std::string content_type, bytes;
  };
  // The name under which it is found: 128 random bits in hexadecimal, and the extension. ApiError 400 for one that exceeds the limit alone.
  std::string add(File file, const std::string& extension);
  std::optional<File> find(const std::string& name);
  size_t bytes() const;

 private:
  void drop_old();

  struct Kept {
    std::string name;
    File file;
    std::chrono::steady_clock::time_point until;
  };
  const Limits limits_;
  mutable std::mutex mutex_;
  std::deque<Kept> kept_;  // in the order of their ends; under mutex_
  size_t bytes_ = 0;       // under mutex_
};

}  // namespace hearth::server
