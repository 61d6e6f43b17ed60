// SHA-256 (FIPS 180-4), which identifies weight files in image metadata and elsewhere.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace hearth {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  void add(std::string_view bytes);
  std::string hex();  // 64 lowercase digits for all bytes added; call once, at the end

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Of the concatenated files, as `cat files | sha256sum` prints it. IoError; Canceled (check_canceled).
std::string sha256_of_files(std::span<const std::filesystem::path> files);

}  // namespace hearth
