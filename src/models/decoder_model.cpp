#include "models/decoder_model.h"

#include <algorithm>

#include "core/error.h"
#include "core/on_host.h"
#include "parts/decoder/decoder.h"

namespace hearth::models {
namespace {

// Rows of logits in memory at once; each covers the whole vocabulary.
constexpr int64_t logit_rows = 64;

class DecoderText final : public TextState {
 public:
  explicit DecoderText(parts::DecoderState s) : state(std::move(s)) {}

  int64_t length() const override { return state.length; }
  int64_t context() const override { return state.context; }
  int64_t bytes() const override { return state.bytes(); }
  int64_t shorten(int64_t most) override { return state.shorten(most); }
  Parts save() const override { return state.save(); }
  bool load(int64_t length, int64_t context, const Parts& saved) override { return state.load(length, context, saved); }

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

 private:
  parts::Decoder net_;
};

void DecoderModel::feed(TextState& text, std::span<const int32_t> ids, int64_t from, const OnLogits& logits, const OnProgress& progress) {
  parts::DecoderState& state = static_cast<DecoderText&>(text).state;
  const int64_t count = int64_t(ids.size()), length = state.length + count;
  if (length > text.context()) fail<UsageError>("context: {} tokens do not fit, expected at most {}", length, text.context());
  for (int64_t begin = 0, end = 0; begin < count; begin = end) {
    end = begin + state.piece(count - begin);
    const Tensor hidden = net_.hidden(ids.subspan(size_t(begin), size_t(end - begin)), state, length);
    for (int64_t row = std::max(begin, from); row < end; row += logit_rows) {
      const int64_t rows = std::min(logit_rows, end - row);
      const Tensor y = dense_on_host(net_.head(hidden.slice(0, row - begin, row - begin + rows)));
      const int64_t V = y.size(1);
      for (int64_t r = 0; r < rows; ++r) logits(row + r, {y.data<float>() + r * V, size_t(V)});
    }
    if (progress) progress({.phase = "prompt", .done = end, .total = count});
  }
}

}  // namespace

std::unique_ptr<LanguageModel> make_decoder_model(const parts::DecoderConfig& config, Weights& weights) {
  return std::make_unique<DecoderModel>(config, weights);
}

}  // namespace hearth::models
