// Clients that vanish, and clients that do not read.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <thread>

#include "server/http/client_test.h"

namespace hearth::http::test {
namespace {

// A route that hands its responder to the test.
struct Caught {
  std::promise<Responder> promise;
  std::atomic<int> calls{0};

  Routes routes(bool stream) {
    Routes routes;
    routes.add("POST", "/run", [this, stream](const Request&, const Responder& to) {
      to.on_disconnect([this] { ++calls; });
      if (stream) to.begin_stream(200, "text/event-stream");
      promise.set_value(to);
    });
    return routes;
  }
  Responder responder() { return received(promise); }
};

class DisconnectReport : public ::testing::TestWithParam<std::tuple<bool, bool>> {};

TEST_P(DisconnectReport, ComesOnceAlsoWhileNothingIsWritten) {
  const auto [stream, reset] = GetParam();
  Caught caught;
  const auto server = serve(caught.routes(stream));
  Client client(server->port());
  client.send(post("/run", "{}"));
  const Responder to = caught.responder();
  EXPECT_EQ(server->counts().requests, 1);
  if (stream) { EXPECT_NE(client.read_until("\r\n\r\n"), ""); }
  EXPECT_FALSE(to.gone());
  const auto left = steady_clock::now();
  if (reset) {
    client.reset();
  } else {
    client.close();
  }
  ASSERT_TRUE(eventually([&] { return caught.calls == 1; }));
  EXPECT_LT(steady_clock::now() - left, 5s);
  EXPECT_TRUE(to.gone());
  EXPECT_EQ(to.write("x"), Sent::gone);
  EXPECT_EQ(to.end(), Sent::gone);
  EXPECT_EQ(to.respond(200, "text/plain", ""), Sent::gone);
  EXPECT_EQ(to.queued_bytes(), 0u);
  EXPECT_TRUE(eventually([&] { return server->counts().connections == 0; }));
  EXPECT_EQ(server->counts().requests, 0);
  EXPECT_EQ(server->counts().body_bytes, 0u);
  int late = 0;
  to.on_disconnect([&] { ++late; });
  EXPECT_EQ(late, 0) << "it was reported already";
  EXPECT_EQ(caught.calls, 1);
}
INSTANTIATE_TEST_SUITE_P(All, DisconnectReport, ::testing::Combine(::testing::Bool(), ::testing::Bool()));

TEST(Disconnect, ACallbackThatComesLateIsCalledAtOnce) {
  Routes routes;
  std::promise<Responder> promise;
  routes.add("GET", "/run", [&](const Request&, const Responder& to) { promise.set_value(to); });
  const auto server = serve(std::move(routes));
  Client client(server->port());
  client.send(get("/run"));
  const Responder to = received(promise);
  client.close();
  ASSERT_TRUE(eventually([&] { return to.gone(); }));
  int calls = 0;
  to.on_disconnect([&] { ++calls; });
  to.on_disconnect([&] { ++calls; });
  EXPECT_EQ(calls, 1);
}

TEST(Disconnect, IsNotReportedAfterTheResponse) {
  Caught caught;
  const auto server = serve(caught.routes(true));
  Client client(server->port());
  client.send(post("/run", "{}"));
  const Responder to = caught.responder();
  to.write("data");
  to.end();
  EXPECT_EQ(client.reply().body, "data");
  client.close();
  EXPECT_TRUE(eventually([&] { return server->counts().connections == 0; }));
  EXPECT_EQ(caught.calls, 0);
}

TEST(Disconnect, ARequestThatWaitsForAThreadIsForgotten) {
  Routes routes;
  std::promise<void> go;
  const std::shared_future<void> gone = go.get_future().share();
  std::atomic<int> runs{0};
  routes.add("GET", "/work", [&](const Request&, const Responder& to) {
    ++runs;
    gone.wait();
    to.respond(200, "text/plain", "done");
  });
  const auto server = serve(std::move(routes), {.handler_threads = 1});
  Client first(server->port()), second(server->port()), third(server->port());
  int requests = 0;
  for (Client* client : {&first, &second, &third}) {
    client->send(get("/work"));
    ++requests;
    ASSERT_TRUE(eventually([&] { return server->counts().requests == requests; }));
  }
  second.close();
  ASSERT_TRUE(eventually([&] { return server->counts().requests == 2; }));
  go.set_value();
  EXPECT_EQ(first.reply().body, "done");
  EXPECT_EQ(third.reply().body, "done");
  EXPECT_EQ(runs, 2);
}

TEST(Disconnect, IsSeenBehindPipelinedRequests) {
  Caught caught;
  const auto server = serve(caught.routes(false));
  Client client(server->port());
  client.send(post("/run", "{}"));
  const Responder to = caught.responder();
  client.send(post("/run", std::string(60'000, 'x')));  // more than is read ahead
  client.close();
  EXPECT_TRUE(eventually([&] { return caught.calls == 1; }));
}

TEST(Disconnect, ACompleteResponseStillReachesAClientThatOnlyStoppedSending) {
  Routes routes;
  routes.add("GET", "/big", [](const Request&, const Responder& to) { to.respond(200, "text/plain", std::string(20'000'000, 'x')); });
  const auto server = serve(std::move(routes));
  Client client(server->port());
  client.send(get("/big"));
  EXPECT_EQ(client.read_until("\r\n\r\n").substr(0, 12), "HTTP/1.1 200");
  client.end_sending();
  std::string body;
  EXPECT_TRUE(client.ended_after(body));
  EXPECT_EQ(body.size(), 20'000'000u);
}

TEST(Disconnect, TheEngineNeverWaitsForASlowReader) {
  Caught caught;
  ServerOptions options;
  options.limits.stream_queue_bytes = 100'000;
  const auto server = serve(caught.routes(true), options);
  Client client(server->port());
  client.receive_little();
  client.send(post("/run", "{}"));
  const Responder to = caught.responder();
  const std::string chunk(10'000, 'x');
  size_t accepted = 0, largest = 0;
  Sent last = Sent::queued;
  const auto began = steady_clock::now();
  while ((last = to.write(chunk)) == Sent::queued && accepted < 100'000'000) {
    accepted += chunk.size();
    largest = std::max(largest, to.queued_bytes());
    if (to.queued_bytes() > 50'000) std::this_thread::sleep_for(1ms);  // the network takes what it can
  }
  EXPECT_EQ(last, Sent::too_slow);
  EXPECT_LT(steady_clock::now() - began, 10s);
  EXPECT_LT(accepted, 100'000'000u);
  EXPECT_LE(largest, 100'000u + chunk.size() + 16);
  EXPECT_EQ(to.write(chunk), Sent::gone);
  EXPECT_EQ(to.queued_bytes(), 0u);
  EXPECT_TRUE(eventually([&] { return caught.calls == 1; }));
  EXPECT_TRUE(client.ended());
  EXPECT_TRUE(eventually([&] { return server->counts().connections == 0; }));
}

TEST(Disconnect, ARouteMayQueueMore) {
  Routes routes;
  std::promise<Responder> responder;
  routes.add("GET", "/much", [&](const Request&, const Responder& to) { responder.set_value(to); }, {.stream_queue_bytes = 10'000'000});
  ServerOptions options;
  options.limits.stream_queue_bytes = 1000;
  const auto server = serve(std::move(routes), options);
  Client client(server->port());
  client.send(get("/much"));
  const Responder to = received(responder);
  to.begin_stream(200, "text/plain");
  EXPECT_EQ(to.write(std::string(3'000'000, 'x')), Sent::queued);
  EXPECT_EQ(to.write(std::string(3'000'000, 'y')), Sent::queued);
  EXPECT_EQ(to.end(), Sent::queued);
  EXPECT_EQ(std::ranges::count(client.reply().body, 'y'), 3'000'000);
}

TEST(Disconnect, AChunkLargerThanTheQueueIsAcceptedWhenTheQueueIsEmpty) {
  Caught caught;
  ServerOptions options;
  options.limits.stream_queue_bytes = 1000;
  const auto server = serve(caught.routes(true), options);
  Client client(server->port());
  client.send(post("/run", "{}"));
  const Responder to = caught.responder();
  EXPECT_NE(client.read_until("\r\n\r\n"), "");
  ASSERT_TRUE(eventually([&] { return to.queued_bytes() == 0; }));
  EXPECT_EQ(to.write(std::string(3'000'000, 'x')), Sent::queued);
  EXPECT_EQ(to.end(), Sent::queued);
  std::string body;
  while (body.size() < 3'000'000) {
    const std::string part = client.read_until("0\r\n\r\n");
    ASSERT_FALSE(part.empty());
    body += part;
  }
  EXPECT_EQ(caught.calls, 0);
}

TEST(Disconnect, AClientThatStopsReadingAResponseIsDroppedInTime) {
  Routes routes;
  std::atomic<bool> answered{false};
  routes.add("GET", "/big", [&](const Request&, const Responder& to) {
    to.respond(200, "text/plain", std::string(50'000'000, 'x'));
    answered = true;
  });
  ServerOptions options;
  options.limits.write_time = 200ms;
  options.limits.slowest = 1 << 30;
  const auto server = serve(std::move(routes), options);
  Client client(server->port());
  client.receive_little();
  client.send(get("/big"));
  ASSERT_TRUE(eventually([&] { return answered && server->counts().requests == 0; }));
  EXPECT_TRUE(eventually([&] { return server->counts().connections == 0; }));
}

TEST(Disconnect, AClientThatReadsTooSlowlyIsDroppedAlthoughItMakesProgress) {
  Routes routes;
  routes.add("GET", "/big", [](const Request&, const Responder& to) { to.respond(200, "text/plain", std::string(50'000'000, 'x')); });
  ServerOptions options;
  options.limits.write_time = 1500ms;  // the network reports progress after some megabytes
  options.limits.slowest = 1 << 30;
  const auto server = serve(std::move(routes), options);
  Client client(server->port());
  client.send(get("/big"));
  EXPECT_NE(client.read_until("\r\n\r\n"), "");
  EXPECT_TRUE(eventually([&] {
    char some[4096];
    return recv(client.socket(), some, sizeof some, MSG_DONTWAIT) == 0 || server->counts().connections == 0;
  }));
}

TEST(Disconnect, ResponderOutlivesTheServer) {
  Caught caught;
  auto server = serve(caught.routes(true));
  Client client(server->port());
  client.send(post("/run", "{}"));
  const Responder to = caught.responder();
  server.reset();
  EXPECT_EQ(caught.calls, 1);
  EXPECT_EQ(to.write("x"), Sent::gone);
}

// Engines call write() while clients come and go: nothing is called twice, nothing is lost.
TEST(Disconnect, ManyClientsVanishWhileTheyAreWrittenTo) {
  std::atomic<int> begun{0}, vanished{0}, finished{0};
  Routes routes;
  std::mutex mutex;
  std::vector<std::thread> engines;
  routes.add("GET", "/stream", [&](const Request&, const Responder& to) {
    ++begun;
    const std::scoped_lock lock(mutex);
    engines.emplace_back([&, to] {
      to.on_disconnect([&] { ++vanished; });
      to.begin_stream(200, "text/plain");
      Sent last = Sent::queued;
      for (int i = 0; i < 200 && last == Sent::queued; ++i) {
        last = to.write("some text of a token");
        std::this_thread::sleep_for(100us);
      }
      if (to.end() == Sent::queued) ++finished;
    });
  });
  const auto server = serve(std::move(routes));
  for (int i = 0; i < 30; ++i) {
    Client client(server->port());
    client.send(get("/stream"));
    client.read_until("\r\n\r\n");
    if (i % 3 == 0) { EXPECT_EQ(client.read_until("\r\n0\r\n\r\n").substr(0, 4), "14\r\n"); }
    if (i % 3 == 1) client.reset();
  }
  EXPECT_TRUE(eventually([&] { return server->counts().connections == 0; }));
  for (std::thread& engine : engines) engine.join();
  EXPECT_EQ(begun, 30);
  EXPECT_EQ(vanished + finished, 30);
  EXPECT_GE(finished, 10);
}

}  // namespace
}  // namespace hearth::http::test
