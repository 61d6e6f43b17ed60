#include "models/decoder_model.h"

#include <algorithm>

#include "core/error.h"
#include "core/on_host.h"
#include "ops/select.h"
#include "parts/decoder/decoder.h"

namespace hearth::models {
namespace {

// Rows of logits in memory at once; each covers the whole vocabulary.
constexpr int64_t logit_rows = 64;

class DecoderTextPool final : public TextPool {
 public:
  explicit DecoderTextPool(std::shared_ptr<parts::DecoderPool> p) : pool(std::move(p)) {}

  std::vector<Group> groups() const override {
    std::vector<Group> all;
    for (const parts::DecoderPool::Group& g : pool->groups) all.push_back({g.window, g.bytes, g.pages->count(), g.pages->free()});
    return all;
  }
  int64_t page() const override { return parts::DecoderPool::page; }

  std::shared_ptr<parts::DecoderPool> pool;
};

class DecoderTextPage final : public TextPage {
 public:
  explicit DecoderTextPage(std::shared_ptr<parts::DecoderPage> p) : page(std::move(p)) {}
  int64_t releasable() const override { return page->releasable(); }

  std::shared_ptr<parts::DecoderPage> page;
};

class DecoderText final : public PooledText {
 public:
  explicit DecoderText(parts::DecoderState s) : state(std::move(s)) {}

  int64_t length() const override { return state.length; }
  int64_t context() const override { return state.context; }
  int64_t bytes() const override { return state.bytes(); }
  int64_t shorten(int64_t most) override { return state.shorten(most); }
  Parts save() const override { return state.save(); }
  bool load(int64_t length, int64_t context, const Parts& saved) override { return state.load(length, context, saved); }

  bool reserve(int64_t length) override { return state.reserve(length); }
  std::vector<int64_t> missing(int64_t length) const override {
    std::vector<int64_t> all;
    for (size_t g = 0; g < state.tables.size(); ++g) all.push_back(state.missing(g, length));
    return all;
  }
  void forget() override { state.forget(); }
  Parts snapshot() const override { return state.snapshot(); }
  void restore(int64_t length, const Parts& saved) override { state.restore(length, saved); }
  std::shared_ptr<TextPage> share(int64_t i) const override { return std::make_shared<DecoderTextPage>(state.share(i)); }
  void begin_with(std::span<const std::shared_ptr<TextPage>> pages, const Parts& saved) override {
    std::vector<std::shared_ptr<parts::DecoderPage>> own;
    for (const auto& page : pages) own.push_back(static_cast<const DecoderTextPage&>(*page).page);
    state.begin_with(own, saved);
  }
  void begin_like(const PooledText& other) override { state.begin_like(static_cast<const DecoderText&>(other).state); }

  parts::DecoderState state;
};

class DecoderModel final : public LanguageModel {
 public:
  DecoderModel(const parts::DecoderConfig& config, Weights& weights) : net_(Scope(weights), config) {}

  LanguageSizes sizes() const override { return {.vocabulary = net_.trunk.config.vocabulary, .positions = net_.trunk.config.positions}; }
  std::unique_ptr<TextState> start(int64_t context, DType cache) const override {
    return std::make_unique<DecoderText>(net_.trunk.start(context, cache));
  }
  int64_t cache_bytes(int64_t context, DType cache) const override { return net_.trunk.state_bytes(context, cache); }
  void feed(TextState& state, std::span<const int32_t> ids, int64_t from, const OnLogits& logits, const OnProgress& progress) override;

  Pooling pooling(DType cache) const override;
  std::shared_ptr<TextPool> make_pool(DType cache, std::span<const int64_t> pages) const override {
    return std::make_shared<DecoderTextPool>(net_.trunk.make_pool(cache, pages));
  }
  std::unique_ptr<PooledText> start(std::shared_ptr<TextPool> pool, int64_t context) const override {
    return std::make_unique<DecoderText>(net_.trunk.start(static_cast<DecoderTextPool&>(*pool).pool, context));
  }
  void feed(std::span<const Slice> slices) override;
  int64_t pass_tokens() const override { return parts::Block::chunk; }

 private:
  // logits(row, values) for rows of `hidden`, some at a time.
  void each_row(const Tensor& hidden, const OnLogits& logits) const {
    for (int64_t row = 0, count = hidden.size(0); row < count; row += logit_rows) {
      const int64_t rows = std::min(logit_rows, count - row);
      const Tensor y = dense_on_host(net_.head(hidden.slice(0, row, row + rows)));
      const int64_t V = y.size(1);
      unless_dry(y.backend(), [&] {
        for (int64_t r = 0; r < rows; ++r) logits(row + r, {y.data<float>() + r * V, size_t(V)});
      });
    }
  }

  parts::Decoder net_;
};

LanguageModel::Pooling DecoderModel::pooling(DType cache) const {
  Pooling made{.groups = {}, .page = parts::DecoderPool::page};
  for (const auto& [window, bytes] : net_.trunk.groups(cache)) made.groups.push_back({.window = window, .bytes = bytes * made.page});
  made.state_bytes = net_.trunk.recurrent_bytes();
  made.reusable = std::ranges::none_of(net_.trunk.config.rotaries, &parts::RotaryConfig::stretches);
  return made;
}

void DecoderModel::feed(TextState& text, std::span<const int32_t> ids, int64_t from, const OnLogits& logits, const OnProgress& progress) {
  parts::DecoderState& state = static_cast<DecoderText&>(text).state;
  const int64_t count = int64_t(ids.size()), length = state.length + count;
  if (length > text.context()) fail<UsageError>("context: {} tokens do not fit, expected at most {}", length, text.context());
  for (int64_t begin = 0, end = 0; begin < count; begin = end) {
    end = begin + state.piece(count - begin);
    const Tensor hidden = net_.hidden(ids.subspan(size_t(begin), size_t(end - begin)), state, length);
    if (const int64_t first = std::max(begin, from); first < end)
      each_row(hidden.slice(0, first - begin, end - begin),
               [&](int64_t row, std::span<const float> values) { logits(first + row, values); });
    if (progress) progress({.phase = "prompt", .done = end, .total = count});
  }
}

void DecoderModel::feed(std::span<const Slice> slices) {
  std::vector<int32_t> ids, wanted;
  std::vector<parts::TextPart> texts;
  std::vector<std::pair<const Slice*, int64_t>> owners;  // of the wanted rows
  for (const Slice& slice : slices) {
    for (int64_t t = slice.from; t < std::ssize(slice.ids); ++t) {
      wanted.push_back(int32_t(std::ssize(ids) + t));
      owners.emplace_back(&slice, t);
    }
    ids.insert(ids.end(), slice.ids.begin(), slice.ids.end());
    texts.push_back({&static_cast<DecoderText*>(slice.text)->state, std::ssize(slice.ids), slice.length});
  }
  const Tensor hidden = net_.trunk(net_.trunk.embed(ids), texts);
  for (int64_t begin = 0; const Slice& slice : slices) {
    if (slice.hidden) {
      const Tensor own = dense_on_host(hidden.slice(0, begin, begin + std::ssize(slice.ids)));
      unless_dry(own.backend(), [&] {
        for (int64_t t = 0; t < own.size(0); ++t) slice.hidden(t, {own.data<float>() + t * own.size(1), size_t(own.size(1))});
      });
    }
    begin += std::ssize(slice.ids);
  }
  if (wanted.empty()) return;
  const bool all = wanted.size() == ids.size();
  const Tensor rows = all ? hidden : ops::gather(hidden, Tensor::from(hidden.backend(), {std::ssize(wanted)}, wanted));
  each_row(rows, [&](int64_t row, std::span<const float> values) {
    const auto& [slice, token] = owners[size_t(row)];
    slice->logits(token, values);
  });
}

}  // namespace

std::unique_ptr<LanguageModel> make_decoder_model(const parts::DecoderConfig& config, Weights& weights) {
  return std::make_unique<DecoderModel>(config, weights);
}

}  // namespace hearth::models
