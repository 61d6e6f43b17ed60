// Keys, host names, origins: the rules, and what a client sees of them.
#include "server/http/access.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "server/http/client_test.h"
#include "support/complaint.h"

namespace hearth::http::test {
namespace {

using hearth::test::complaint_of;

Headers with(std::initializer_list<std::pair<const char*, const char*>> fields) {
  Headers headers;
  for (const auto& [name, value] : fields) headers.add(name, value);
  return headers;
}

Routes routes() {
  Routes routes;
  const auto ok = [](const Request&, const Responder& to) { to.respond(200, "text/plain", "ok"); };
  routes.add("GET", "/health", ok, {.open = true, .at_once = true});
  routes.add("GET", "/data", ok);
  routes.add("POST", "/data", ok);
  routes.add("POST", "/json", ok, {.content_types = {"application/json"}});
  return routes;
}

TEST(Keys, BothHeadersAndEveryKeyAreAdmitted) {
  const KeyRing keys({"first-key", "second-key"});
  EXPECT_TRUE(keys.admits(with({{"Authorization", "Bearer first-key"}})));
  EXPECT_TRUE(keys.admits(with({{"authorization", "bearer  second-key "}})));
  EXPECT_TRUE(keys.admits(with({{"X-API-Key", "second-key"}})));
  for (const char* wrong : {"", "first-ke", "first-keyx", "FIRST-KEY", "first-key,second-key"}) {
    EXPECT_FALSE(keys.admits(with({{"x-api-key", wrong}}))) << wrong;
    EXPECT_FALSE(keys.admits(with({{"Authorization", fmt::format("Bearer {}", wrong).c_str()}}))) << wrong;
  }
  EXPECT_FALSE(keys.admits(with({{"Authorization", "first-key"}})));
  EXPECT_FALSE(keys.admits(with({{"Authorization", "Basic first-key"}})));
  EXPECT_FALSE(keys.admits({}));
  EXPECT_TRUE(KeyRing({}).admits({}));
  EXPECT_EQ(complaint_of([] {
              KeyRing({"ok", ""});
            }),
            "UsageError: API key 2 is empty or has blanks or control characters, expected printable ASCII");
  EXPECT_NE(complaint_of([] { KeyRing({"a b"}); }), "");
}

TEST(Keys, OnlyOpenRoutesAnswerWithoutAKey) {
  ServerOptions options;
  options.api_keys = {"key"};
  const auto server = serve(routes(), options);
  EXPECT_EQ(ask(server->port(), get("/health")).status, 200);
  const Reply refused = ask(server->port(), get("/data"));
  EXPECT_EQ(refused.status, 401);
  EXPECT_EQ(refused.headers.get("www-authenticate"), "Bearer");
  EXPECT_EQ(ask(server->port(), get("/data", "Authorization: Bearer wrong\r\n")).status, 401);
  EXPECT_EQ(ask(server->port(), get("/data", "Authorization: Bearer key\r\n")).status, 200);
  EXPECT_EQ(ask(server->port(), get("/data", "x-api-key: key\r\n")).status, 200);
  // Without a key nobody learns which paths exist, nor sends a body.
  EXPECT_EQ(ask(server->port(), get("/none")).status, 401);
  EXPECT_EQ(ask(server->port(), get("/none", "x-api-key: key\r\n")).status, 404);
  EXPECT_EQ(ask(server->port(), "POST /data HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n").status, 401);
}

TEST(Origins, OnlyThoseOfTheListAreEchoed) {
  const Origins origins({"https://chat.example", "http://LOCALHOST:3000"});
  const auto allowed = [&](const char* origin) {
    for (const auto& [name, value] : origins.headers_for(with({{"Origin", origin}})))
      if (name == "Access-Control-Allow-Origin") return value;
    return std::string();
  };
  EXPECT_EQ(allowed("https://chat.example"), "https://chat.example");
  EXPECT_EQ(allowed("http://localhost:3000"), "http://localhost:3000");
  for (const char* other : {"https://chat.example.evil", "http://chat.example", "https://chat.example:444", "https://evil", "null", ""})
    EXPECT_EQ(allowed(other), "") << other;
  EXPECT_EQ(Origins({"*"}).headers_for(with({{"Origin", "https://any"}}))[0].second, "*");
  EXPECT_TRUE(Origins({}).headers_for(with({{"Origin", "https://any"}})).empty());
  for (const char* bad : {"chat.example", "https://", "https://a/b", "*.example", "https://*.example", ""})
    EXPECT_NE(complaint_of([&] { Origins({bad}); }), "") << bad;
}

TEST(Origins, PreflightsNeedNoKey) {
  ServerOptions options;
  options.api_keys = {"key"};
  options.cors_origins = {"https://chat.example"};
  const auto server = serve(routes(), options);
  const auto preflight = [&](const char* origin, const char* path = "/data") {
    return ask(server->port(), fmt::format("OPTIONS {} HTTP/1.1\r\nHost: h\r\nOrigin: {}\r\nAccess-Control-Request-Method: POST\r\n"
                                           "Access-Control-Request-Headers: authorization, x-stainless-os\r\n\r\n",
                                           path, origin));
  };
  const Reply allowed = preflight("https://chat.example");
  EXPECT_EQ(allowed.status, 204);
  EXPECT_EQ(allowed.headers.get("access-control-allow-origin"), "https://chat.example");
  EXPECT_EQ(allowed.headers.get("access-control-allow-methods"), "GET, HEAD, OPTIONS, POST");
  EXPECT_EQ(allowed.headers.get("access-control-allow-headers"), "authorization, x-stainless-os");
  EXPECT_EQ(allowed.headers.get("access-control-allow-credentials"), "");
  EXPECT_EQ(allowed.headers.get("vary"), "Origin");
  const Reply refused = preflight("https://evil.example");
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(refused.headers.get("access-control-allow-origin"), "");
  EXPECT_EQ(preflight("https://chat.example", "/none").status, 401);
  const Reply data = ask(server->port(), get("/data", "x-api-key: key\r\nOrigin: https://chat.example\r\n"));
  EXPECT_EQ(data.headers.get("access-control-allow-origin"), "https://chat.example");
  // An error can be read by the page, too.
  EXPECT_EQ(ask(server->port(), get("/data", "Origin: https://chat.example\r\n")).headers.get("access-control-allow-origin"),
            "https://chat.example");
}

// Without keys a web page could use the server of whoever visits it.
TEST(Origins, WithoutKeysOtherSitesAreRefused) {
  ServerOptions options;
  options.host_names = {"proxy.example"};
  options.cors_origins = {"https://chat.example"};
  const auto server = serve(routes(), options);
  const auto status = [&](const std::string& host, const std::string& origin, const char* path = "/data") {
    return ask(server->port(), fmt::format("POST {} HTTP/1.1\r\nHost: {}\r\n{}Content-Length: 0\r\n\r\n", path, host,
                                           origin.empty() ? "" : "Origin: " + origin + "\r\n"))
        .status;
  };
  for (const char* own : {"localhost", "LocalHost:8080", "127.0.0.1:1", "127.1.2.3", "[::1]:80", "proxy.example:443"})
    EXPECT_EQ(status(own, ""), 200) << own;
  for (const char* other : {"evil.example", "127.evil.example", "localhost.evil.example:80", "10.0.0.1", "::1", ""})
    EXPECT_EQ(status(other, ""), 403) << other;
  EXPECT_EQ(status("localhost:80", "http://localhost:80"), 200);
  EXPECT_EQ(status("localhost:80", "https://chat.example"), 200);
  EXPECT_EQ(status("localhost:80", "http://localhost:81"), 403);
  EXPECT_EQ(status("localhost:80", "https://evil.example"), 403);
  EXPECT_EQ(status("localhost:80", "null"), 403);
  EXPECT_EQ(ask(server->port(), get("/health", "Origin: https://evil.example\r\n")).status, 200);
}

TEST(ContentTypes, OthersAreA415) {
  const auto server = serve(routes());
  EXPECT_EQ(ask(server->port(), post("/json", "{}", "Content-Type: application/json\r\n")).status, 200);
  EXPECT_EQ(ask(server->port(), post("/json", "{}", "Content-Type: Application/JSON; charset=utf-8\r\n")).status, 200);
  EXPECT_EQ(ask(server->port(), post("/json", "")).status, 200);
  const Reply refused = ask(server->port(), post("/json", "{}", "Content-Type: text/plain\r\n"));
  EXPECT_EQ(refused.status, 415);
  EXPECT_EQ(refused.body, "the Content-Type of the request's body is not supported, expected application/json\n");
  EXPECT_EQ(ask(server->port(), post("/json", "{}")).status, 415);
}

}  // namespace
}  // namespace hearth::http::test
