#include "server/http/tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <cstring>
#include <string_view>

#include "core/error.h"

namespace hearth::http {
namespace {

std::string openssl_problem() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  if (ERR_SYSTEM_ERROR(code)) return std::strerror(ERR_GET_REASON(code));
  const char* reason = code ? ERR_reason_error_string(code) : nullptr;
  return reason ? reason : "unknown error";
}

// Of the protocols that a client offers only HTTP/1.1 is chosen; a client that offers others alone goes on without a choice.
int choose_protocol(SSL*, const unsigned char** chosen, unsigned char* size, const unsigned char* offered, unsigned int offered_size,
                    void*) {
  static constexpr unsigned char http11[] = "\x08http/1.1";
  unsigned char* found = nullptr;
  const int result = SSL_select_next_proto(&found, size, http11, sizeof http11 - 1, offered, offered_size);
  *chosen = found;
  return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
}

}  // namespace

std::unique_ptr<boost::asio::ssl::context> tls_context(const std::string& certificate, const std::string& key) {
  auto context = std::make_unique<boost::asio::ssl::context>(boost::asio::ssl::context::tls_server);
  SSL_CTX* native = context->native_handle();
  ERR_clear_error();
  SSL_CTX_set_min_proto_version(native, TLS1_2_VERSION);
  SSL_CTX_set_options(native, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_mode(native, SSL_MODE_RELEASE_BUFFERS);  // thousands of idle connections hold no buffers
  SSL_CTX_set_alpn_select_cb(native, choose_protocol, nullptr);
  if (SSL_CTX_use_certificate_chain_file(native, certificate.c_str()) != 1)
    fail<IoError>("cannot use the certificate {}: {}, expected a PEM file", certificate, openssl_problem());
  // A key with a passphrase is refused: OpenSSL would ask for it on the terminal.
  SSL_CTX_set_default_passwd_cb(native, [](char*, int, int, void*) { return -1; });
  if (SSL_CTX_use_PrivateKey_file(native, key.c_str(), SSL_FILETYPE_PEM) != 1)
    fail<IoError>("cannot use the private key {}: {}, expected a PEM file without passphrase that belongs to {}", key, openssl_problem(),
                  certificate);
  return context;
}

}  // namespace hearth::http
