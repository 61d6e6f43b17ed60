#include "core/files/sha256.h"

#include <openssl/evp.h>

#include <array>
#include <fstream>
#include <vector>

#include "core/error.h"
#include "core/observe.h"

namespace hearth {

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~State() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  if (!state_->context || EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr) != 1)
    fail<Error>("sha256: OpenSSL cannot initialize the digest");
}
Sha256::~Sha256() = default;

void Sha256::add(std::string_view bytes) { EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()); }

std::string Sha256::hex() {
  std::array<unsigned char, 32> digest{};
  EVP_DigestFinal_ex(state_->context, digest.data(), nullptr);
  std::string digits;
  for (const unsigned char byte : digest) digits += fmt::format("{:02x}", byte);
  return digits;
}

std::string sha256_of_files(std::span<const std::filesystem::path> files) {
  Sha256 hash;
  std::vector<char> buffer(1 << 20);
  for (const auto& file : files) {
    std::ifstream in(file, std::ios::binary);
    if (!in) fail<IoError>("{}: cannot be read", file.string());
    while (in) {
      check_canceled();
      in.read(buffer.data(), std::streamsize(buffer.size()));
      hash.add({buffer.data(), size_t(in.gcount())});
    }
    if (in.bad()) fail<IoError>("{}: cannot be read to its end", file.string());
  }
  return hash.hex();
}

}  // namespace hearth
