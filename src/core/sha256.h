// SHA-256 (FIPS 180-4): what names a file of weights, in pictures' metadata and elsewhere.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace hearth {

class Sha256 {
 public:
  void add(std::string_view bytes);
  std::string hex();  // 64 lower-case digits of all bytes so far; call once, at the end

 private:
  void block(const unsigned char* bytes);

  std::array<uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<unsigned char, 64> pending_{};
  uint64_t size_ = 0;
};

// Of the files' bytes one after another, as `cat files | sha256sum` prints it. IoError; Cancelled (check_cancelled).
std::string sha256_of_files(std::span<const std::filesystem::path> files);

}  // namespace hearth
