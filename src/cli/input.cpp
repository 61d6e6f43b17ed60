#include "cli/input.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "cli/command.h"
#include "core/error.h"
#include "core/files/file.h"

namespace hearth::cli {

namespace {

std::string read_all(std::FILE* from, const std::string& name) {
  std::string text;
  char buffer[1 << 16];
  for (size_t n = 0; (n = std::fread(buffer, 1, sizeof buffer, from)) > 0;) text.append(buffer, n);
  if (!std::ferror(from)) return text;
  if (canceled) throw Canceled();
  fail<IoError>("{} cannot be read: {}", name, std::strerror(errno));
}

}  // namespace

std::string read_input() { return read_all(stdin, "standard input"); }

std::string read_text(const std::filesystem::path& file) {
  std::error_code error;
  const std::filesystem::file_type type = std::filesystem::status(file, error).type();
  if (type != std::filesystem::file_type::fifo && type != std::filesystem::file_type::character) return read_file(file);
  const auto close = [](std::FILE* f) { std::fclose(f); };
  const std::unique_ptr<std::FILE, decltype(close)> from(std::fopen(file.c_str(), "rb"), close);
  if (!from && canceled) throw Canceled();
  if (!from) fail<IoError>("read {}: {}", file.string(), std::strerror(errno));
  return read_all(from.get(), file.string());
}

}  // namespace hearth::cli
