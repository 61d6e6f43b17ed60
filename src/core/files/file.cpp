#include "core/files/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "core/error.h"
#include "core/observe.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;

std::string reason() { return std::strerror(errno); }

struct Descriptor {
  explicit Descriptor(int value) : fd(value) {}
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int fd;
};

fs::path folder_of(const fs::path& file) { return file.has_parent_path() ? file.parent_path() : fs::path("."); }

// The path that is written in the end. IoError unless it is, or can become, a regular file.
fs::path destination(const fs::path& file) {
  if (!file.has_filename()) fail<IoError>("write {}: this names a folder, expected a file name", file.string());
  std::error_code error;
  fs::path target = file;
  for (int links = 0; fs::is_symlink(fs::symlink_status(target, error)); ++links) {
    if (links == 40) fail<IoError>("write {}: more than 40 symbolic links", file.string());
    target = folder_of(target) / fs::read_symlink(target, error);
  }
  const fs::file_status status = fs::status(target, error);
  if (status.type() == fs::file_type::none) fail<IoError>("write {}: {}", file.string(), error.message());
  if (fs::is_directory(status)) fail<IoError>("write {}: is a folder, expected a file name", file.string());
  if (fs::exists(status) && !fs::is_regular_file(status)) fail<IoError>("write {}: not a regular file", file.string());
  const fs::path folder = folder_of(target);
  if (!fs::exists(fs::status(folder, error))) fail<IoError>("write {}: the folder {} does not exist", file.string(), folder.string());
  if (!fs::is_directory(fs::status(folder, error))) fail<IoError>("write {}: {} is not a folder", file.string(), folder.string());
  return target;
}

// A new file next to the target that removes itself unless it has been renamed.
class TemporaryFile {
 public:
  TemporaryFile(const fs::path& target, const fs::path& shown) : shown_(shown.string()), file_(make(target)) {}
  ~TemporaryFile() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  void write(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ::write(file_.fd, bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) fail<IoError>("write {}: {}", shown_, reason());
      bytes.remove_prefix(size_t(n));
    }
  }
  void flush() {
    if (::fsync(file_.fd) != 0) fail<IoError>("write {}: {}", shown_, reason());
  }

  void rename_to(const fs::path& target) {
    if (::rename(path_.c_str(), target.c_str()) != 0) fail<IoError>("write {}: {}", shown_, reason());
    path_.clear();
    // Flushing the folder makes the new name durable; if the folder cannot be flushed, the file is still correct.
    const Descriptor folder(::open(folder_of(target).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (folder.fd >= 0) ::fsync(folder.fd);
  }

 private:
  int make(const fs::path& target) {
    static std::atomic<int> counter{0};
    const fs::path folder = folder_of(target);
    while (true) {
      // A fixed length, so that a target whose name has the maximum length works too.
      path_ = (folder / fmt::format(".hearth-{}-{}.tmp", ::getpid(), counter++)).string();
      const int fd = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (fd >= 0) return fd;
      if (errno != EEXIST) fail<IoError>("write {}: cannot create a file in the folder {}: {}", shown_, folder.string(), reason());
    }
  }

  std::string shown_, path_;
  Descriptor file_;
};

}  // namespace

std::string read_file(const fs::path& file, int64_t limit) {
  const Descriptor in(::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (in.fd < 0) fail<IoError>("read {}: {}", file.string(), reason());
  struct stat status {};
  if (::fstat(in.fd, &status) != 0) fail<IoError>("read {}: {}", file.string(), reason());
  if (!S_ISREG(status.st_mode)) fail<IoError>("read {}: not a regular file", file.string());
  if (status.st_size > limit) fail<IoError>("read {}: the file has {} bytes, expected at most {}", file.string(), status.st_size, limit);
  std::string bytes(size_t(status.st_size), '\0');
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = ::read(in.fd, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail<IoError>("read {}: {}", file.string(), reason());
    if (n == 0) fail<IoError>("read {}: the file ended after {} of {} bytes", file.string(), done, bytes.size());
    done += size_t(n);
  }
  return bytes;
}

void write_file(const fs::path& file, std::string_view bytes) {
  const fs::path target = destination(file);
  TemporaryFile temporary(target, file);
  temporary.write(bytes);
  temporary.flush();
  temporary.rename_to(target);
}

void write_file_unflushed(const fs::path& file, std::span<const std::string_view> pieces) {
  const fs::path target = destination(file);
  TemporaryFile temporary(target, file);
  for (const std::string_view piece : pieces) {
    check_canceled();
    temporary.write(piece);
  }
  temporary.rename_to(target);
}

// Written in large pieces, so that the page cache holds weight files in large pages (core/files/mapped_file.cpp).
struct FileWriter::State {
  explicit State(const fs::path& file) : target(destination(file)), temporary(target, file) {}
  void write(std::string_view bytes) {
    while (!bytes.empty()) {
      const size_t count = std::min(bytes.size(), piece - waiting.size());
      waiting.append(bytes.substr(0, count));
      bytes.remove_prefix(count);
      if (waiting.size() == piece) write_waiting();
    }
  }
  void write_waiting() {
    temporary.write(waiting);
    waiting.clear();
  }

  static constexpr size_t piece = size_t(4) << 20;
  fs::path target;
  TemporaryFile temporary;
  std::string waiting;
};

FileWriter::FileWriter(const fs::path& file) : state_(std::make_unique<State>(file)) {}
FileWriter::~FileWriter() = default;
void FileWriter::write(std::string_view bytes) { state_->write(bytes); }
void FileWriter::commit() {
  state_->write_waiting();
  state_->temporary.flush();
  state_->temporary.rename_to(state_->target);
}
void FileWriter::commit_unflushed() {
  state_->write_waiting();
  state_->temporary.rename_to(state_->target);
}

void check_writable(const fs::path& file) { TemporaryFile(destination(file), file); }

}  // namespace hearth
