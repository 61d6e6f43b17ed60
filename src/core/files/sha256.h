// SHA-256 (FIPS 180-4): what names a file of weights, in images' metadata and elsewhere.
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
  std::string hex();  // 64 lower-case digits of all bytes so far; call once, at the end

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Of the files' bytes one after another, as `cat files | sha256sum` prints it. IoError; Canceled (check_canceled).
std::string sha256_of_files(std::span<const std::filesystem::path> files);

}  // namespace hearth
