#include "server/api/keep_alive.h"

#include <gtest/gtest.h>

#include "server/api/stream.h"
#include "server/http/exchange.h"

namespace hearth::server::test {
namespace {

using namespace std::chrono_literals;

struct Client {
  std::shared_ptr<http::Exchange> exchange = std::make_shared<http::Exchange>(http::ResponseFrame{.is_http11 = false}, 1 << 20,
                                                                              std::make_shared<const std::atomic<bool>>(false), [] {});
  std::shared_ptr<EventStream> stream = std::make_shared<EventStream>(std::make_shared<LiveRequest>(http::Responder(exchange)));

  std::string received() const {
    std::string all;
    for (const std::string& piece : exchange->take().pieces) all += piece;
    return all;
  }
};

TEST(KeepAlive, writes_to_streams_that_are_silent) {
  KeepAlive keep_alive(20ms);
  const Client client;
  keep_alive.watch(client.stream, ": ping\n\n");
  std::this_thread::sleep_for(60ms);
  EXPECT_EQ(client.received(), "") << "a stream that has not begun may become an error";
  client.stream->data({{"a", 1}});
  EXPECT_EQ(client.received().find("ping"), std::string::npos);
  std::string later;
  for (int i = 0; i < 500 && later.empty(); ++i) {
    std::this_thread::sleep_for(2ms);
    later = client.received();
  }
  EXPECT_EQ(later, ": ping\n\n");
  client.stream->end();
  std::this_thread::sleep_for(60ms);
  EXPECT_EQ(client.received(), "");
}

TEST(KeepAlive, leaves_streams_that_speak_alone) {
  KeepAlive keep_alive(2000ms);
  const Client client;
  keep_alive.watch(client.stream, ": ping\n\n");
  for (int i = 0; i < 30; ++i) {
    client.stream->raw("x");
    std::this_thread::sleep_for(2ms);
  }
  EXPECT_EQ(client.received().find("ping"), std::string::npos);
}

TEST(KeepAlive, streams_may_come_and_go_while_it_works) {
  KeepAlive keep_alive(1ms);
  for (int i = 0; i < 200; ++i) {
    const Client client;
    keep_alive.watch(client.stream, ": ping\n\n");
    client.stream->data({});
    if (i % 2) client.stream->end();
    if (i % 20 == 0) std::this_thread::sleep_for(2ms);
  }
}

}  // namespace
}  // namespace hearth::server::test
