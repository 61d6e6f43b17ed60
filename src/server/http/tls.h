// The server's certificate. Internal: includes Boost.Asio.
#pragma once

#include <boost/asio/ssl/context.hpp>
#include <memory>
#include <string>

namespace hearth::http {

// TLS 1.2 and 1.3, HTTP/1.1 only. IoError that names the file which cannot be used.
std::unique_ptr<boost::asio::ssl::context> tls_context(const std::string& certificate, const std::string& key);

}  // namespace hearth::http
