// Options of the server as a whole.
#include "server/live_server_test.h"

namespace hearth::server::test {
namespace {

TEST(ServeOptions, responses_stay_as_long_as_there_is_room) {
  ServeOptions options;
  options.response_bytes = 20'000;  // room for a few of these
  const LiveServer server(options);
  const auto ask = [&] {
    const std::string input(500, 'x');
    return server.post("/v1/responses", {{"input", input}, {"max_output_tokens", 4}}).json()["id"].get<std::string>();
  };
  std::vector<std::string> ids;
  for (int i = 0; i < 12; ++i) ids.push_back(ask());
  EXPECT_EQ(server.get("/v1/responses/" + ids.front()).status, 404);
  EXPECT_EQ(server.get("/v1/responses/" + ids.back()).status, 200);
}

TEST(ServeOptions, silent_streams_get_a_ping) {
  const auto pings = [](std::chrono::milliseconds silence) {
    ServeOptions options;
    options.ping = silence;
    const LiveServer server(options);
    const std::string stream = server
                                   .post("/v1/messages", {{"model", "demo-language-model"},
                                                          {"messages", {{{"role", "user"}, {"content", "Hi"}}}},
                                                          {"max_tokens", 900},
                                                          {"ignore_eos", true},
                                                          {"stream", true}})
                                   .body;
    EXPECT_NE(stream.find("event: message_stop"), stream.npos) << stream;
    int64_t count = 0;
    for (size_t at = 0; (at = stream.find("event: ping", at)) != stream.npos; ++at) ++count;
    return count;
  };
  EXPECT_EQ(pings(std::chrono::seconds(10)), 1) << "the one at the beginning";
  EXPECT_GT(pings(std::chrono::milliseconds(0)), 1);
}

}  // namespace
}  // namespace hearth::server::test
