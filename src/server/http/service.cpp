#include "server/http/service.h"

#include <algorithm>

#include "server/http/uri.h"

namespace hearth::http {
namespace {

struct Refusal {
  int status = 0;  // 0: none
  std::string message;
  HeaderList headers;
};

// The header as such, before anything else is looked at.
Refusal header_problem(const RequestParser& parser, const Headers& headers, bool valid_target) {
  if (!valid_target) return {400, "the request's target is not a path with valid percent escapes", {}};
  const size_t hosts = headers.count("host");
  if (hosts > 1 || (hosts == 0 && parser.is_http11())) return {400, "the request has no Host header, or several", {}};
  const std::string_view encoding = headers.get("transfer-encoding");
  if (!encoding.empty() && !parser.is_http11()) return {400, "Transfer-Encoding needs HTTP/1.1", {}};
  const std::string_view expect = headers.get("expect");
  if (!expect.empty() && !equal_without_case(expect, "100-continue"))
    return {417, "the only expectation that the server knows is 100-continue", {}};
  return {};
}

// Whether this client may ask for what needs a key.
Refusal access_problem(const Service& service, const Headers& headers) {
  if (service.own_hosts_only) {
    // Browsers send a Host header always; HTTP/1.0 without one is no web page.
    if (headers.count("host") > 0 && !is_own_host(headers.get("host"), service.options.host_names))
      return {403, "without API keys the server answers only requests to localhost and to the host names that it was given", {}};
    if (service.origins.is_foreign(headers))
      return {403, "without API keys the server refuses requests of web pages whose origin is not allowed", {}};
  }
  if (!service.keys.admits(headers))
    return {401, "no valid API key, expected the header 'Authorization: Bearer KEY' or 'x-api-key: KEY'", {{"WWW-Authenticate", "Bearer"}}};
  return {};
}

Refusal body_problem(const Service& service, const Route& route, const Headers& headers, std::optional<uint64_t> length, size_t limit) {
  const bool has_body = length.value_or(0) > 0 || headers.count("transfer-encoding") > 0;
  const auto& types = route.options.content_types;
  if (has_body && !types.empty()) {
    const std::string type = media_type(headers.get("content-type"));
    if (std::find(types.begin(), types.end(), type) == types.end()) {
      std::string expected;
      for (const std::string& t : types) expected += (expected.empty() ? "" : " or ") + t;
      return {415, "the Content-Type of the request's body is not supported, expected " + expected, {}};
    }
  }
  if (length.value_or(0) > limit) return {413, "the request's body is too large, expected at most " + std::to_string(limit) + " bytes", {}};
  if (service.body_bytes + length.value_or(0) > service.options.limits.total_body_bytes)
    return {503, "the server holds too many requests, try again later", {}};
  return {};
}

std::string list_of(const std::vector<std::string>& methods) {
  std::string list;
  for (const std::string& method : methods) list += (list.empty() ? "" : ", ") + method;
  return list;
}

}  // namespace

Admission admit(const Service& service, RequestParser& parser, const std::string& client, bool is_https, bool busy) {
  Admission result;
  Request& request = result.request;
  request.method = parser.method();
  request.headers = std::move(parser.headers());
  request.client = client;
  request.is_https = is_https;
  request.id = request_id(request.headers.get("x-request-id"));
  auto target = parse_target(parser.target());
  if (target) {
    request.path = std::move(target->path);
    request.query = std::move(target->query);
  }
  result.frame.is_http11 = parser.is_http11();
  result.frame.keep_alive = parser.keep_alive();
  result.frame.head_only = request.method == "HEAD";
  result.frame.path = request.path;
  result.frame.error_page = service.options.error_page;
  result.frame.headers = service.origins.headers_for(request.headers);
  result.frame.headers.emplace_back("X-Request-Id", request.id);

  const auto refuse = [&](Refusal refusal) -> Admission&& {
    if (refusal.status == 503) refusal.headers.emplace_back("Retry-After", std::to_string(service.options.limits.retry_after));
    result.status = refusal.status;
    result.message = std::move(refusal.message);
    result.headers = std::move(refusal.headers);
    return std::move(result);
  };
  const Headers& headers = request.headers;
  if (Refusal problem = header_problem(parser, headers, target.has_value()); problem.status) return refuse(std::move(problem));

  Routes::Match match = service.routes.find(request.method, request.path);
  if (request.method == "OPTIONS" && (!match.allowed.empty() || request.path == "*")) {
    if (headers.count("access-control-request-method") == 0)
      return refuse({204, "", {{"Allow", request.path == "*" ? "GET, HEAD, OPTIONS, POST" : list_of(match.allowed)}}});
    auto allowed = service.origins.preflight(headers, match.allowed);
    if (!allowed) return refuse({403, "this origin is not allowed", {}});
    return refuse({204, "", std::move(*allowed)});
  }
  if (!match.route || !match.route->options.open)
    if (Refusal problem = access_problem(service, headers); problem.status) return refuse(std::move(problem));
  if (!match.route && match.allowed.empty()) return refuse({404, "there is no " + request.path, {}});
  if (!match.route) return refuse({405, request.path + " does not support " + request.method, {{"Allow", list_of(match.allowed)}}});
  if (busy && !match.route->options.at_once)
    return refuse({503, *service.draining ? "the server is shutting down" : "the server has too many connections, try again later", {}});
  result.body_limit = match.route->options.body_bytes.value_or(service.options.limits.body_bytes);
  if (Refusal problem = body_problem(service, *match.route, headers, parser.content_length(), result.body_limit); problem.status)
    return refuse(std::move(problem));
  result.expects_continue = headers.count("expect") > 0 && parser.is_http11();
  result.route = match.route;
  request.params = std::move(match.params);
  return result;
}

}  // namespace hearth::http
