#include "hub/digest.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <fstream>
#include <memory>
#include <vector>

#include "core/error.h"
#include "core/files/sha256.h"
#include "core/observe.h"

namespace hearth::hub {

namespace fs = std::filesystem;

std::string git_blob_id(const fs::path& file) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  if (!context || EVP_DigestInit_ex(context.get(), EVP_sha1(), nullptr) != 1) fail<Error>("sha1: libcrypto failed to initialize");
  const std::string head = fmt::format("blob {}", fs::file_size(file));
  EVP_DigestUpdate(context.get(), head.c_str(), head.size() + 1);
  std::ifstream in(file, std::ios::binary);
  std::vector<char> buffer(1 << 20);
  while (in) {
    check_canceled();
    in.read(buffer.data(), std::streamsize(buffer.size()));
    EVP_DigestUpdate(context.get(), buffer.data(), size_t(in.gcount()));
  }
  if (in.bad() || !in.eof()) fail<IoError>("{}: cannot be read", file.string());
  std::array<unsigned char, 20> digest{};
  EVP_DigestFinal_ex(context.get(), digest.data(), nullptr);
  std::string digits;
  for (const unsigned char byte : digest) digits += fmt::format("{:02x}", byte);
  return digits;
}

std::string difference_of(const fs::path& file, const RemoteFile& expected) {
  std::error_code error;
  const auto size = int64_t(fs::file_size(file, error));
  if (error) return "it cannot be read";
  if (expected.size >= 0 && size != expected.size) return fmt::format("it has {} bytes, expected {}", size, expected.size);
  if (!expected.sha256.empty()) {
    const std::string found = sha256_of_files({{file}});
    return found == expected.sha256 ? "" : fmt::format("its SHA-256 is {}, expected {}", found, expected.sha256);
  }
  if (!expected.git.empty()) {
    const std::string found = git_blob_id(file);
    return found == expected.git ? "" : fmt::format("its git blob id is {}, expected {}", found, expected.git);
  }
  return "";
}

}  // namespace hearth::hub
