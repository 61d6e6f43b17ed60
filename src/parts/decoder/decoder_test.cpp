// The decoder as a frame: blocks of a family's own, states of different kinds next to each other, hidden states of layers. The values of
// each family are compared with the reference in its folder.
#include "parts/decoder/decoder.h"

#include "core/on_host.h"
#include "parts/golden_case_test.h"

namespace hearth::parts {
namespace {

// A recurrence: s ← s / 2 + x, y = s. It keeps a copy of s after every 8 tokens.
class Decay final : public Block {
 public:
  Decay(Backend& backend, int64_t width) : backend_(&backend), width_(width) {}

  struct State final : BlockState {
    int64_t bytes() const override { return int64_t((1 + copies.size()) * sum.size() * sizeof(float)); }
    int64_t reachable(int64_t stored, int64_t length) const override {
      if (length >= stored) return length;
      for (auto copy = copies.rbegin(); copy != copies.rend(); ++copy)
        if (copy->first <= length) return copy->first;
      return 0;
    }
    void shorten(int64_t length) override {
      while (!copies.empty() && copies.back().first > length) copies.pop_back();
      if (copies.empty()) std::ranges::fill(sum, 0);
      else sum = copies.back().second;
    }
    std::vector<Tensor> save(int64_t) const override { return {Tensor::from(*host, {std::ssize(sum)}, sum)}; }
    void load(int64_t, std::span<const Tensor> saved) override { sum = saved[0].to_vector(); }
    int64_t interval() const override { return 8; }
    void checkpoint(int64_t length) override { copies.emplace_back(length, sum); }

    Backend* host = nullptr;
    std::vector<float> sum;
    std::vector<std::pair<int64_t, std::vector<float>>> copies;
  };

  Tensor operator()(const Tensor& x, const Tensor& residual, const Pass& pass, States states) const override {
    const Tensor y = by_text<State>(pass, states, [&](const Slice& text, State& state) {
      std::vector<float>& sum = state.sum;
      return on_host(
          {text.count, width_},
          [&](float* to, const float* from) {
            for (int64_t t = 0; t < text.count; ++t)
              for (int64_t c = 0; c < width_; ++c) to[t * width_ + c] = sum[size_t(c)] = sum[size_t(c)] / 2 + from[t * width_ + c];
          },
          text.of(x));
    });
    return residual ? ops::add(residual, y) : y;
  }
  std::unique_ptr<BlockState> start(std::unique_ptr<PagedState>, int64_t) const override {
    auto state = std::make_unique<State>();
    state->host = &backend_->host();
    state->sum.resize(size_t(width_));
    return state;
  }
  int64_t state_bytes(int64_t context) const override { return (1 + context / 8) * width_ * int64_t(sizeof(float)); }

 private:
  Backend* backend_;
  int64_t width_;
};

struct DecayConfig final : OwnBlock {
  std::unique_ptr<Block> build(const Scope& w, int64_t width, const std::vector<RotaryConfig>&) const override {
    return std::make_unique<Decay>(w.backend(), width);
  }
};

// A recurrence, attention with a window and attention to everything, in turns; the first without an MLP.
DecoderConfig mixed() {
  DecoderConfig d{.vocabulary = 31, .width = 16, .positions = 128, .rotaries = {{.size = 8}}};
  const auto norm = [](const char* name) { return LayerNormConfig{name, {}}; };
  const SublayerConfig mlp{.name = "mlp", .block = MlpConfig{.width = 24}, .before = norm("post")};
  const AttentionConfig full{.heads = 2, .groups = 1, .head = 8}, window{.heads = 2, .groups = 1, .head = 8, .window = 600};
  d.layers = {{.mixer = {.name = "decay", .block = std::make_shared<DecayConfig>(), .before = norm("pre")}},
              {.mixer = {.name = "attention", .block = window, .before = norm("pre")}, .mlp = mlp},
              {.mixer = {.name = "decay", .block = std::make_shared<DecayConfig>(), .before = norm("pre")}, .mlp = mlp},
              {.mixer = {.name = "attention", .block = full, .before = norm("pre"), .after = norm("after")}, .mlp = mlp, .parallel = true}};
  d.layers[3].mlp->before.reset();
  return d;
}

std::vector<int32_t> text(int64_t count) {
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < count; ++i) ids.push_back(int32_t((i * 7 + i * i) % 31));
  return ids;
}

// Feeds tokens `at` … `to` in pieces of at most `step`, and returns their logits.
std::vector<float> fed(const Decoder& net, DecoderState& state, std::span<const int32_t> ids, int64_t step) {
  std::vector<float> all;
  while (state.length < int64_t(ids.size())) {
    const int64_t count = state.piece(std::min(step, int64_t(ids.size()) - state.length));
    const auto piece = ids.subspan(size_t(state.length), size_t(count));
    const std::vector<float> logits = net.head(net.hidden(piece, state, int64_t(ids.size()))).to_vector();
    all.insert(all.end(), logits.begin(), logits.end());
  }
  return all;
}

BACKEND_TEST(DecoderFrame, states_of_all_kinds_continue_from_where_they_were_shortened_to) {
  Weights weights = Weights::seeded(device, {.types = {.in_place = true}});
  const Decoder net(Scope(weights), mixed());
  const std::vector<int32_t> ids = text(45);
  DecoderState once = net.trunk.start(64, DType::f32);
  const std::vector<float> whole = fed(net, once, ids, 45);
  for (const int64_t step : {1, 5, 8, 11}) {
    DecoderState state = net.trunk.start(64, DType::f32);
    EXPECT_TRUE(fed(net, state, ids, step) == whole) << step;
  }
  EXPECT_EQ(once.bytes(), 2 * (1 + 45 / 8) * 16 * 4 + 2 * 64 * 8 * 4 * 2);
  EXPECT_EQ(net.trunk.state_bytes(64, DType::f32), 2 * (1 + 64 / 8) * 16 * 4 + 2 * 64 * 8 * 4 * 2);

  EXPECT_EQ(once.shorten(50), 45);  // nothing to discard
  for (const auto& [most, left] : std::vector<std::pair<int64_t, int64_t>>{{44, 40}, {39, 32}, {24, 24}, {7, 0}, {0, 0}}) {
    EXPECT_EQ(once.shorten(most), left);
    EXPECT_EQ(once.length, left);
    const std::vector<float> rest = fed(net, once, ids, 45);
    EXPECT_TRUE(std::equal(rest.begin(), rest.end(), whole.begin() + left * 31)) << most;
  }
}

BACKEND_TEST(DecoderFrame, a_window_that_has_lost_keys_starts_over) {
  Weights weights = Weights::seeded(device, {.types = {.in_place = true}});
  DecoderConfig config = mixed();
  std::get<AttentionConfig>(config.layers[1].mixer.block).window = 4;
  const Decoder net(Scope(weights), config);
  const std::vector<int32_t> ids = text(600);
  DecoderState state = net.trunk.start(700, DType::f32);
  fed(net, state, ids, 512);
  DecoderState again = net.trunk.start(700, DType::f32);
  const std::vector<float> whole = fed(net, again, ids, 512);
  EXPECT_EQ(state.shorten(75), 72);  // the oldest position in the 34 pages is 64
  EXPECT_EQ(fed(net, state, ids, 512).size(), size_t((600 - 72) * 31));
  EXPECT_EQ(state.shorten(70), 0);  // the recurrence has 64, whose window begins before
  EXPECT_TRUE(fed(net, state, ids, 512) == whole);
}

BACKEND_TEST(DecoderFrame, a_saved_state_continues_with_the_same_bits) {
  Weights weights = Weights::seeded(device, {.types = {.in_place = true}});
  DecoderConfig config = mixed();
  std::get<AttentionConfig>(config.layers[1].mixer.block).window = 4;
  const Decoder net(Scope(weights), config);
  const std::vector<int32_t> ids = text(600);
  for (const DType cache : {DType::f32, DType::f16}) {
    DecoderState once = net.trunk.start(700, cache);
    const std::vector<float> whole = fed(net, once, ids, 512);
    DecoderState first = net.trunk.start(700, cache), second = net.trunk.start(800, cache);
    fed(net, first, std::span(ids).first(560), 512);  // the window's first pages are in use again
    ASSERT_TRUE(second.load(first.length, first.context, first.save()));
    EXPECT_EQ(second.length, 560);
    const std::vector<float> rest = fed(net, second, ids, 512);
    EXPECT_TRUE(std::equal(rest.begin(), rest.end(), whole.begin() + 560 * 31));
  }
  DecoderState saved = net.trunk.start(700, DType::f32), small = net.trunk.start(50, DType::f32), other = net.trunk.start(700, DType::f16);
  fed(net, saved, std::span(ids).first(60), 512);
  expect_error<UsageError>([&] { small.load(saved.length, saved.context, saved.save()); }, {"60 tokens", "at most 50"});
  expect_error<WeightError>([&] { other.load(saved.length, saved.context, saved.save()); }, {"f32", "expected f16"});
}

BACKEND_TEST(DecoderFrame, a_saved_state_keeps_its_list_of_factors) {
  Weights weights = Weights::seeded(device, {.types = {.in_place = true}});
  DecoderConfig config = mixed();
  config.rotaries[0].kind = RotaryConfig::Kind::longrope;
  config.rotaries[0].original_positions = 64;
  config.rotaries[0].short_divisors = config.rotaries[0].long_divisors = {1, 2, 3, 4};
  const Decoder net(Scope(weights), config);
  DecoderState saved = net.trunk.start(60, DType::f32), alike = net.trunk.start(64, DType::f32), longer = net.trunk.start(65, DType::f32);
  fed(net, saved, text(20), 512);
  EXPECT_TRUE(alike.load(20, 60, saved.save()));
  EXPECT_FALSE(longer.load(20, 60, saved.save()));
  EXPECT_EQ(longer.length, 0);
}

// Several texts in one pass: prompts of different lengths next to texts that go on, in pages of one pool.
BACKEND_TEST(DecoderFrame, texts_have_the_same_bits_alone_and_together) {
  Weights weights = Weights::seeded(device, {.types = {.in_place = true}});
  DecoderConfig config = mixed();
  std::get<AttentionConfig>(config.layers[1].mixer.block).window = 20;
  const Decoder net(Scope(weights), config);
  for (const DType cache : {DType::f32, DType::bf16}) {
    const auto pool = net.trunk.make_pool(cache, std::vector<int64_t>{30, 40});
    const auto free_pages = [&] { return std::vector<int64_t>{pool->groups[0].pages->free(), pool->groups[1].pages->free()}; };
    {
      std::vector<std::vector<int32_t>> texts;
      std::vector<DecoderState> states;
      std::vector<std::vector<float>> alone, together(4);
      for (const int64_t count : {45, 7, 1, 90}) {
        texts.push_back(text(count + 3));
        texts.back().erase(texts.back().begin(), texts.back().begin() + count % 4);
        DecoderState state = net.trunk.start(100, cache);
        alone.push_back(fed(net, state, texts.back(), 512));
        states.push_back(net.trunk.start(pool, 100));
      }
      for (int64_t round = 0;; ++round) {
        std::vector<int32_t> ids;
        std::vector<TextPart> parts;
        std::vector<size_t> owners;
        for (size_t i = 0; i < 4; ++i) {
          const int64_t length = states[i].length, size = std::ssize(texts[i]);
          const int64_t count = std::min((round + int64_t(i)) % 3 * 7 + 1, size - length);
          if (count == 0) continue;
          ids.insert(ids.end(), texts[i].begin() + length, texts[i].begin() + length + count);
          parts.push_back({&states[i], count, size});
          owners.push_back(i);
        }
        if (parts.empty()) break;
        const std::vector<float> logits = net.head(net.trunk(net.trunk.embed(ids), parts)).to_vector();
        for (size_t p = 0, at = 0; p < parts.size(); at += size_t(parts[p++].count) * 31)
          together[owners[p]].insert(together[owners[p]].end(), logits.begin() + long(at), logits.begin() + long(at) + parts[p].count * 31);
        for (const TextPart& part : parts) part.state->forget();
      }
      for (size_t i = 0; i < 4; ++i) EXPECT_TRUE(together[i] == alone[i]) << i;
      EXPECT_EQ(free_pages(), (std::vector<int64_t>{30 - 3 - 1 - 1 - 6, 40 - 2 - 1 - 1 - 2}));
    }
    EXPECT_EQ(free_pages(), (std::vector<int64_t>{30, 40}));
  }
}

// A text that begins with another's pages, or like another, continues with the bits of one that computed everything; both go on.
BACKEND_TEST(DecoderFrame, texts_share_pages_until_they_continue) {
  Weights weights = Weights::seeded(device, {.types = {.in_place = true}});
  const Decoder net(Scope(weights), mixed());
  const std::vector<int32_t> ids = text(60);
  DecoderState once = net.trunk.start(64, DType::f32);
  const std::vector<float> whole = fed(net, once, ids, 60);
  const auto pool = net.trunk.make_pool(DType::f32, std::vector<int64_t>{12, 12});
  DecoderState first = net.trunk.start(pool, 64), second = net.trunk.start(pool, 64), third = net.trunk.start(pool, 64);
  fed(net, first, std::span(ids).first(32), 512);
  const auto behind_two = first.snapshot();
  std::vector<std::shared_ptr<DecoderPage>> pages{first.share(0), first.share(1)};
  fed(net, first, std::span(ids).first(37), 512);
  const int64_t before = pool->groups[0].pages->free();
  second.begin_with(pages, behind_two);
  third.begin_like(first);
  EXPECT_EQ(pool->groups[0].pages->free(), before);
  EXPECT_EQ(pages[0]->releasable(), 0);
  const auto expect_rest = [&](DecoderState& state, int64_t from) {
    const std::vector<float> rest = fed(net, state, ids, 7);
    EXPECT_TRUE(std::equal(rest.begin(), rest.end(), whole.begin() + from * 31)) << from;
  };
  expect_rest(third, 37);  // takes a copy of the page that it shares with the first
  expect_rest(second, 32);
  expect_rest(first, 37);
  EXPECT_FALSE(first.reserve(61 + 6 * 16));
  EXPECT_EQ(std::ssize(first.tables[0]->pages()), 4);
}

// As a text encoder: vectors in place of ids, and what the layers pass on.
BACKEND_TEST(DecoderFrame, embeddings_go_in_and_hidden_states_come_out) {
  Weights weights = Weights::seeded(device, {.types = {.in_place = true}});
  const Decoder net(Scope(weights), mixed());
  const std::vector<int32_t> ids = text(8);
  test::TapRecorder recorder;
  std::vector<std::vector<float>> layers;
  DecoderState state = net.trunk.start(8, DType::f32), other = net.trunk.start(8, DType::f32);
  const Tensor from_ids = net.hidden(ids, other, 8);
  const ObserverScope scope(recorder);
  const Tensor hidden = net.trunk(net.trunk.embed(ids), state, 8, [&](int64_t i, const Tensor& y) {
    EXPECT_EQ(i, std::ssize(layers));
    layers.push_back(y.to_vector());
  });
  EXPECT_TRUE(hidden.to_vector() == from_ids.to_vector());
  ASSERT_EQ(layers.size(), 4u);
  for (size_t i = 0; i < 4; ++i) EXPECT_TRUE(layers[i] == recorder.taps.at(fmt::format("model.layers.{}", i))) << i;
}

}  // namespace
}  // namespace hearth::parts
