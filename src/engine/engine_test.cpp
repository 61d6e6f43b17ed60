// Whole requests on small networks: the answers alone are the yardstick for everything that several requests share.
#include "engine/engine.h"

#include <algorithm>
#include <future>
#include <random>

#include "backends/backends.h"
#include "backends/split/split_backend.h"
#include "core/memory.h"
#include "core/threads.h"
#include "engine/drafter.h"
#include "models/decoder_model.h"
#include "sampling/tokens/token_sampler.h"
#include "support/backend_test.h"
#include "support/complaint.h"
#include "support/detached_backend.h"
#include "weights/offload.h"
#include "weights/seeded.h"

namespace hearth::engine {
namespace {

using std::chrono::steady_clock;

constexpr int64_t V = 61;

enum class Net { attention, window, recurrent, hybrid };

parts::DecoderConfig config_of(Net net) {
  parts::DecoderConfig d{.vocabulary = V, .width = 32, .positions = 160, .rotaries = {{.size = 8}}};
  const auto norm = [](const char* name) { return parts::LayerNormConfig{name, {}}; };
  const parts::SublayerConfig mlp{.name = "mlp", .block = parts::MlpConfig{.width = 48}, .before = norm("post")};
  parts::AttentionConfig full{.heads = 4, .groups = 2, .head = 8}, window = full;
  window.window = 20;
  const parts::StateSpaceMixerConfig scan{.heads = 4, .head = 16, .states = 8};
  const auto layer = [&](const parts::BlockConfig& block) {
    return parts::LayerConfig{.mixer = {.name = "mixer", .block = block, .before = norm("pre")}, .mlp = mlp};
  };
  switch (net) {
    case Net::attention: d.layers = {layer(full), layer(full)}; break;
    case Net::window: d.layers = {layer(window), layer(full), layer(window)}; break;
    case Net::recurrent: d.layers = {layer(scan), layer(scan)}; break;
    case Net::hybrid: d.layers = {layer(scan), layer(full), layer(scan)}; break;
  }
  return d;
}

// A network whose logits are far apart, so that it does not repeat itself at once.
std::unique_ptr<models::LanguageModel> model_of(Net net, Backend& device) {
  Weights weights = Weights::seeded(device, {.types = {.in_place = true}});
  return models::make_decoder_model(config_of(net), weights);
}

struct Answered {
  std::map<int64_t, std::vector<int32_t>> tokens;
  std::map<int64_t, std::vector<TokenLogprob>> logprobs;
  std::map<int64_t, ChoiceEnd> ends;
  std::vector<std::optional<TokenLogprob>> prompt;
  std::vector<float> embedding;
  Usage usage;
  std::string error;
};

bool same(const TokenLogprob& a, const TokenLogprob& b) { return a.token == b.token && a.logprob == b.logprob && a.top == b.top; }

class Collector final : public Sink {
 public:
  void prompt(std::vector<std::optional<TokenLogprob>> logprobs) override { answered.prompt = std::move(logprobs); }
  void token(int64_t choice, TokenEvent event) override {
    answered.tokens[choice].push_back(event.token);
    if (event.logprob) answered.logprobs[choice].push_back(*event.logprob);
    if (on_token) on_token();
  }
  void end(int64_t choice, ChoiceEnd end) override { answered.ends[choice] = std::move(end); }
  void embedding(std::vector<float> values) override { answered.embedding = std::move(values); }
  void done(const Usage& usage) override {
    answered.usage = usage;
    ready.set_value(std::move(answered));
  }
  void failed(std::exception_ptr error) override {
    try {
      std::rethrow_exception(error);
    } catch (const std::exception& e) { answered.error = e.what(); }
    ready.set_value(std::move(answered));
  }

  Answered answered;
  std::promise<Answered> ready;
  std::function<void()> on_token;
};

Answered ask(Engine& engine, const Request& request) {
  const auto sink = std::make_shared<Collector>();
  auto ready = sink->ready.get_future();
  const auto ticket = engine.submit(request, sink);
  return ready.get();
}

std::vector<Answered> ask_together(Engine& engine, const std::vector<Request>& requests) {
  std::vector<std::future<Answered>> futures;
  std::vector<Engine::Ticket> tickets;
  for (const Request& request : requests) {
    const auto sink = std::make_shared<Collector>();
    futures.push_back(sink->ready.get_future());
    tickets.push_back(engine.submit(request, sink));
  }
  std::vector<Answered> all;
  for (auto& future : futures) all.push_back(future.get());
  return all;
}

void expect_same(const Answered& a, const Answered& b, const std::string& what) {
  EXPECT_EQ(a.error, b.error) << what;
  EXPECT_EQ(a.tokens, b.tokens) << what;
  ASSERT_EQ(a.logprobs.size(), b.logprobs.size()) << what;
  for (const auto& [choice, rows] : a.logprobs) EXPECT_TRUE(std::ranges::equal(rows, b.logprobs.at(choice), same)) << what;
  ASSERT_EQ(a.prompt.size(), b.prompt.size()) << what;
  for (size_t i = 1; i < a.prompt.size(); ++i) EXPECT_TRUE(same(*a.prompt[i], *b.prompt[i])) << what << " " << i;
  for (const auto& [choice, end] : a.ends) EXPECT_EQ(int(end.reason), int(b.ends.at(choice).reason)) << what;
}

// Requests of all kinds; several begin alike.
std::vector<Request> mixed_requests(int64_t count) {
  std::mt19937 random(7);
  std::vector<Request> all;
  std::vector<int32_t> common;
  for (int i = 0; i < 70; ++i) common.push_back(int32_t(random() % V));
  for (int64_t i = 0; i < count; ++i) {
    Request r;
    const size_t shared = i % 3 == 0 ? 0 : random() % common.size();
    r.prompt.assign(common.begin(), common.begin() + long(shared));
    for (size_t more = random() % 40 + 1; more > 0; --more) r.prompt.push_back(int32_t(random() % V));
    r.max_tokens = int64_t(random() % 40);
    r.sampling.temperature = i % 2 == 0 ? 0 : 1.5;
    r.sampling.seed = uint64_t(i);
    r.logprobs = 2;
    if (i % 5 == 0) r.prompt_logprobs = 1;
    if (i % 7 == 0) r.choices = 3;
    if (i % 4 == 0) r.sampling.repetition_penalty = 1.2;
    if (i % 6 == 0) r.end_tokens = {int32_t(random() % V)};
    all.push_back(std::move(r));
  }
  return all;
}

void expect_no_pages_in_use(const Engine& engine) {
  const auto until = steady_clock::now() + std::chrono::seconds(2);
  while (!engine.idle() && steady_clock::now() < until) std::this_thread::yield();
  const EngineMetrics m = engine.metrics();
  EXPECT_EQ(m.pages_used, 0);
  EXPECT_EQ(m.waiting, 0);
  EXPECT_EQ(m.running, 0);
}

class EngineAnswers : public testing::TestWithParam<Net> {
 protected:
  std::shared_ptr<Backend> device = make_backend({.name = "cpu", .threads = 2});
  std::unique_ptr<models::LanguageModel> model = model_of(GetParam(), *device);
  int64_t one_text() const {
    const auto pooling = model->pooling(DType::f32);
    int64_t bytes = pooling.state_bytes;
    for (const auto& group : pooling.groups) bytes += 10 * group.bytes + (group.window ? 26 * group.bytes : 0);
    return bytes;
  }
};

TEST_P(EngineAnswers, are_the_same_alone_and_among_others) {
  const std::vector<Request> requests = mixed_requests(32);
  std::vector<Answered> alone;
  {
    Engine engine(*model, *device, nullptr, {.parallel = 4, .prefix_cache = false});
    for (const Request& request : requests) alone.push_back(ask(engine, request));
    EXPECT_EQ(engine.metrics().prefix_tokens, 0);
  }
  // What a plain run of the model gives.
  for (size_t i = 0; i < requests.size(); ++i) {
    const Request& r = requests[i];
    if (r.choices > 1) continue;
    sampling::TokenSampler sampler(r.sampling);
    sampler.start(r.prompt);
    const auto text = model->start(160, DType::f32);
    std::vector<float> last;
    const auto keep = [&](int64_t, std::span<const float> logits) { last.assign(logits.begin(), logits.end()); };
    model->feed(*text, r.prompt, std::ssize(r.prompt) - 1, keep);
    std::vector<int32_t> tokens;
    while (std::ssize(tokens) < r.max_tokens) {
      tokens.push_back(sampler.next(last));
      sampler.push(tokens.back());
      if (std::ranges::find(r.end_tokens, tokens.back()) != r.end_tokens.end()) break;
      model->feed(*text, std::span(&tokens.back(), 1), 0, keep);
    }
    EXPECT_EQ(alone[i].tokens.empty() ? std::vector<int32_t>() : alone[i].tokens.at(0), tokens) << i;
  }
  struct Way {
    std::string name;
    EngineOptions options;
  };
  const auto small = [&](EngineOptions o) {
    return o.context = 160, o.cache_bytes = (GetParam() == Net::recurrent ? 9 : 3) * one_text(), o;
  };
  const std::vector<Way> ways = {
      {"32 at once", {.prefix_cache = false}},
      {"with reused prefixes", {}},
      {"in a small pool", small({.prefix_cache = false})},
      {"in a small pool with reused prefixes", small({})},
      {"in short passes", {.pass_tokens = 5}},
      {"stopped and computed again", {.prefix_cache = false, .stop_every = 3}},
      {"stopped with reused prefixes", {.stop_every = 2}},
      {"stopped and swapped", {.swap_bytes = int64_t(1) << 30, .stop_every = 3}},
      {"one after the other", {.parallel = 3}},
      {"with drafts", {.drafter = ngram_drafter()}},
      {"with drafts in a small pool, stopped", small({.drafter = ngram_drafter(), .draft_tokens = 7, .stop_every = 5})},
  };
  for (const Way& way : ways) {
    SCOPED_TRACE(way.name);
    Engine engine(*model, *device, nullptr, way.options);
    for (const char* round : {"first", "second"}) {
      const std::vector<Answered> together = ask_together(engine, requests);
      for (size_t i = 0; i < requests.size(); ++i) expect_same(together[i], alone[i], fmt::format("{} round, request {}", round, i));
    }
    const EngineMetrics m = engine.metrics();
    EXPECT_EQ(m.finished, 64);
    EXPECT_EQ(m.prefix_tokens > 0, way.options.prefix_cache);
    EXPECT_TRUE(m.preemptions > 0 || way.options.stop_every == 0);
    EXPECT_EQ(!m.drafted.empty(), way.options.drafter != nullptr);
    expect_no_pages_in_use(engine);
  }
}

TEST_P(EngineAnswers, a_draft_model_changes_nothing) {
  const auto other = model_of(GetParam() == Net::attention ? Net::hybrid : Net::attention, *device);
  std::vector<Request> requests = mixed_requests(6);
  Engine plain(*model, *device, nullptr, {});
  const std::vector<Answered> expected = ask_together(plain, requests);
  // The model as its own draft model: every greedy draft is right.
  for (models::LanguageModel* drafting : {other.get(), model.get()}) {
    Engine engine(*model, *device, nullptr, {.drafter = model_drafter(*drafting, 160, DType::f32), .draft_tokens = 3});
    const std::vector<Answered> made = ask_together(engine, requests);
    for (size_t i = 0; i < requests.size(); ++i) expect_same(made[i], expected[i], std::to_string(i));
    Request greedy{.prompt = requests[0].prompt, .max_tokens = 25};
    greedy.sampling.temperature = 0;
    const Answered answer = ask(engine, greedy);
    EXPECT_EQ(answer.usage.completion, 25);
    EXPECT_TRUE(drafting != model.get() || answer.usage.accepted == answer.usage.drafted);
  }
}

constexpr const char* net_names[] = {"attention", "window", "recurrent", "hybrid"};
INSTANTIATE_TEST_SUITE_P(Nets, EngineAnswers, testing::Values(Net::attention, Net::window, Net::recurrent, Net::hybrid),
                         [](const testing::TestParamInfo<Net>& net) { return std::string(net_names[size_t(net.param)]); });

// With its first layer on a card: the same answers, and on the card what a dry run of the engine says.
TEST_P(EngineAnswers, are_the_same_with_a_layer_on_a_card) {
  const auto divided = make_split_backend(test::make_detached_backend({.inner = "cpu", .at_once = true}));
  MemoryLedger ledger;
  const std::unique_ptr<Backend> twin = divided->dry_twin(ledger);
  const auto half = [](Backend& where) {
    Weights names(seeded_source(), where, {}, Weights::Reading::names);
    models::make_decoder_model(config_of(GetParam()), names);
    const std::vector<std::string> blocks = blocks_of(names.requested());
    EXPECT_EQ(blocks.size(), config_of(GetParam()).layers.size());
    Weights weights = Weights::seeded(where, {.types = {.in_place = true}, .offload = std::make_shared<const Offload>(blocks, 1)});
    return models::make_decoder_model(config_of(GetParam()), weights);
  };
  const EngineOptions options{.context = 160, .parallel = 4, .cache_bytes = 6 * one_text(), .pass_tokens = 96, .prefix_cache = false};
  const auto dry = half(*twin);
  rehearse(*dry, options, plan_memory(*dry, options, 0));
  const int64_t planned = dynamic_cast<SplitBackend&>(*twin).card().ledger().use().peak;

  std::vector<Request> requests = mixed_requests(12);
  const auto there = half(*divided);
  std::vector<Answered> together, alone;
  {
    Engine engine(*there, *divided, nullptr, options);
    together = ask_together(engine, requests);
  }
  Engine engine(*model, *device, nullptr, options);
  for (const Request& request : requests) alone.push_back(ask(engine, request));
  for (size_t i = 0; i < requests.size(); ++i) expect_same(together[i], alone[i], std::to_string(i));
  EXPECT_GT(divided->transfers().up, 0);
  const int64_t measured = divided->card().ledger().use().peak;
  EXPECT_LE(double(measured), 1.15 * double(planned));  // texts come and go, and leave holes between blocks of memory
  EXPECT_GE(double(measured), 0.5 * double(planned));
}

class EngineTest : public testing::Test {
 protected:
  std::shared_ptr<Backend> device = make_backend({.name = "cpu", .threads = 2});
  std::unique_ptr<models::LanguageModel> model = model_of(Net::attention, *device);
};

TEST_F(EngineTest, a_request_that_is_canceled_frees_its_pages) {
  Engine engine(*model, *device, nullptr, {.context = 100000, .parallel = 2, .prefix_cache = false});
  for (const bool generating : {false, true}) {
    std::vector<Engine::Ticket> tickets;
    std::vector<std::future<Answered>> futures;
    for (int i = 0; i < 5; ++i) {  // two run, the others wait
      const auto sink = std::make_shared<Collector>();
      futures.push_back(sink->ready.get_future());
      std::promise<void> first;
      const auto begun = first.get_future();
      std::atomic<bool> told = false;
      sink->on_token = [&first, &told] {
        if (!told.exchange(true)) first.set_value();
      };
      Request request{.prompt = std::vector<int32_t>(generating ? 3 : 50000, 1), .max_tokens = generating ? 90000 : 1};
      tickets.push_back(engine.submit(request, sink));
      if (generating && i < 2) begun.wait();
      sink->on_token = nullptr;
    }
    EXPECT_EQ(engine.metrics().running + engine.metrics().waiting, 5);
    tickets.clear();
    for (auto& future : futures) EXPECT_EQ(future.get().error, "the request was canceled");
    expect_no_pages_in_use(engine);
  }
  EXPECT_EQ(engine.metrics().aborted, 10);
  EXPECT_EQ(ask(engine, {.prompt = {1, 2}, .max_tokens = 3}).usage.completion, 3);
}

TEST_F(EngineTest, a_full_queue_refuses_with_a_time) {
  Engine engine(*model, *device, nullptr, {.context = 50000, .parallel = 1, .max_queue = 2});
  std::vector<Engine::Ticket> tickets;
  const auto submit = [&] {
    tickets.push_back(engine.submit({.prompt = {1}, .max_tokens = 40000}, std::make_shared<Collector>()));
    return true;
  };
  int64_t accepted = 0;
  try {
    for (; accepted < 10; ++accepted) submit();
    FAIL() << "nothing was refused";
  } catch (const OverloadedError& e) {
    EXPECT_GE(e.seconds, 1);
    EXPECT_STREQ(e.what(), "the queue is full: 2 requests are waiting");
  }
  EXPECT_GE(accepted, 2);
  EXPECT_LE(accepted, 3);
}

TEST_F(EngineTest, refuses_what_it_can_never_answer) {
  Engine engine(*model, *device, nullptr, {.parallel = 4});
  const auto refused = [&](const Request& request) {
    try {
      engine.submit(request, std::make_shared<Collector>());
    } catch (const Error& e) { return std::string(e.what()); }
    return std::string("accepted");
  };
  EXPECT_EQ(refused({.prompt = {}}), "the prompt has no tokens, expected at least one");
  EXPECT_EQ(refused({.prompt = {3, 61}}), "prompt: token id 61 is outside the model's vocabulary of 61");
  EXPECT_EQ(refused({.prompt = std::vector<int32_t>(161, 1)}), "the prompt has 161 tokens, expected at most the context length of 160");
  EXPECT_EQ(refused({.prompt = {1}, .choices = 5}), "5 choices: expected 1 to 4");
  EXPECT_EQ(test::complaint_of([&] { plan_memory(*model, {.cache_bytes = 1000}, 0); }),
            "UsageError: the KV cache has 0.000 GB, but one text of 160 tokens needs 0.000 GB; raise --kv-cache-memory or lower --context");
}

TEST_F(EngineTest, embeddings_have_unit_length_and_the_same_bits_among_others) {
  Engine engine(*model, *device, nullptr, {});
  std::vector<Request> requests = mixed_requests(8);
  for (Request& r : requests) r.embedding = true, r.choices = 1, r.prompt_logprobs.reset();
  std::vector<Answered> alone;
  for (const Request& r : requests) alone.push_back(ask(engine, r));
  const std::vector<Answered> together = ask_together(engine, requests);
  for (size_t i = 0; i < requests.size(); ++i) {
    ASSERT_EQ(alone[i].embedding.size(), 32u);
    double squares = 0;
    for (const float v : alone[i].embedding) squares += double(v) * v;
    EXPECT_NEAR(squares, 1, 1e-6);
    EXPECT_EQ(alone[i].embedding, together[i].embedding);
  }
  EXPECT_NE(alone[0].embedding, alone[1].embedding);
}

// Every third token is allowed, and the text may end after ten.
class EveryThird final : public Constraint {
 public:
  std::span<const uint64_t> allowed() override {
    bits_ = {0};
    for (int t = 0; t < V; t += 3) bits_[0] |= uint64_t(1) << t;
    return bits_;
  }
  void accept(int32_t) override { ++count_; }
  bool ends() const override { return count_ == 10; }
  std::unique_ptr<Constraint> copy() const override { return std::make_unique<EveryThird>(*this); }

 private:
  std::vector<uint64_t> bits_;
  int count_ = 0;
};
class EveryThirdSource final : public ConstraintSource {
  std::unique_ptr<Constraint> make() const override { return std::make_unique<EveryThird>(); }
};

TEST_F(EngineTest, a_constraint_decides_what_may_follow_and_when_it_ends) {
  for (const auto& drafter : {std::shared_ptr<const Drafter>(), ngram_drafter()}) {
    Engine engine(*model, *device, nullptr, {.drafter = drafter});
    Request request{.prompt = {1, 2, 3}, .max_tokens = 50, .choices = 2, .constraint = std::make_shared<EveryThirdSource>()};
    const Answered answer = ask(engine, request);
    for (const auto& [choice, tokens] : answer.tokens) {
      EXPECT_EQ(tokens.size(), 10u);
      for (const int32_t t : tokens) EXPECT_EQ(t % 3, 0);
    }
    EXPECT_EQ(int(answer.ends.at(1).reason), int(Finish::stop));
  }
}

TEST_F(EngineTest, drains_and_then_refuses) {
  Engine engine(*model, *device, nullptr, {.parallel = 2});
  std::vector<std::future<Answered>> futures;
  std::vector<Engine::Ticket> tickets;
  for (int i = 0; i < 6; ++i) {
    const auto sink = std::make_shared<Collector>();
    futures.push_back(sink->ready.get_future());
    tickets.push_back(engine.submit({.prompt = {1, 2}, .max_tokens = 20}, sink));
  }
  engine.drain(steady_clock::now() + std::chrono::seconds(60));
  EXPECT_TRUE(engine.idle());
  for (auto& future : futures) EXPECT_EQ(future.get().tokens.at(0).size(), 20u);
  EXPECT_THROW(engine.submit({.prompt = {1}}, std::make_shared<Collector>()), StoppedError);
}

// Non-finite logits end the request that has them, no other.
TEST_F(EngineTest, a_request_fails_alone) {
  Engine engine(*model, *device, nullptr, {});
  std::vector<Request> requests = mixed_requests(6);
  requests[3].prompt_logprobs.reset();
  requests[3].sampling.sequence_bias = {{{1000}, 5.0f}};  // a token that does not exist
  requests[3].max_tokens = 5;
  const std::vector<Answered> answers = ask_together(engine, requests);
  for (size_t i = 0; i < answers.size(); ++i) EXPECT_EQ(answers[i].error.empty(), i != 3) << answers[i].error;
  expect_no_pages_in_use(engine);
  EXPECT_EQ(engine.metrics().failed, 1);
}

}  // namespace
}  // namespace hearth::engine
