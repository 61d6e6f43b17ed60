// Every limit and every time-out, and malformed requests.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <utility>

#include "server/http/client_test.h"

namespace hearth::http::test {
namespace {

void ok(const Request&, const Responder& to) { to.respond(200, "text/plain", "ok"); }

Routes routes() {
  Routes routes;
  routes.add("GET", "/health", ok, {.open = true, .at_once = true});
  routes.add("POST", "/data", ok);
  routes.add("POST", "/large", ok, {.body_bytes = 5000});
  return routes;
}

constexpr std::string_view upload = "POST /data HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n";

TEST(Limits, Header) {
  ServerOptions options;
  options.limits.header_bytes = 1000;
  const auto server = serve(routes(), options);
  EXPECT_EQ(ask(server->port(), get("/health", fmt::format("A: {}\r\n", std::string(900, 'x')))).status, 200);
  EXPECT_EQ(ask(server->port(), get("/health", fmt::format("A: {}\r\n", std::string(1000, 'x')))).status, 431);
  EXPECT_EQ(ask(server->port(), get("/" + std::string(2000, 'x'))).status, 431);
  EXPECT_EQ(ask(server->port(), std::string(2000, 'x')).status, 431);
  // Many small fields, each in a packet of its own.
  Client client(server->port());
  client.send("GET /health HTTP/1.1\r\nHost: localhost\r\n");
  for (int i = 0; i < 100 && client.send("Name: value 1234\r\n"); ++i) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(client.reply().status, 431);
  EXPECT_TRUE(client.ended());
}

TEST(Limits, Body) {
  ServerOptions options;
  options.limits.body_bytes = 1000;
  const auto server = serve(routes(), options);
  EXPECT_EQ(ask(server->port(), post("/data", std::string(1000, 'x'))).status, 200);
  EXPECT_EQ(ask(server->port(), post("/large", std::string(5000, 'x'))).status, 200);
  EXPECT_EQ(ask(server->port(), post("/large", std::string(5001, 'x'))).status, 413);
  const Reply refused = ask(server->port(), post("/data", std::string(1001, 'x')));
  EXPECT_EQ(refused.status, 413);
  EXPECT_EQ(refused.body, "the request's body is too large, expected at most 1000 bytes\n");
  EXPECT_EQ(refused.headers.get("connection"), "close");
  // The client sees the refusal of a large body although it goes on sending.
  EXPECT_EQ(ask(server->port(), post("/data", std::string(5'000'000, 'x'))).status, 413);
  // A chunk of any announced size counts as what arrives.
  Client client(server->port());
  client.send("POST /data HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n7fffffffffffffff\r\n");
  client.send(std::string(1001, 'x'));
  EXPECT_EQ(client.reply().status, 413);
  EXPECT_EQ(ask(server->port(), "POST /data HTTP/1.1\r\nHost: localhost\r\nContent-Length: 18446744073709551615\r\n\r\n").status, 413);
  EXPECT_TRUE(eventually([&] { return server->counts().body_bytes == 0; }));
}

TEST(Limits, BodiesOfAllRequests) {
  ServerOptions options;
  options.limits.total_body_bytes = 250;
  options.limits.retry_after = 7;
  Routes table = routes();
  std::promise<Responder> waiting;
  table.add("POST", "/wait", [&](const Request&, const Responder& to) { waiting.set_value(to); });
  const auto server = serve(std::move(table), options);
  Client first(server->port()), second(server->port());
  first.send(post("/wait", std::string(100, 'x')));
  const Responder to = received(waiting);
  EXPECT_EQ(server->counts().body_bytes, 100u);
  second.send("POST /data HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n64\r\n" + std::string(100, 'x'));
  ASSERT_TRUE(eventually([&] { return server->counts().body_bytes == 200; }));
  const Reply refused = ask(server->port(), post("/data", std::string(100, 'x')));
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.headers.get("retry-after"), "7");
  second.send("\r\n64\r\n" + std::string(100, 'x'));
  EXPECT_EQ(second.reply().status, 503);
  to.respond(200, "text/plain", "ok");
  EXPECT_EQ(first.reply().status, 200);
  EXPECT_EQ(ask(server->port(), post("/data", std::string(100, 'x'))).status, 200);
}

TEST(Limits, WaitingHandlers) {
  ServerOptions options;
  options.handler_threads = 2;
  options.limits.handler_queue = 3;
  Routes table = routes();
  std::promise<void> go;
  const std::shared_future<void> gone = go.get_future().share();
  std::atomic<int> running{0};
  table.add("POST", "/work", [&](const Request&, const Responder& to) {
    ++running;
    gone.wait();
    to.respond(200, "text/plain", "done");
  });
  const auto server = serve(std::move(table), options);
  std::vector<Client> clients;
  for (int i = 0; i < 5; ++i) {
    clients.emplace_back(server->port());
    clients.back().send(post("/work", "x"));
    ASSERT_TRUE(eventually([&] { return server->counts().requests == i + 1 && running == std::min(i + 1, 2); }));
  }
  EXPECT_EQ(server->counts().waiting_handlers, 3);
  Client overload(server->port());
  for (int i = 0; i < 3; ++i) {  // on one connection: it stays usable
    overload.send(post("/work", "x"));
    const Reply refused = overload.reply(5s);
    EXPECT_EQ(refused.status, 503);
    EXPECT_EQ(refused.headers.get("retry-after"), "1");
  }
  overload.send(get("/health"));
  EXPECT_EQ(overload.reply(5s).status, 200);
  EXPECT_EQ(server->counts().refused, 3u);
  go.set_value();
  for (Client& client : clients) EXPECT_EQ(client.reply().body, "done");
}

TEST(Limits, ConnectionsMakeRoomForNewOnes) {
  ServerOptions options;
  options.limits.connections = 4;
  Routes table = routes();
  std::mutex mutex;
  std::vector<Responder> running;
  table.add("GET", "/wait", [&](const Request&, const Responder& to) {
    const std::scoped_lock lock(mutex);
    running.push_back(to);
  });
  const auto count = [&] {
    const std::scoped_lock lock(mutex);
    return running.size();
  };
  const auto server = serve(std::move(table), options);
  std::vector<Client> idle;
  for (int i = 0; i < 4; ++i) {
    idle.emplace_back(server->port());
    idle.back().send(get("/health"));
    EXPECT_EQ(idle.back().reply().status, 200);
  }
  // Each new one closes the one that has waited longest.
  std::vector<Client> busy;
  for (size_t i = 0; i < 4; ++i) {
    busy.emplace_back(server->port());
    busy.back().send(get("/wait"));
    ASSERT_TRUE(eventually([&] { return count() == i + 1; })) << i;
    EXPECT_TRUE(idle[i].ended(5s));
  }
  // All are busy: health is answered, the rest refused.
  EXPECT_EQ(ask(server->port(), get("/health")).status, 200);
  const Reply refused = ask(server->port(), post("/data", "x"));
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.headers.get("connection"), "close");
  EXPECT_EQ(refused.headers.get("retry-after"), "1");
  for (const Responder& to : running) to.respond(200, "text/plain", "done");
  for (Client& client : busy) EXPECT_EQ(client.reply().body, "done");
}

// --- time ---

ServerOptions hasty() {
  ServerOptions options;
  options.limits.header_time = 150ms;
  options.limits.body_time = 150ms;
  options.limits.idle_time = 300ms;
  options.limits.slowest = 1 << 20;
  return options;
}

TEST(Times, SlowHeader) {
  const auto server = serve(routes(), hasty());
  Client client(server->port());
  const auto began = steady_clock::now();
  std::string rest = "GET /health HTTP/1.1\r\nHost: localhost\r\n";
  for (int i = 0; i < 100; ++i) rest += "A: b\r\n";
  for (const char c : rest) {  // always some progress
    if (!client.send({&c, 1})) break;
    std::this_thread::sleep_for(5ms);
    if (steady_clock::now() - began > 400ms) break;
  }
  EXPECT_EQ(client.reply().status, 408);
  EXPECT_TRUE(client.ended());
  EXPECT_LT(steady_clock::now() - began, 5s);
}

TEST(Times, SlowBody) {
  const auto server = serve(routes(), hasty());
  Client client(server->port());
  client.send(upload);
  for (int i = 0; i < 30 && client.send("x"); ++i) std::this_thread::sleep_for(10ms);
  const Reply reply = client.reply();
  EXPECT_EQ(reply.status, 408);
  EXPECT_EQ(reply.body, "the request's body did not arrive in time\n");
  EXPECT_TRUE(client.ended());
}

TEST(Times, ABodyThatAlwaysMakesSomeProgressHasThemToo) {
  const auto server = serve(routes(), hasty());
  Client client(server->port());
  client.send("POST /data HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n");
  std::atomic<bool> stop{false};
  std::thread sender([&] {
    while (!stop && client.send("x")) std::this_thread::sleep_for(10ms);
  });
  EXPECT_EQ(client.reply(5s).status, 408);
  stop = true;
  sender.join();
}

TEST(Times, ALargeBodyMayTakeLonger) {
  ServerOptions options = hasty();
  options.limits.slowest = 10'000;
  const auto server = serve(routes(), options);
  Client client(server->port());
  std::string header = "POST /data HTTP/1.1\r\nHost: localhost\r\nContent-Length: 60000\r\n\r\n";
  for (int i = 0; i < 6; ++i) {  // twice the time of a short body, at four times the slowest rate
    client.send(std::exchange(header, "") + std::string(10'000, 'x'));
    std::this_thread::sleep_for(50ms);
  }
  EXPECT_EQ(client.reply().status, 200);
}

TEST(Times, IdleConnections) {
  const auto server = serve(routes(), hasty());
  Client fresh(server->port()), used(server->port());
  used.send(get("/health"));
  EXPECT_EQ(used.reply().status, 200);
  std::string nothing;
  EXPECT_TRUE(fresh.ended_after(nothing, 5s));
  EXPECT_TRUE(used.ended_after(nothing, 5s));
  EXPECT_EQ(nothing, "");
  EXPECT_TRUE(eventually([&] { return server->counts().connections == 0; }));
}

TEST(Times, ARequestAtWorkHasNone) {
  Routes table = routes();
  std::promise<Responder> waiting;
  table.add("GET", "/wait", [&](const Request&, const Responder& to) { waiting.set_value(to); });
  const auto server = serve(std::move(table), hasty());
  Client client(server->port());
  client.send(get("/wait"));
  const Responder to = received(waiting);
  std::this_thread::sleep_for(600ms);
  EXPECT_EQ(to.respond(200, "text/plain", "late"), Sent::queued);
  EXPECT_EQ(client.reply().body, "late");
}

// --- malformed requests ---

TEST(Malformed, GetsOneErrorAndTheEndOfTheConnection) {
  const auto server = serve(routes());
  const std::vector<std::pair<std::string, int>> cases = {
      {"\x16\x03\x01 TLS to a plain port\r\n\r\n", 400},
      {"GET\r\n\r\n", 400},
      {"GET /health\r\n\r\n", 400},
      {"GET  /health HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"GET /health HTTP/2.0\r\nHost: a\r\n\r\n", 505},
      {"GET /health HTTP/1.1\r\n\r\n", 400},
      {"GET /health HTTP/1.1\r\nHost: localhost\r\nHost: b\r\n\r\n", 400},
      {"GET /health HTTP/1.1\r\nHost: localhost\r\nBad Name: b\r\n\r\n", 400},
      {"GET /health HTTP/1.1\r\nHost: localhost\r\nName : b\r\n\r\n", 400},
      {"GET /health HTTP/1.1\r\nHost: localhost\r\nName: a\x01z\r\n\r\n", 400},
      {"GET /health HTTP/1.1\nHost: localhost\n\n", 505},
      {"GET health HTTP/1.1\r\nHost: localhost\r\n\r\n", 400},
      {"GET /%zz HTTP/1.1\r\nHost: localhost\r\n\r\n", 400},
      {"GET /a%00b HTTP/1.1\r\nHost: localhost\r\n\r\n", 400},
      {"CONNECT host:443 HTTP/1.1\r\nHost: localhost\r\n\r\n", 400},
      {"POST /data HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n", 400},
      {"POST /data HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n", 400},
      {"POST /data HTTP/1.1\r\nHost: localhost\r\nContent-Length: +1\r\n\r\nx", 400},
      {"POST /data HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx", 400},
      {"POST /data HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
      {"POST /data HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n0\r\n\r\n", 400},
      {"POST /data HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n\r\n", 501},
      {"POST /data HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked, gzip\r\n\r\n", 501},
      {"POST /data HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501},
      {"POST /data HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
      {"POST /data HTTP/1.0\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
      {"POST /data HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400},
      {"POST /data HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n", 400},
      {"POST /data HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n3;" + std::string(60'000, 'x'), 400},
  };
  for (const auto& [request, status] : cases) {
    Client client(server->port());
    client.send(request);
    EXPECT_EQ(client.reply().status, status) << request.substr(0, 200);
    // Nothing that follows is taken for a request.
    client.send(get("/health"));
    std::string rest;
    EXPECT_TRUE(client.ended_after(rest)) << request.substr(0, 200);
    EXPECT_EQ(rest, "") << request.substr(0, 200);
  }
  EXPECT_EQ(ask(server->port(), "\r\n\r\n" + get("/health")).status, 200) << "empty lines before a request are allowed";
}

}  // namespace
}  // namespace hearth::http::test
