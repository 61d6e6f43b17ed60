#include "parts/decoder/text_encoder.h"

#include <algorithm>

#include "core/observe.h"

namespace hearth::parts {
namespace {

constexpr int64_t page = DecoderPool::page;

int64_t layers_for(const DecoderConfig& c, const std::vector<int64_t>& states) {
  const int64_t all = std::ssize(c.layers);
  for (const int64_t state : states)
    if (state < 0 || state > all)
      fail<UsageError>("text encoder: hidden state {} of a decoder with {} layers, expected 0 to {}", state, all, all);
  return std::ranges::max(states);
}

// What a block stores of one text while the layer runs.
std::unique_ptr<BlockState> state_of(const Block* block, const PaddedText& text, Backend& backend) {
  if (!block) return nullptr;
  const int64_t T = std::ssize(text.ids);
  const std::optional<nn::KvLayout> layout = block->stored();
  if (layout && text.padded() && layout->window > 0 && layout->window < T)
    fail<UnsupportedError>("text encoder: padding is not supported with a window of {} in a text of {} tokens", layout->window, T);
  std::unique_ptr<PagedState> keys;
  if (layout) {
    const int64_t pages = (text.end - text.begin + page - 1) / page;
    auto table = std::make_shared<nn::PageTable>(std::make_shared<nn::PagePool>(pages), page);
    table->extend(text.end - text.begin);
    keys = std::make_unique<PagedState>(std::make_shared<nn::KvPages>(backend, pages, page, *layout, DType::f32), std::move(table));
  }
  auto state = block->start(std::move(keys), T);
  if (state && !layout && text.padded()) fail<UnsupportedError>("text encoder: padding is not supported for a decoder with a recurrence");
  return state;
}

// The rows of a text as they are computed: the prompt, the padding behind it, and one row for all padding in front, whose rows are equal.
struct Rows {
  explicit Rows(const PaddedText& text)
      : prompt(text.end - text.begin), behind(std::ssize(text.ids) - text.end), in_front(std::min<int64_t>(text.begin, 1)) {}
  int64_t count() const { return prompt + behind + in_front; }

  // Rows from `begin` to `end` as parts of a pass.
  std::vector<Slice> slices(int64_t begin, int64_t end) const {
    std::vector<Slice> all;
    const auto add = [&](int64_t first, int64_t past, std::optional<int64_t> sees) {
      const int64_t from = std::max(first, begin), to = std::min(past, end);
      if (from < to) all.push_back({.begin = from - begin, .count = to - from, .first = from, .sees = sees});
    };
    add(0, prompt, {});
    add(prompt, prompt + behind, prompt);
    add(prompt + behind, count(), 0);
    return all;
  }

  int64_t prompt, behind, in_front;
};

std::vector<int32_t> ids_of(const PaddedText& text) {
  if (text.begin < 0 || text.end <= text.begin || text.end > std::ssize(text.ids))
    fail<UsageError>("text encoder: a prompt from {} to {} of {} tokens, expected at least one token", text.begin, text.end,
                     text.ids.size());
  std::vector<int32_t> ids(text.ids.begin() + text.begin, text.ids.end());
  if (text.begin > 0) ids.push_back(text.ids[0]);
  for (int64_t i = 1; i < text.begin; ++i)
    if (text.ids[size_t(i)] != text.ids[0])
      fail<UsageError>("text encoder: padding {} and {} in front of a prompt, expected one token", text.ids[0], text.ids[size_t(i)]);
  return ids;
}

// x [T, C] with the inserted rows in place of those of their ids.
Tensor with_inserted(const Tensor& x, const PaddedText& text) {
  const int64_t T = std::ssize(text.ids), C = x.size(1);
  if (text.inserted.empty() && text.positions.empty()) return x;
  if (text.padded()) fail<UnsupportedError>("text encoder: a text with images and padding is not supported");
  if (!text.positions.empty() && std::ssize(text.positions) != T)
    fail<ShapeError>("text encoder: {} positions of {} tokens, expected as many", text.positions.size(), T);
  std::vector<Tensor> parts;
  int64_t done = 0;
  for (const PaddedText::Inserted& i : text.inserted) {
    if (i.rows.rank() != 2 || i.rows.size(1) != C || i.at < done || i.at + i.rows.size(0) > T)
      fail<ShapeError>("text encoder: rows {} from token {} on of {}, expected [n, {}] within the text, one after another", i.rows.shape(),
                       i.at, T, C);
    if (i.at > done) parts.push_back(x.slice(0, done, i.at));
    parts.push_back(i.rows.to(x.backend()));
    done = i.at + i.rows.size(0);
  }
  if (done < T) parts.push_back(x.slice(0, done, T));
  return parts.size() == 1 ? parts[0] : ops::concat(parts, 0);
}

// A text on its way through the layers.
struct Run {
  Run(const PaddedText& t, const DecoderConfig& c, const DecoderInput& input) : text(t), rows(t), x(with_inserted(input(ids_of(t)), t)) {
    Backend& backend = x.backend();
    const int64_t T = std::ssize(t.ids);
    for (const RotaryConfig& rotary : c.rotaries) {
      Tensor table = t.positions.empty() ? rotary.table(backend, t.begin, T - t.begin, {T, T}) : rotary.table(backend, t.positions, {T, T});
      if (rows.in_front > 0) table = ops::concat({table, rotary.table(backend, 0, 1, {T, T})}, 0);
      tables.push_back(std::move(table));
    }
    for (int64_t begin = 0; begin < rows.count(); begin += Block::chunk)
      pieces.push_back({begin, std::min(begin + Block::chunk, rows.count()), {}, {}});
    for (Piece& piece : pieces) piece.embeddings = x.slice(0, piece.begin, piece.end);
  }

  void through(const DecoderLayer& layer) {
    const auto mixer = state_of(layer.mixer.block.get(), text, x.backend());
    const auto mlp = state_of(layer.mlp ? layer.mlp->block.get() : nullptr, text, x.backend());
    std::vector<Tensor> parts;
    for (Piece& piece : pieces) {
      std::vector<Tensor> rotary;
      for (const Tensor& table : tables) rotary.push_back(table.slice(0, piece.begin, piece.end));
      const std::vector<Slice> slices = rows.slices(piece.begin, piece.end);
      const std::vector<BlockState*> of_mixer(slices.size(), mixer.get()), of_mlp(slices.size(), mlp.get());
      const Pass pass{.texts = slices, .rotary = rotary, .embeddings = piece.embeddings, .shared = &piece.shared};
      parts.push_back(layer(x.slice(0, piece.begin, piece.end), pass, of_mixer, of_mlp));
    }
    x = parts.size() == 1 ? parts[0] : ops::concat(parts, 0);
  }

  // Rows in the order of the text's tokens.
  Tensor in_order(const Tensor& y) const {
    if (rows.in_front == 0) return y;
    const Tensor padding = ops::repeat_batch(y.slice(0, rows.count() - 1, rows.count()), text.begin);
    return ops::concat({padding, y.slice(0, 0, rows.count() - 1)}, 0);
  }

  struct Piece {
    int64_t begin, end;
    Tensor embeddings, shared;
  };
  const PaddedText& text;
  Rows rows;
  Tensor x;
  std::vector<Tensor> tables;
  std::vector<Piece> pieces;
};

}  // namespace

DecoderTextEncoder::DecoderTextEncoder(const Scope& w, const DecoderConfig& c, std::vector<int64_t> states)
    : config_(c),
      states_(std::move(states)),
      input_(w, c),
      layers_(w / c.layer, layers_for(c, states_),
              [c](const Scope& layer, int64_t i) { return DecoderLayer(layer, c, c.layers[size_t(i)]); }) {
  const size_t all = c.layers.size();
  if (layers_.size() == all) {
    norm_.emplace(w / c.last_norm, c.width, c.norm);
    return;
  }
  w.weights().without_loading([&] {
    for (size_t i = layers_.size(); i < all; ++i) DecoderLayer(w / c.layer / int64_t(i), c, c.layers[i]);
    Norm(w / c.last_norm, c.width, c.norm);
  });
}

std::vector<std::vector<Tensor>> DecoderTextEncoder::operator()(std::span<const PaddedText> texts) const {
  std::vector<Run> runs;
  for (const PaddedText& text : texts) runs.emplace_back(text, config_, input_);
  std::vector<std::vector<Tensor>> results(texts.size(), std::vector<Tensor>(states_.size()));
  const auto keep = [&](int64_t state) {
    for (size_t i = 0; i < states_.size(); ++i)
      for (size_t t = 0; t < runs.size() && states_[i] == state; ++t) results[t][i] = runs[t].in_order(runs[t].x);
  };
  keep(0);
  int64_t done = 0;
  for (const DecoderLayer& layer : layers_) {
    for (Run& run : runs) run.through(layer);
    if (++done == std::ssize(config_.layers))
      for (Run& run : runs) run.x = in_block(config_.last_norm, [&] { return (*norm_)(run.x); });
    keep(done);
  }
  return results;
}

}  // namespace hearth::parts
