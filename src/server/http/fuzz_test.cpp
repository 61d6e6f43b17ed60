// Mutations of valid requests against a live server: it never crashes, never hangs, and answers with nothing but its own statuses.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <set>

#include "server/http/client_test.h"

namespace hearth::http::test {
namespace {

std::string mutated(std::string text, const std::vector<std::string>& sound, std::mt19937& random) {
  static const std::string bytes(
      "\r\n \t:;=,/?%#\0\xff\x7f"
      "0Ff9Gz-+",
      23);
  for (int edits = 1 + int(random() % 4); edits > 0 && !text.empty(); --edits) {
    const size_t at = random() % text.size();
    const std::string& other = sound[random() % sound.size()];
    switch (random() % 7) {
      case 0: text.erase(at, 1 + random() % 10); break;
      case 1: text.insert(at, 1, bytes[random() % bytes.size()]); break;
      case 2: text[at] = bytes[random() % bytes.size()]; break;
      case 3: text[at] = char(text[at] ^ (1 << random() % 8)); break;
      case 4: text.insert(at, other, random() % other.size(), random() % 30); break;
      case 5: text.insert(at, text.substr(at, random() % 40)); break;
      default: text.insert(at, std::string(random() % 3000, bytes[random() % bytes.size()]));
    }
  }
  return text;
}

TEST(Fuzz, MutatedRequests) {
  Routes routes;
  const auto echo = [](const Request& request, const Responder& to) {
    to.respond(200, "text/plain", request.body + std::string(request.query_value("q")));
  };
  routes.add("GET", "/health", echo, {.open = true, .at_once = true});
  routes.add("POST", "/v1/chat/{name}", echo, {.content_types = {"application/json"}});
  routes.add("POST", "/stream", [](const Request& request, const Responder& to) {
    to.begin_stream(200, "text/event-stream");
    to.write(request.body);
    to.end();
  });
  ServerOptions options;
  options.cors_origins = {"https://chat.example"};
  options.limits.header_bytes = 2000;
  options.limits.body_bytes = 2000;
  options.limits.header_time = options.limits.body_time = options.limits.idle_time = 100ms;
  options.limits.slowest = 1 << 20;
  const auto server = serve(std::move(routes), options);
  const std::vector<std::string> sound = {
      get("/health?q=%20a+b", "X-Request-Id: id\r\nConnection: keep-alive\r\n"),
      post("/v1/chat/a%2Fb", "{\"a\": 1}", "Content-Type: application/json\r\nAuthorization: Bearer key\r\n"),
      "POST /stream HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5;a=\"b\"\r\nhello\r\n1\r\n \r\n0\r\nTrailer: "
      "x\r\n\r\n",
      "POST /stream HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\nhello",
      "OPTIONS /health HTTP/1.1\r\nHost: localhost\r\nOrigin: https://chat.example\r\nAccess-Control-Request-Method: GET\r\n\r\n",
      "GET http://localhost/health HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
  };
  const std::set<std::string> expected = {"100", "200", "204", "400", "403", "404", "405", "408", "413", "415", "417", "431", "501", "505"};
  const char* const rounds = std::getenv("HEARTH_FUZZ_ROUNDS");  // for a long run; each number makes other requests
  std::mt19937 random(rounds ? unsigned(std::atoi(rounds)) : 7);
  std::set<std::string> seen;
  for (int round = rounds ? std::atoi(rounds) : 40; round > 0; --round) {
    // Many at once, so that those which wait for a time-out do not add up.
    std::vector<std::pair<Client, std::string>> clients;
    for (int i = 0; i < 30; ++i) {
      clients.emplace_back(Client(server->port()), mutated(sound[random() % sound.size()], sound, random) + (random() % 2 ? sound[0] : ""));
      auto& [client, text] = clients.back();
      const size_t cut = random() % text.size();  // in two packets
      client.send(text.substr(0, cut));
      client.send(text.substr(cut));
      if (random() % 4 == 0) client.end_sending();
    }
    for (auto& [client, text] : clients) {
      std::string answer;
      ASSERT_TRUE(client.ended_after(answer, 20s)) << text;
      for (size_t at = 0; (at = answer.find("HTTP/1.1 ", at)) != std::string::npos; at += 12) {
        const std::string status = answer.substr(at + 9, 3);
        EXPECT_TRUE(expected.count(status)) << status << "\n" << text;
        seen.insert(status);
      }
    }
  }
  EXPECT_TRUE(eventually([&] { return server->counts().connections == 0; }));
  EXPECT_EQ(server->counts().requests, 0);
  EXPECT_EQ(server->counts().body_bytes, 0u);
  EXPECT_GE(seen.size(), 9u) << fmt::format("{}", fmt::join(seen, " "));
}

}  // namespace
}  // namespace hearth::http::test
