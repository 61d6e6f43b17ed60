// Requests and responses over real connections.
#include "server/http/server.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <future>
#include <mutex>
#include <thread>

#include "server/http/client_test.h"
#include "server/http/exchange.h"
#include "support/complaint.h"

namespace hearth::http::test {
namespace {

void echo(const Request& request, const Responder& to) {
  to.respond(200, "text/plain", fmt::format("{} {} [{}]", request.method, request.path, request.body));
}

Routes echo_routes() {
  Routes routes;
  routes.add("GET", "/echo", echo);
  routes.add("POST", "/echo", echo);
  routes.add("GET", "/inline", echo, {.open = true, .at_once = true});
  return routes;
}

TEST(Server, AnswersARequest) {
  Routes routes;
  routes.add("POST", "/v1/models/{id}/{what*}", [](const Request& request, const Responder& to) {
    to.respond(201, "application/json",
               fmt::format("{}|{}|{}|{}|{}|{}", request.param("id"), request.param("what"), request.query_value("q"), request.body,
                           request.headers.get("X-EXTRA"), request.is_https),
               {{"X-Own", "yes"}});
  });
  const auto server = serve(std::move(routes));
  EXPECT_EQ(server->address(), fmt::format("http://127.0.0.1:{}", server->port()));
  const Reply reply = ask(server->port(), post("/v1/models/a%20b/c/d%2Fe?q=x+%26y&q=z", "text", "X-Extra: one\r\n"));
  EXPECT_EQ(reply.status, 201);
  EXPECT_EQ(reply.body, "a b|c/d/e|x &y|text|one|false");
  EXPECT_EQ(reply.headers.get("content-type"), "application/json");
  EXPECT_EQ(reply.headers.get("x-own"), "yes");
  EXPECT_EQ(reply.headers.get("x-request-id").size(), 32u);
}

TEST(Server, KeepsTheConnectionAndAnswersPipelinedRequestsInOrder) {
  const auto server = serve(echo_routes());
  Client client(server->port());
  for (int round = 0; round < 3; ++round) {
    std::string requests;
    for (int i = 0; i < 20; ++i) requests += i % 2 ? get("/inline?n=1") : post("/echo", std::to_string(i));
    client.send(requests);
    for (int i = 0; i < 20; ++i) {
      const Reply reply = client.reply();
      ASSERT_EQ(reply.status, 200);
      EXPECT_EQ(reply.body, i % 2 ? "GET /inline []" : fmt::format("POST /echo [{}]", i));
    }
  }
  EXPECT_EQ(server->counts().connections, 1);
}

TEST(Server, APipelinedRequestIsNotLostWhileAHandlerWorks) {
  Routes routes = echo_routes();
  std::promise<Responder> waiting;
  routes.add("GET", "/slow", [&](const Request&, const Responder& to) { waiting.set_value(to); });
  const auto server = serve(std::move(routes));
  Client client(server->port());
  client.send(get("/slow"));
  const Responder to = received(waiting);
  const std::string second = post("/echo", std::string(100'000, 'x'));  // more than is read ahead
  std::thread sender([&] { client.send(second); });
  std::this_thread::sleep_for(50ms);
  EXPECT_FALSE(to.gone());
  to.respond(200, "text/plain", "first");
  EXPECT_EQ(client.reply().body, "first");
  EXPECT_EQ(client.reply().body.size(), 100'000u + 13);
  sender.join();
}

TEST(Server, StreamsFromAnotherThread) {
  Routes routes;
  std::mutex mutex;
  std::thread engine;
  routes.add("GET", "/stream", [&](const Request&, const Responder& to) {
    const std::scoped_lock lock(mutex);
    engine = std::thread([to] {
      EXPECT_EQ(to.begin_stream(200, "text/event-stream", {{"Cache-Control", "no-cache"}}), Sent::queued);
      for (int i = 0; i < 100; ++i) EXPECT_EQ(to.write(fmt::format("token {};", i)), Sent::queued);
      EXPECT_EQ(to.end(), Sent::queued);
    });
  });
  const auto server = serve(std::move(routes));
  for (const bool old : {false, true}) {
    Client client(server->port());
    client.send(old ? "GET /stream HTTP/1.0\r\n\r\n" : get("/stream"));
    const Reply reply = client.reply();
    EXPECT_EQ(reply.status, 200);
    const std::scoped_lock lock(mutex);
    engine.join();
    std::string expected;
    for (int i = 0; i < 100; ++i) expected += fmt::format("token {};", i);
    EXPECT_EQ(reply.body, expected);
    EXPECT_EQ(reply.headers.get("transfer-encoding"), old ? "" : "chunked");
    EXPECT_EQ(reply.headers.get("connection"), old ? "close" : "");
  }
}

TEST(Server, AnEmptyWriteDoesNotEndTheStream) {
  Routes routes;
  routes.add("GET", "/stream", [](const Request&, const Responder& to) {
    to.begin_stream(200, "text/plain");
    for (const char* part : {"a", "", "b"}) EXPECT_EQ(to.write(part), Sent::queued);
    to.end();
  });
  const auto server = serve(std::move(routes));
  Client client(server->port());
  for (int i = 0; i < 2; ++i) {
    client.send(get("/stream"));
    EXPECT_EQ(client.reply().body, "ab");
  }
}

// Its end is that of the connection, whatever the client of HTTP/1.0 has asked for.
TEST(Server, AStreamWithoutChunksEndsTheConnection) {
  Routes routes;
  routes.add("GET", "/stream", [](const Request&, const Responder& to) {
    to.begin_stream(200, "text/plain");
    to.write("all");
    to.end();
  });
  const auto server = serve(std::move(routes));
  Client client(server->port());
  client.send("GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  const Reply reply = client.reply(5s);
  EXPECT_EQ(reply.status, 200) << "the connection has not ended";
  EXPECT_EQ(reply.headers.get("connection"), "close");
  EXPECT_EQ(reply.body, "all");
}

TEST(Server, RefusesStatusesThatNoResponseHas) {
  Routes routes;
  routes.add("GET", "/{status}", [](const Request& request, const Responder& to) {
    const int status = std::stoi(std::string(request.param("status")));
    EXPECT_THROW(to.begin_stream(status, "text/plain"), Error) << status;
    if (status != 204) { EXPECT_THROW(to.respond(status, "text/plain", ""), Error) << status; }
    to.respond(200, "text/plain", "ok");
  });
  const auto server = serve(std::move(routes));
  for (const char* path : {"/100", "/199", "/204", "/600"}) EXPECT_EQ(ask(server->port(), get(path)).body, "ok") << path;
}

TEST(Server, ReadsLittleAheadWhileAHandlerWorks) {
  Routes routes = echo_routes();
  std::promise<Responder> waiting;
  routes.add("GET", "/slow", [&](const Request&, const Responder& to) { waiting.set_value(to); });
  const auto server = serve(std::move(routes));
  Client client(server->port());
  client.send(get("/slow"));
  const Responder to = received(waiting);
  const timeval brief{0, 300'000};
  setsockopt(client.socket(), SOL_SOCKET, SO_SNDTIMEO, &brief, sizeof brief);
  EXPECT_FALSE(client.send(std::string(100 << 20, 'x'))) << "the network holds some megabytes, the server no more than its limit";
  to.respond(200, "text/plain", "first");
  EXPECT_EQ(client.reply().body, "first");
}

TEST(Server, EachWriteIsSentAtOnce) {
  Routes routes;
  std::promise<Responder> waiting;
  routes.add("GET", "/stream", [&](const Request&, const Responder& to) {
    to.begin_stream(200, "text/plain");
    waiting.set_value(to);
  });
  const auto server = serve(std::move(routes));
  Client client(server->port());
  client.send(get("/stream"));
  const Responder to = received(waiting);
  for (const char* word : {"one", "two", "three"}) {
    to.write(word);
    EXPECT_NE(client.read_until(fmt::format("{}\r\n", word)), "");
  }
  to.end();
  EXPECT_NE(client.read_until("0\r\n\r\n"), "");
}

TEST(Server, ReadsChunkedBodies) {
  const auto server = serve(echo_routes());
  Client client(server->port());
  client.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n");
  const std::string body = "3;name=value\r\nabc\r\n0A\r\n0123456789\r\n0\r\nX-Api-Key: trailer\r\n\r\n";
  for (const char c : body) {  // one byte at a time
    client.send({&c, 1});
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_EQ(client.reply().body, "POST /echo [abc0123456789]");
  client.send(get("/echo"));
  EXPECT_EQ(client.reply().body, "GET /echo []");
}

TEST(Server, SaysContinueWhenAsked) {
  const auto server = serve(echo_routes());
  Client client(server->port());
  client.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.reply().status, 100);
  client.send("body");
  EXPECT_EQ(client.reply().body, "POST /echo [body]");
  // A body that would be refused is not asked for.
  client.send("POST /none HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.reply().status, 404);
  EXPECT_TRUE(client.ended());
  EXPECT_EQ(ask(server->port(), get("/echo", "Expect: something\r\n")).status, 417);
}

TEST(Server, HeadHasTheHeadersOfGetAndNoBody) {
  Routes routes = echo_routes();
  routes.add("GET", "/stream", [](const Request&, const Responder& to) {
    to.begin_stream(200, "text/plain");
    to.write("body");
    to.end();
  });
  const auto server = serve(std::move(routes));
  Client client(server->port());
  client.send("HEAD /inline HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const Reply reply = client.reply(10s, true);
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.headers.get("content-length"), "15");
  client.send("HEAD /stream HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(client.reply(10s, true).status, 200);
  client.send(get("/inline"));
  EXPECT_EQ(client.reply().body, "GET /inline []");
}

TEST(Server, RefusesUnknownPathsAndMethodsInTheFormOfTheApi) {
  ServerOptions options;
  options.error_page = [](const ErrorReport& e) {
    return ErrorPage{"application/json", fmt::format(R"({{"status":{},"path":"{}","message":"{}"}})", e.status, e.path, e.message)};
  };
  const auto server = serve(echo_routes(), options);
  const Reply missing = ask(server->port(), get("/missing"));
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(missing.body, R"({"status":404,"path":"/missing","message":"there is no /missing"})");
  EXPECT_EQ(missing.headers.get("content-type"), "application/json");
  const Reply method = ask(server->port(), "DELETE /echo HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(method.status, 405);
  EXPECT_EQ(method.headers.get("allow"), "GET, HEAD, OPTIONS, POST");
  const Reply options_reply = ask(server->port(), "OPTIONS /echo HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(options_reply.status, 204);
  EXPECT_EQ(options_reply.headers.get("allow"), "GET, HEAD, OPTIONS, POST");
  EXPECT_EQ(ask(server->port(), "OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n").status, 204);
  EXPECT_EQ(ask(server->port(), get("http://localhost/echo")).body, "GET /echo []");
}

TEST(Server, AHandlerThatThrowsOrForgetsTheRequestGetsA500) {
  Routes routes = echo_routes();
  routes.add("GET", "/throw", [](const Request&, const Responder&) { throw std::runtime_error("secret"); });
  routes.add("GET", "/forget", [](const Request&, const Responder&) {});
  routes.add("GET", "/break", [](const Request&, const Responder& to) {
    to.begin_stream(200, "text/plain");
    to.write("half");
    throw std::runtime_error("secret");
  });
  std::mutex mutex;
  std::vector<LogEntry> entries;
  ServerOptions options;
  options.log = [&](const LogEntry& entry) {
    const std::scoped_lock lock(mutex);
    entries.push_back(entry);
  };
  const auto server = serve(std::move(routes), options);
  Client client(server->port());
  for (const char* path : {"/throw", "/forget"}) {
    client.send(get(path));
    const Reply reply = client.reply();
    EXPECT_EQ(reply.status, 500);
    EXPECT_EQ(reply.body, "the server failed to answer this request\n");
  }
  client.send(get("/break"));
  EXPECT_EQ(client.reply().status, 0);  // incomplete
  EXPECT_TRUE(client.ended());
  const std::scoped_lock lock(mutex);
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[0].note, "secret");
  EXPECT_EQ(entries[2].note, "secret");
  EXPECT_FALSE(entries[2].complete);
}

TEST(Server, ResponsesOutOfOrderAreErrors) {
  const auto exchange = std::make_shared<Exchange>(ResponseFrame{}, 1000, std::make_shared<std::atomic<bool>>(false), nullptr);
  const Responder to(exchange);
  EXPECT_THROW(to.write("x"), Error);
  EXPECT_THROW(to.end(), Error);
  EXPECT_THROW(to.respond(99, "", ""), Error);
  EXPECT_THROW(to.respond(200, "text/plain", "", {{"X-Name", "a\r\nSet-Cookie: b"}}), Error);
  EXPECT_EQ(to.respond(200, "text/plain", "x"), Sent::queued);
  EXPECT_THROW(to.respond(200, "text/plain", "x"), Error);
  EXPECT_THROW(to.begin_stream(200, "text/plain"), Error);
}

TEST(Server, RequestIdsAreEchoedOrReplaced) {
  const auto server = serve(echo_routes());
  EXPECT_EQ(ask(server->port(), get("/echo", "X-Request-Id: a-b_c.d:1\r\n")).headers.get("x-request-id"), "a-b_c.d:1");
  EXPECT_EQ(ask(server->port(), get("/echo", "X-Request-Id: a b\r\n")).headers.get("x-request-id").size(), 32u);
  EXPECT_EQ(ask(server->port(), get("/missing", "X-Request-Id: mine\r\n")).headers.get("x-request-id"), "mine");
  EXPECT_EQ(ask(server->port(), "garbage\r\n\r\n").headers.get("x-request-id").size(), 32u);
}

TEST(Server, LogsOneLineWithoutQueryOrBody) {
  std::mutex mutex;
  std::vector<std::string> lines;
  ServerOptions options;
  options.log = [&](const LogEntry& entry) {
    const std::scoped_lock lock(mutex);
    lines.push_back(line_of(entry));
  };
  const auto server = serve(echo_routes(), options);
  ask(server->port(), post("/echo?key=secret", "prompt", "X-Request-Id: id1\r\n"));
  ask(server->port(), "bad\r\n\r\n");
  const auto count = [&] {
    const std::scoped_lock lock(mutex);
    return lines.size();
  };
  ASSERT_TRUE(eventually([&] { return count() == 2; }));
  EXPECT_NE(lines[0].find(" POST /echo 200 "), std::string::npos) << lines[0];
  EXPECT_NE(lines[0].find(" ms id1"), std::string::npos) << lines[0];
  EXPECT_EQ(lines[0].find("secret"), std::string::npos);
  EXPECT_EQ(lines[0].find("prompt"), std::string::npos);
  EXPECT_NE(lines[1].find(" - - 400 "), std::string::npos) << lines[1];
  EXPECT_EQ(line_of({"c", "GET", "/a\x1b\n\xff", "id", 200, 1, 2.0, false, "x\ny"}),
            "c GET /a\\x1b\\x0a\\xff 200 1 bytes 2.0 ms id incomplete: x y");
}

// The connections of the first are still known to the network.
TEST(Server, StartsAgainAtOnceAtTheSamePort) {
  auto server = serve(echo_routes());
  ServerOptions options;
  options.port = server->port();
  Client client(server->port());
  client.send(get("/echo"));
  EXPECT_EQ(client.reply().status, 200);
  server.reset();
  server = serve(echo_routes(), options);
  EXPECT_EQ(ask(options.port, get("/echo")).status, 200);
}

TEST(Server, ReplacesTheSocketOfAServerThatWasKilled) {
  const std::string path = std::filesystem::temp_directory_path() / fmt::format("hearth-killed-{}", getpid());
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  const int left_over = ::socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(::bind(left_over, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ::close(left_over);
  ServerOptions options;
  options.host = "unix:" + path;
  const auto server = serve(echo_routes(), options);
  Client client(path);
  client.send(get("/echo"));
  EXPECT_EQ(client.reply().status, 200);
}

TEST(Server, ABodyThatIsNotReadEndsTheConnection) {
  const auto server = serve(echo_routes());
  Client client(server->port());
  client.send("OPTIONS /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n");
  const Reply reply = client.reply();
  EXPECT_EQ(reply.status, 204);
  EXPECT_EQ(reply.headers.get("connection"), "close");
}

TEST(Server, AsksForNoBodyThatIsThere) {
  const auto server = serve(echo_routes());
  Client client(server->port());
  client.send(post("/echo", "text", "Expect: 100-continue\r\n"));
  EXPECT_EQ(client.reply().status, 200);
}

TEST(Server, RefusesToStart) {
  using hearth::test::complaint_of;
  const auto first = serve(echo_routes());
  ServerOptions options;
  options.port = first->port();
  EXPECT_EQ(complaint_of([&] { serve(echo_routes(), options); }),
            fmt::format("IoError: cannot listen on 127.0.0.1:{}: Address already in use", first->port()));
  options = {.host = "203.0.113.7"};
  EXPECT_EQ(complaint_of([&] { serve(echo_routes(), options); }),
            "IoError: cannot listen on 203.0.113.7:0: Cannot assign requested address");
  options = {.host = "no such host"};
  EXPECT_EQ(complaint_of([&] { serve(echo_routes(), options); }).substr(0, 42), "IoError: cannot listen on 'no such host': ");
  options = {.tls_certificate = "a.pem"};
  EXPECT_EQ(complaint_of([&] { serve(echo_routes(), options); }),
            "UsageError: TLS needs both a certificate and its private key, got only the certificate");
  options = {.limits = {.connections = 2'000'000'000}};
  EXPECT_NE(complaint_of([&] { serve(echo_routes(), options); }).find("open files"), std::string::npos);
  options = {.host = "unix:" + std::string(200, 'x')};
  EXPECT_NE(complaint_of([&] { serve(echo_routes(), options); }).find("has 200 bytes, expected 1 to 107"), std::string::npos);
}

TEST(Server, OtherComputersNeedAKeyOrAPermission) {
  using hearth::test::complaint_of;
  ServerOptions options{.host = "0.0.0.0"};
  const std::string complaint = complaint_of([&] { serve(echo_routes(), options); });
  EXPECT_EQ(complaint.substr(0, 42), "UsageError: the server would listen on 0.0");
  EXPECT_NE(complaint.find("without an API key"), std::string::npos);
  options.allow_without_key = true;
  EXPECT_EQ(ask(serve(echo_routes(), options)->port(), get("/echo")).status, 200);
  options = {.host = "0.0.0.0", .api_keys = {"key"}};
  EXPECT_EQ(ask(serve(echo_routes(), options)->port(), get("/echo")).status, 401);
}

TEST(Server, ListensOnAUnixSocketForThisUserOnly) {
  const std::filesystem::path path = std::filesystem::temp_directory_path() / fmt::format("hearth-http-{}.sock", getpid());
  const ServerOptions options{.host = "unix:" + path.string()};
  {
    const auto server = serve(echo_routes(), options);
    EXPECT_EQ(server->address(), "unix:" + path.string());
    EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    Client client(path.string());
    client.send(get("/echo", "Host2: x\r\n"));
    EXPECT_EQ(client.reply().body, "GET /echo []");
    EXPECT_NE(hearth::test::complaint_of([&] { serve(echo_routes(), options); }).find("another server listens there"), std::string::npos);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace hearth::http::test
