// Clients that vanish in every phase of their requests, and ten times more requests than the server takes.
#include <charconv>

#include "server/live_server_test.h"

namespace hearth::server::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

constexpr const char* completions = "/v1/completions";
constexpr const char* generations = "/v1/images/generations";

// A text that takes all places, for seconds: each pass is one token of one of its choices.
constexpr int64_t places = 24;
ServeOptions slow(int64_t queue) {
  ServeOptions options;
  engine::EngineOptions& engine = options.models.language.engine;
  engine.parallel = places;
  engine.max_queue = queue;
  engine.pass_tokens = 1;
  engine.cache_bytes = 64 << 20;  // for all of them
  engine.prefix_cache = false;
  return options;
}
Json taking_all_places() { return {{"prompt", "The"}, {"max_tokens", 1000}, {"n", places}, {"ignore_eos", true}, {"stream", true}}; }
Json drawn(int64_t steps, bool stream) {
  Json body{{"prompt", "a house"}, {"size", "64x64"}, {"steps", steps}, {"stream", stream}};
  if (steps > 1) body["size"] = "512x512";
  return body;
}

// Whether a counter gets there in a minute.
bool reaches(const LiveServer& server, const std::string& name, double value) {
  const auto until = steady_clock::now() + 60s;
  while (server.metric(name) < value && steady_clock::now() < until) std::this_thread::sleep_for(1ms);
  return server.metric(name) >= value;
}

// Two seconds after the last client has gone, nothing of it is left.
void expect_nothing_is_left(const LiveServer& server) {
  for (const char* gauge : {"hearth_requests_running", "hearth_requests_waiting", "hearth_image_jobs_running", "hearth_image_jobs_waiting"})
    EXPECT_TRUE(server.metric(gauge) == -1 || server.becomes(gauge, 0, 2s)) << gauge;
  EXPECT_EQ(server.metric("hearth_kv_blocks_used"), 0);
}

// Seconds in Retry-After; 0 if there are none.
int seconds_to_wait(const Response& response) {
  const auto found = response.headers.find("retry-after");
  if (found == response.headers.end()) return 0;
  int seconds = 0;
  const std::string& text = found->second;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), seconds);
  return read.ptr == text.data() + text.size() ? seconds : 0;
}

// Whether the response is a refusal that says when to come again.
void expect_refusal(const Response& response) {
  EXPECT_EQ(response.status, 429) << response.body;
  EXPECT_GE(seconds_to_wait(response), 1) << response.headers.at("retry-after");
  EXPECT_EQ(response.json()["error"]["code"], "queue_full");
}

class Vanishing : public testing::TestWithParam<bool> {};

TEST_P(Vanishing, from_the_queue) {
  const LiveServer server(slow(10));
  Visitor first(server, completions, taking_all_places());
  ASSERT_TRUE(first.sees("data:"));
  {
    std::vector<Visitor> waiting;
    for (int i = 0; i < 5; ++i)
      waiting.emplace_back(server, completions, Json{{"prompt", "The"}, {"max_tokens", 1000}, {"stream", GetParam()}});
    EXPECT_TRUE(server.becomes("hearth_requests_waiting", 5));
  }
  EXPECT_TRUE(server.becomes("hearth_requests_waiting", 0, 2s));
  EXPECT_EQ(server.metric("hearth_requests_aborted"), 5);
  EXPECT_EQ(server.metric("hearth_requests_running"), 1) << "the others are not disturbed";
  first.leave();
  expect_nothing_is_left(server);
}

TEST_P(Vanishing, from_its_prompt) {
  const LiveServer server(slow(10));
  std::vector<int32_t> prompt(1000, 65);  // as many passes
  Visitor visitor(server, completions, {{"prompt", prompt}, {"max_tokens", 20}, {"ignore_eos", true}, {"stream", GetParam()}});
  EXPECT_TRUE(server.becomes("hearth_requests_running", 1));
  visitor.leave();
  expect_nothing_is_left(server);
  EXPECT_EQ(server.metric("hearth_requests_aborted"), 1);
  EXPECT_EQ(server.metric("hearth_requests_finished"), 0);
}

TEST_P(Vanishing, from_its_answer) {
  const LiveServer server(slow(10));
  Json request = taking_all_places();
  request["stream"] = GetParam();
  Visitor visitor(server, completions, request);
  EXPECT_TRUE(server.becomes("hearth_requests_running", 1));
  EXPECT_TRUE(reaches(server, "hearth_generation_tokens_total", 10));
  visitor.leave();
  expect_nothing_is_left(server);
  EXPECT_EQ(server.metric("hearth_requests_aborted"), 1);
  EXPECT_LT(server.metric("hearth_generation_tokens_total"), 1000 * places);
  EXPECT_EQ(server.post(completions, {{"prompt", "The"}, {"max_tokens", 1}}).status, 200);
}

TEST_P(Vanishing, from_the_queue_of_images_and_from_an_image) {
  const LiveServer server;
  Visitor first(server, generations, drawn(1000, GetParam()));
  EXPECT_TRUE(server.becomes("hearth_image_jobs_running", 1));
  {
    std::vector<Visitor> waiting;
    for (int i = 0; i < 3; ++i) waiting.emplace_back(server, generations, drawn(1, GetParam()));
    EXPECT_TRUE(server.becomes("hearth_image_jobs_waiting", 3));
  }
  EXPECT_TRUE(server.becomes("hearth_image_jobs_waiting", 0, 2s));
  EXPECT_EQ(server.metric("hearth_image_jobs_running"), 1);
  EXPECT_TRUE(reaches(server, "hearth_image_steps_total", 1));
  first.leave();
  EXPECT_TRUE(server.becomes("hearth_image_jobs_aborted", 4));
  expect_nothing_is_left(server);
  EXPECT_EQ(server.metric("hearth_images_total"), 0);
  EXPECT_EQ(server.post(generations, drawn(1, false)).status, 200);
}

INSTANTIATE_TEST_SUITE_P(streaming, Vanishing, testing::Bool(), [](const auto& one) { return one.param ? "yes" : "no"; });

TEST(Overload, ten_times_as_many_texts_are_refused_promptly) {
  constexpr int queue = 8;
  const LiveServer server(slow(queue));
  Visitor first(server, completions, taking_all_places());
  ASSERT_TRUE(first.sees("data:"));
  std::vector<std::future<Response>> waiting;
  for (int i = 0; i < queue; ++i)
    waiting.push_back(std::async(std::launch::async, [&, i] {
      return server.post(completions, {{"prompt", "The"}, {"max_tokens", 5 + i}, {"ignore_eos", true}});
    }));
  ASSERT_TRUE(server.becomes("hearth_requests_waiting", queue));
  const auto began = steady_clock::now();
  for (int i = 0; i < 10 * queue; ++i) expect_refusal(server.post(completions, {{"prompt", "The"}, {"max_tokens", 5}}));
  expect_refusal(server.post("/v1/chat/completions", {{"messages", {{{"role", "user"}, {"content", "Hi"}}}}, {"stream", true}}));
  EXPECT_LT(steady_clock::now() - began, 20s) << "of the 20 ms that two take, on a machine that is busy with other tests";
  first.leave();
  for (int i = 0; i < queue; ++i) {
    const Response response = waiting[size_t(i)].get();
    EXPECT_EQ(response.status, 200) << response.body;
    EXPECT_EQ(response.json()["usage"]["completion_tokens"], 5 + i);
  }
  expect_nothing_is_left(server);
  EXPECT_EQ(server.post(completions, {{"prompt", "The"}, {"max_tokens", 1}}).status, 200);
}

TEST(Overload, ten_times_as_many_images_are_refused_promptly) {
  constexpr int queue = 32;
  const LiveServer server;
  Visitor first(server, generations, drawn(1000, true));
  EXPECT_TRUE(server.becomes("hearth_image_jobs_running", 1));
  std::vector<Visitor> waiting;
  for (int i = 0; i < queue; ++i) waiting.emplace_back(server, generations, drawn(1, true));
  ASSERT_TRUE(server.becomes("hearth_image_jobs_waiting", queue));
  for (int i = 0; i < 10 * queue; ++i) expect_refusal(server.post(generations, drawn(1, i % 2)));
  EXPECT_EQ(server.post("/sdapi/v1/txt2img", {{"prompt", "x"}, {"width", 64}, {"height", 64}, {"steps", 1}}).status, 429);
  first.leave();
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(waiting[size_t(i)].sees("image_generation.completed"));
  waiting.clear();
  expect_nothing_is_left(server);
  EXPECT_EQ(server.post(generations, drawn(1, false)).status, 200);
}

}  // namespace
}  // namespace hearth::server::test
