// The body of a response that the server itself makes: 400, 401, 404, 503 … Each API has its own form, which it tells by the path.
#pragma once

#include <functional>
#include <string>

namespace hearth::http {

struct ErrorReport {
  int status = 500;
  std::string path;     // percent-encoded; empty if the request could not be read so far
  std::string message;  // one sentence for the client
};

struct ErrorPage {
  std::string content_type, body;
};

// Called from several threads.
using ErrorFormatter = std::function<ErrorPage(const ErrorReport&)>;

// text/plain: the message.
ErrorPage plain_error_page(const ErrorReport& report);

}  // namespace hearth::http
