// The end of a server: what runs is answered, the rest does not delay it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>

#include "server/http/client_test.h"

namespace hearth::http::test {
namespace {

struct Waiting {
  std::mutex mutex;
  std::vector<Responder> responders;  // under mutex

  Routes routes() {
    Routes routes;
    routes.add("GET", "/health", [](const Request&, const Responder& to) { to.respond(200, "text/plain", "ok"); },
               {.open = true, .at_once = true});
    routes.add("GET", "/wait", [this](const Request&, const Responder& to) {
      const std::scoped_lock lock(mutex);
      responders.push_back(to);
    });
    routes.add("POST", "/data", [](const Request&, const Responder& to) { to.respond(200, "text/plain", "ok"); });
    return routes;
  }
  size_t count() {
    const std::scoped_lock lock(mutex);
    return responders.size();
  }
};

// drain() on a thread of its own.
struct Draining {
  Draining(HttpServer& server, Milliseconds patience)
      : done(std::async(std::launch::async, [&server, patience] { return server.drain(patience); })) {}
  bool ends_in(Milliseconds time) { return done.wait_for(time) == std::future_status::ready; }
  std::future<bool> done;
};

TEST(Drain, IdleConnectionsDoNotDelayIt) {
  Waiting waiting;
  const auto server = serve(waiting.routes());
  Client fresh(server->port()), used(server->port()), half(server->port());
  used.send(get("/health"));
  EXPECT_EQ(used.reply().status, 200);
  half.send("GET /health HT");
  ASSERT_TRUE(eventually([&] { return server->counts().connections == 3; }));
  const auto began = steady_clock::now();
  EXPECT_TRUE(server->drain(30s));
  EXPECT_LT(steady_clock::now() - began, 5s);
  for (Client* client : {&fresh, &used, &half}) {
    std::string nothing;
    EXPECT_TRUE(client->ended_after(nothing));
    EXPECT_EQ(nothing, "");
  }
}

TEST(Drain, WhatRunsIsAnsweredAndNothingElse) {
  Waiting waiting;
  const auto server = serve(waiting.routes());
  Client whole(server->port()), stream(server->port()), upload(server->port()), pipelined(server->port());
  whole.send(get("/wait"));
  ASSERT_TRUE(eventually([&] { return waiting.count() == 1; }));
  stream.send(get("/wait"));
  ASSERT_TRUE(eventually([&] { return waiting.count() == 2; }));
  waiting.responders[1].begin_stream(200, "text/plain");
  waiting.responders[1].write("begun, ");
  pipelined.send(get("/wait"));
  ASSERT_TRUE(eventually([&] { return waiting.count() == 3; }));
  pipelined.send(get("/health"));
  upload.send("POST /data HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nx");
  ASSERT_TRUE(eventually([&] { return server->counts().body_bytes == 1; }));

  Draining draining(*server, 30s);
  const Reply refused = upload.reply();
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.body, "the server is shutting down\n");
  EXPECT_EQ(refused.headers.get("retry-after"), "1");
  upload.close();
  EXPECT_FALSE(Client(server->port()).send(get("/health"))) << "the port is closed";
  EXPECT_FALSE(draining.ends_in(100ms));
  waiting.responders[0].respond(200, "text/plain", "whole");
  const Reply reply = whole.reply();
  EXPECT_EQ(reply.body, "whole");
  EXPECT_EQ(reply.headers.get("connection"), "close");
  EXPECT_TRUE(whole.ended());
  waiting.responders[1].write("ended");
  waiting.responders[1].end();
  EXPECT_EQ(stream.reply().body, "begun, ended");
  EXPECT_TRUE(stream.ended());
  EXPECT_FALSE(draining.ends_in(50ms));
  waiting.responders[2].respond(200, "text/plain", "third");
  EXPECT_EQ(pipelined.reply().body, "third");
  std::string rest;
  EXPECT_TRUE(pipelined.ended_after(rest));
  EXPECT_EQ(rest, "");
  pipelined.close();
  ASSERT_TRUE(draining.ends_in(5s));
  EXPECT_TRUE(draining.done.get());
}

TEST(Drain, HandlersThatWaitForAThreadStillRun) {
  std::promise<void> go;
  const std::shared_future<void> gone = go.get_future().share();
  Routes routes;
  routes.add("GET", "/work", [&](const Request&, const Responder& to) {
    gone.wait();
    to.respond(200, "text/plain", "done");
  });
  const auto server = serve(std::move(routes), {.handler_threads = 1});
  std::vector<Client> clients;
  for (int i = 0; i < 4; ++i) {
    clients.emplace_back(server->port());
    clients.back().send(get("/work"));
  }
  ASSERT_TRUE(eventually([&] { return server->counts().requests == 4; }));
  Draining draining(*server, 30s);
  EXPECT_FALSE(draining.ends_in(50ms));
  go.set_value();
  for (Client& client : clients) EXPECT_EQ(client.reply().body, "done");
  EXPECT_TRUE(draining.done.get());
}

TEST(Drain, WhatTakesTooLongIsDropped) {
  Waiting waiting;
  const auto server = serve(waiting.routes());
  Client client(server->port());
  client.send(get("/wait"));
  ASSERT_TRUE(eventually([&] { return waiting.count() == 1; }));
  std::atomic<int> calls{0};
  waiting.responders[0].on_disconnect([&] { ++calls; });
  const auto began = steady_clock::now();
  EXPECT_FALSE(server->drain(100ms));
  EXPECT_LT(steady_clock::now() - began, 5s);
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(client.ended());
  EXPECT_EQ(waiting.responders[0].respond(200, "text/plain", ""), Sent::gone);
}

TEST(Drain, StopAcceptingLeavesConnectionsAlone) {
  Waiting waiting;
  const auto server = serve(waiting.routes());
  Client client(server->port());
  client.send(get("/health"));
  EXPECT_EQ(client.reply().status, 200);
  server->stop_accepting();
  EXPECT_FALSE(Client(server->port()).send("x"));
  client.send(get("/health"));
  EXPECT_EQ(client.reply().status, 200);
}

}  // namespace
}  // namespace hearth::http::test
