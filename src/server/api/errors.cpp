// The forms in which the APIs write errors.
#include "server/api/routes.h"
#include "server/api/stream.h"

namespace hearth::server {
namespace {

std::string type_of(int status) {
  switch (status) {
    case 401: return "authentication_error";
    case 403: return "permission_error";
    case 404: return "not_found_error";
    case 429: return "rate_limit_error";
    case 503: return "service_unavailable_error";
    default: return status < 500 ? "invalid_request_error" : "server_error";
  }
}

std::string anthropic_type(int status) {
  switch (status) {
    case 503: return "overloaded_error";
    case 413: return "request_too_large";
    default: return status >= 500 ? "api_error" : type_of(status);
  }
}

Json text_or_null(const std::string& t) { return t.empty() ? Json() : Json(t); }

}  // namespace

std::string openai_error(const ApiError& e) {
  return dumped(
      {{"error", {{"message", e.what()}, {"type", type_of(e.status)}, {"param", text_or_null(e.param)}, {"code", text_or_null(e.code)}}}});
}

std::string anthropic_error(const ApiError& e) {
  return dumped({{"type", "error"}, {"error", {{"type", anthropic_type(e.status)}, {"message", e.what()}}}});
}

std::string a1111_error(const ApiError& e) {
  return dumped({{"error", type_of(e.status)}, {"detail", e.what()}, {"body", ""}, {"errors", e.what()}});
}

void answer_error(const http::Responder& to, ErrorBody form, const ApiError& error) {
  http::HeaderList headers;
  if (error.retry_after) headers.emplace_back("Retry-After", std::to_string(*error.retry_after));
  to.respond(error.status, "application/json", form(error), headers);
}

http::Handler guarded(ErrorBody form, std::function<void(http::Request&, const http::Responder&)> handler) {
  return [form, handler = std::move(handler)](http::Request request, const http::Responder& to) {
    try {
      handler(request, to);
    } catch (const std::exception&) { answer_error(to, form, api_error(std::current_exception())); }
  };
}

}  // namespace hearth::server
