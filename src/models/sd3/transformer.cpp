#include "models/sd3/transformer.h"

#include <cmath>

#include "core/observe.h"
#include "nn/timestep_embedding.h"

namespace hearth::models::sd3 {
namespace {

constexpr float eps = 1e-6f;
constexpr int64_t time_channels = 256;

// Where a branch finds its shift, scale and gate among the vectors of a modulation.
struct Branch {
  Tensor norm(const Tensor& x, Stored stored) const { return vectors.norm(x, first, first + 1, eps, stored); }
  Tensor gate() const { return vectors.gate(first + 2); }

  const nn::Modulation::Vectors& vectors;
  int64_t first;
};

Heads joined(const Heads& a, const Heads& b) {
  return {ops::concat({a.q, b.q}, 1), ops::concat({a.k, b.k}, 1), ops::concat({a.v, b.v}, 1)};
}

Scope first_of_last_attention(const Scope& w) { return w / "to_out" / 0; }

}  // namespace

Tensor attend(const Heads& h, const Weight& like, Stored stored) {
  const auto [B, T, N, D] = h.q.dims<4>();
  return ops::attention(h.q, h.k, h.v, {.scale = 1.0f / std::sqrt(float(D)), .factors = like.form.factors, .stored = stored})
      .view({B, T, N * D});
}

StreamProjections::StreamProjections(const Scope& w, const MmditConfig& c, const Names& names)
    : q(w / names.q, c.width(), c.width()),
      k(w / names.k, c.width(), c.width()),
      v(w / names.v, c.width(), c.width()),
      heads(c.heads),
      head_size(c.head_size) {
  if (!c.qk_norm) return;
  norm_q.emplace(w / names.norm_q, c.head_size, eps);
  norm_k.emplace(w / names.norm_k, c.head_size, eps);
}

Heads StreamProjections::operator()(const Tensor& x) const {
  const Shape split{x.size(0), x.size(1), heads, head_size};
  const DType factors = q.weight.form.factors;
  const Epilogue keys = nn::inside(keys_of(factors)), queries = nn::inside(queries_of(factors, 1 / std::sqrt(float(head_size))));
  Heads h{q(x, norm_q ? nn::inner : queries).view(split), k(x, norm_k ? nn::inner : keys).view(split), v(x, keys).view(split)};
  if (norm_q) h.q = (*norm_q)(h.q), h.k = (*norm_k)(h.k);
  return h;
}

MmditMlp::MmditMlp(const Scope& w, int64_t width) : proj(w / "net" / 0 / "proj", width, 4 * width), out(w / "net" / 2, 4 * width, width) {}

Tensor MmditMlp::operator()(const Tensor& x, const Tensor& gate, const Tensor& residual) const {
  return out(proj(x, {.activation = Activation::gelu_tanh, .stored = nn::read_by(out)}), {.gate = gate, .residual = residual});
}

JointBlock::JointBlock(const Scope& w, const MmditConfig& c, int64_t layer, bool last)
    : norm1(w / "norm1", c.width(), c.is_dual(layer) ? 9 : 6),
      norm1_context(w / "norm1_context", c.width(), last ? 2 : 6),
      image(w / "attn", c, StreamProjections::own),
      text(w / "attn", c, StreamProjections::added),
      to_out(first_of_last_attention(w / "attn"), c.width(), c.width()),
      ff(w / "ff", c.width()),
      path(w.path()) {
  if (c.is_dual(layer)) {
    dual.emplace(w / "attn2", c, StreamProjections::own);
    dual_out.emplace(first_of_last_attention(w / "attn2"), c.width(), c.width());
  }
  if (last) return;
  to_add_out.emplace(w / "attn" / "to_add_out", c.width(), c.width());
  ff_context.emplace(w / "ff_context", c.width());
}

JointStreams JointBlock::operator()(const JointStreams& x, const Tensor& temb) const {
  const BlockScope scope(path);
  const int64_t T = x.image.size(1), L = x.text.size(1);
  const nn::Modulation::Vectors m = norm1(temb), m_text = norm1_context(temb);
  const Branch attention{m, 0}, mlp{m, 3}, second{m, 6}, text_attention{m_text, 0}, text_mlp{m_text, 3};

  const Heads of_image = image(attention.norm(x.image, image.input()));
  const Heads of_text = text(to_add_out ? text_attention.norm(x.text, text.input())
                                        : m_text.norm(x.text, 1, 0, eps, text.input()));  // the last block: scale, shift
  const Stored stored = to_add_out ? in_parts(nn::read_by(to_out, *to_add_out)) : in_parts(nn::read_by(to_out));
  const Tensor attended = attend(joined(of_image, of_text), image.q.weight, stored);  // image first, then text

  JointStreams y;
  y.image = to_out(attended.slice(1, 0, T), {.gate = attention.gate(), .residual = x.image});
  if (dual) {
    const Heads own = (*dual)(second.norm(x.image, dual->input()));
    y.image = (*dual_out)(attend(own, dual->q.weight, nn::read_by(*dual_out)), {.gate = second.gate(), .residual = y.image});
  }
  y.image = ff(mlp.norm(y.image, ff.input()), mlp.gate(), y.image);
  tap(path, y.image);
  if (!to_add_out) return y;
  y.text = (*to_add_out)(attended.slice(1, T, T + L), {.gate = text_attention.gate(), .residual = x.text});
  y.text = (*ff_context)(text_mlp.norm(y.text, ff_context->input()), text_mlp.gate(), y.text);
  tap(path + ".text", y.text);
  return y;
}

PatchEmbed::PatchEmbed(const Scope& w, int64_t channels_, int64_t width_, int64_t patch_, int64_t side_)
    : proj(w / "proj", channels_, width_, patch_, ConvSpec::plane(patch_)),
      channels(channels_),
      width(width_),
      patch(patch_),
      side(side_),
      path(w.path()) {
  if (side > 0) positions = w.table("pos_embed", {1, side * side, width});
}

Tensor PatchEmbed::operator()(const Tensor& x) const {
  const auto [B, h, w, C] = x.dims<4>();
  if (C != channels) fail<ShapeError>("mmdit: x is {}, expected {} channels", x.shape(), channels);
  const int64_t rows = h / patch, columns = w / patch;
  if (h < 1 || w < 1 || h % patch != 0 || w % patch != 0 || (side > 0 && std::max(rows, columns) > side))
    fail<ShapeError>("mmdit: x is {}, expected sides that are multiples of {}{}", x.shape(), patch,
                     side > 0 ? fmt::format(", at most {} (the position table's)", patch * side) : "");
  return in_block(path, [&, B = B] {
    Epilogue added;
    if (side > 0) {
      const int64_t top = (side - rows) / 2, left = (side - columns) / 2;
      std::vector<int32_t> cropped;
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < columns; ++c) cropped.push_back(int32_t((top + r) * side + left + c));
      const Tensor table = ops::embedding(cropped, positions.view({side * side, width})).view({1, rows, columns, width});
      added.residual = B == 1 ? table : ops::repeat_batch(table, B);
    }
    return proj(x, added).view({B, rows * columns, width});
  });
}

TimeTextEmbed::TimeTextEmbed(const Scope& w, const MmditConfig& c)
    : timestep_embedder(w / "timestep_embedder", time_channels, c.width()),
      text_embedder(w / "text_embedder", c.pooled_width, c.width()),
      pooled_width(c.pooled_width),
      path(w.path()) {}

Tensor TimeTextEmbed::operator()(std::span<const float> timesteps, const Tensor& pooled) const {
  const int64_t B = pooled.size(0);
  if (pooled.shape() != Shape{B, pooled_width}) fail<ShapeError>("mmdit: pooled is {}, expected [{}, {}]", pooled.shape(), B, pooled_width);
  if (int64_t(timesteps.size()) != B && timesteps.size() != 1)
    fail<ShapeError>("mmdit: {} timesteps, expected 1 or one for each of {} images", timesteps.size(), B);
  const std::vector<float> each =
      timesteps.size() == 1 ? std::vector<float>(size_t(B), timesteps[0]) : std::vector<float>(timesteps.begin(), timesteps.end());
  const Tensor temb = in_block(path, [&] {
    return text_embedder(pooled, timestep_embedder(nn::embed_timesteps(pooled.backend(), each, {.channels = time_channels})));
  });
  return ops::activate(temb, Activation::silu);
}

void check_context(const MmditConfig& config, const Tensor& context, int64_t B) {
  if (!context || context.rank() != 3 || context.size(0) != B || context.size(2) != config.text_width)
    fail<ShapeError>("mmdit: context is {}, expected [{}, L, {}]", context ? context.shape() : Shape(), B, config.text_width);
}

Mmdit::Mmdit(const Scope& w, const MmditConfig& c)
    : config(c),
      pos_embed(w / "pos_embed", c.in_channels, c.width(), c.patch, c.position_side),
      time_text_embed(w / "time_text_embed", c),
      context_embedder(w / "context_embedder", c.text_width, c.width()),
      blocks(w / "transformer_blocks", c.layers, [c](const Scope& block, int64_t i) { return JointBlock(block, c, i, i + 1 == c.layers); }),
      norm_out(w / "norm_out", c.width(), 2),
      proj_out(w / "proj_out", c.width(), c.patch * c.patch * c.out_channels) {}

Tensor Mmdit::operator()(const Tensor& x, std::span<const float> timesteps, const Tensor& context, const Tensor& pooled,
                         const SkippedLayers& skipped, const AddedAfterBlocks& added) const {
  const int64_t B = x.size(0), p = config.patch, rows = x.size(1) / p, columns = x.size(2) / p;
  check_context(config, context, B);
  if (pooled.size(0) != B) fail<ShapeError>("mmdit: pooled is {}, expected [{}, {}]", pooled.shape(), B, config.pooled_width);
  JointStreams streams{pos_embed(x), in_block("context_embedder", [&] { return context_embedder(context); })};
  const Tensor temb = time_text_embed(timesteps, pooled);

  // Images that skip a block wait, in one piece, until the next block that they do not skip.
  const int64_t all = B - skipped.images;
  JointStreams waiting;
  const auto part = [](const JointStreams& s, int64_t begin, int64_t end) {
    return JointStreams{s.image.slice(0, begin, end), s.text ? s.text.slice(0, begin, end) : s.text};
  };
  const auto join = [&] {
    if (!waiting.image) return;
    if (all == 0) streams = waiting;
    else
      streams = {ops::concat({streams.image, waiting.image}, 0),
                 streams.text ? ops::concat({streams.text, waiting.text}, 0) : streams.text};
    waiting = {};
  };
  for (auto block = blocks.begin(); block != blocks.end(); ++block) {
    const bool skips = skipped.images > 0 && std::ranges::find(skipped.layers, int64_t(block.index())) != skipped.layers.end();
    if (skips && !waiting.image) {
      waiting = part(streams, all, B);
      streams = part(streams, 0, all);
    } else if (!skips) {
      join();
    }
    if (!skips) streams = (*block)(streams, temb);
    else if (all > 0) streams = (*block)(streams, temb.slice(0, 0, all));
    if (int64_t(block.index()) + 1 == config.layers) continue;
    for (const std::vector<Tensor>& list : added) {
      const Tensor& more = list[size_t(double(block.index()) / (double(config.layers) / double(list.size())))];
      if (!waiting.image) {
        streams.image = ops::add(streams.image, more);
        continue;
      }
      if (all > 0) streams.image = ops::add(streams.image, more.slice(0, 0, all));
      waiting.image = ops::add(waiting.image, more.slice(0, all, B));
    }
  }
  join();

  const nn::Modulation::Vectors m = norm_out(temb);  // scale, shift
  const Tensor last = in_block("norm_out", [&] { return m.norm(streams.image, 1, 0, eps, Stored::inner); });
  // The values of a token are ordered row, column, channel of its patch.
  const Tensor tokens = proj_out(last, {.out = x.dtype()}).view({B * rows, columns, p, p * config.out_channels});
  std::vector<Tensor> lines;
  for (int64_t i = 0; i < p; ++i) lines.push_back(tokens.slice(2, i, i + 1));
  return ops::concat(lines, 1).view({B, rows * p, columns * p, config.out_channels});
}

}  // namespace hearth::models::sd3
