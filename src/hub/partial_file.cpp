#include "hub/partial_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files/file.h"

namespace hearth::hub {

namespace fs = std::filesystem;
using Json = nlohmann::json;

PartialFile::PartialFile(fs::path stem, int64_t size) : stem_(std::move(stem)), size_(size) {
  file_ = ::open(path().c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file_ < 0) fail<IoError>("write {}: {}", path().string(), std::strerror(errno));
  load();
}

PartialFile::~PartialFile() {
  if (file_ >= 0) ::close(file_);
}

fs::path PartialFile::path() const { return stem_.string() + ".part"; }
fs::path PartialFile::sidecar() const { return stem_.string() + ".json"; }

// If the sidecar is invalid in any way, the download starts over.
void PartialFile::load() {
  std::error_code error;
  const auto there = int64_t(fs::file_size(path(), error));
  if (error || !fs::exists(sidecar(), error)) return reset();
  try {
    const Json json = Json::parse(read_file(sidecar()));
    if (json.at("size").get<int64_t>() != size_) return reset();
    etag_ = json.at("etag").get<std::string>();
    verified_ = json.at("verified").get<bool>();
    for (const Json& range : json.at("done")) {
      const Range r{range.at(0).get<int64_t>(), range.at(1).get<int64_t>()};
      if (r.begin < 0 || r.end <= r.begin || r.end > size_ || r.end > there) return reset();
      add(r);
    }
  } catch (const std::exception&) { return reset(); }
  if (!is_complete()) verified_ = false;
}

void PartialFile::save() {
  Json done = Json::array();
  for (const auto& [begin, end] : ranges_) done.push_back({begin, end});
  write_file(sidecar(), Json{{"size", size_}, {"etag", etag_}, {"verified", verified_}, {"done", done}}.dump() + "\n");
}

void PartialFile::write(int64_t offset, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(file_, bytes.data(), bytes.size(), offset);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail<IoError>("write {}: {}", path().string(), std::strerror(errno));
    add({offset, offset + n});
    offset += n;
    bytes.remove_prefix(size_t(n));
  }
}

void PartialFile::add(Range range) {
  auto next = ranges_.upper_bound(range.begin);
  if (next != ranges_.begin() && std::prev(next)->second >= range.begin) --next;
  while (next != ranges_.end() && next->first <= range.end) {
    range = {std::min(range.begin, next->first), std::max(range.end, next->second)};
    done_ -= next->second - next->first;
    next = ranges_.erase(next);
  }
  ranges_[range.begin] = range.end;
  done_ += range.size();
}

std::vector<Range> PartialFile::missing() const {
  std::vector<Range> gaps;
  int64_t at = 0;
  for (const auto& [begin, end] : ranges_) {
    if (begin > at) gaps.push_back({at, begin});
    at = end;
  }
  if (at < size_) gaps.push_back({at, size_});
  return gaps;
}

void PartialFile::flush() {
  if (::fsync(file_) != 0) fail<IoError>("write {}: {}", path().string(), std::strerror(errno));
}

void PartialFile::reset() {
  ranges_.clear();
  done_ = 0;
  etag_.clear();
  verified_ = false;
  if (::ftruncate(file_, 0) != 0) fail<IoError>("write {}: {}", path().string(), std::strerror(errno));
  std::error_code error;
  fs::remove(sidecar(), error);
}

void PartialFile::remove() {
  std::error_code error;
  fs::remove(path(), error);
  fs::remove(sidecar(), error);
}

}  // namespace hearth::hub
