#include "server/image/image_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "server/api_error.h"

namespace hearth::server {

ImageFiles::ImageFiles() : ImageFiles(Limits()) {}
ImageFiles::ImageFiles(const Limits& limits) : limits_(limits) {}

std::string ImageFiles::add(File file, const std::string& extension) {
  if (file.bytes.size() > limits_.bytes)
    throw ApiError(400,
                   fmt::format("response_format: an image of {} bytes cannot be kept for a link, expected b64_json", file.bytes.size()),
                   "response_format");
  std::random_device random;
  std::string name;
  for (int i = 0; i < 4; ++i) name += fmt::format("{:08x}", random());
  name += "." + extension;
  const std::lock_guard lock(mutex_);
  drop_old();
  bytes_ += file.bytes.size();
  kept_.push_back({name, std::move(file), std::chrono::steady_clock::now() + limits_.life});
  while (bytes_ > limits_.bytes) {
    bytes_ -= kept_.front().file.bytes.size();
    kept_.pop_front();
  }
  return name;
}

std::optional<ImageFiles::File> ImageFiles::find(const std::string& name) {
  const std::lock_guard lock(mutex_);
  drop_old();
  const auto found = std::ranges::find(kept_, name, &Kept::name);
  if (found == kept_.end()) return {};
  return found->file;
}

size_t ImageFiles::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

void ImageFiles::drop_old() {
  const auto now = std::chrono::steady_clock::now();
  while (!kept_.empty() && kept_.front().until <= now) {
    bytes_ -= kept_.front().file.bytes.size();
    kept_.pop_front();
  }
}

}  // namespace hearth::server
