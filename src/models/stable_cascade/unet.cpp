#include "models/stable_cascade/unet.h"

#include <cmath>

#include "core/observe.h"
#include "core/on_host.h"
#include "models/stable_cascade/patches.h"
#include "models/stable_cascade/resize.h"
#include "nn/timestep_embedding.h"
#include "ops/pool.h"

namespace hearth::models::stable_cascade {
namespace {

constexpr float eps = 1e-6f, longest_time = 10000;

Tensor normed(const Tensor& x, Stored stored = Stored::plain) { return ops::layer_norm(x, {.eps = eps, .stored = stored}); }

// 1 + γ·n: [B, C], from the means of squares over `positions` positions.
Tensor response(const Tensor& means, const Tensor& gamma, int64_t positions) {
  const int64_t B = means.size(0), C = means.size(1);
  const auto scale = [&](float* y, const float* mean, const float* factor) {
    for (int64_t b = 0; b < B; ++b) {
      double sum = 0;
      for (int64_t c = 0; c < C; ++c) sum += std::sqrt(double(mean[b * C + c]) * double(positions));
      const double divisor = sum / double(C) + 1e-6;
      for (int64_t c = 0; c < C; ++c)
        y[b * C + c] = float(1 + double(factor[c]) * std::sqrt(double(mean[b * C + c]) * double(positions)) / divisor);
    }
  };
  return on_host({B, C}, scale, means, gamma);
}

Tensor means_of_squares(const Tensor& x) {
  const auto [B, H, W, C] = x.dims<4>();
  return ops::cast(ops::pool(ops::multiply(x, x), {.rows = {.size = H}, .columns = {.size = W}}), DType::f32).view({B, C});
}

std::vector<nn::Linear> timestep_mappers(const Scope& w, int64_t channels, const UnetConfig& c) {
  std::vector<nn::Linear> all;
  all.emplace_back((w / "mapper").exact(), c.time, 2 * channels);
  for (const std::string& name : c.conditions) all.emplace_back((w / ("mapper_" + name)).exact(), c.time, 2 * channels);
  return all;
}

std::variant<ResidualBlock, TimestepBlock, AttentionBlock> block_of(const Scope& w, BlockKind kind, const UnetConfig& c,
                                                                    const UnetConfig::Level& level, int64_t skip) {
  switch (kind) {
    case BlockKind::residual: return ResidualBlock(w, level.channels, skip, c.kernel);
    case BlockKind::timestep: return TimestepBlock(w, level.channels, c);
    case BlockKind::attention: break;
  }
  return AttentionBlock(w, level, c.width);
}

std::variant<nn::Conv2d, nn::TransposedConv2d> passage_of(const Scope& w, int64_t from, int64_t to, bool convolves, bool down) {
  if (convolves && down) return nn::Conv2d(w, from, to, 2, ConvSpec::plane(2));
  if (convolves) return nn::TransposedConv2d(w, from, to, 2, ConvSpec::plane(2));
  return nn::Conv2d(w / "blocks" / (down ? 0 : 1), from, to, 1);
}

Level level_of(const Scope& w, const UnetConfig& c, size_t place, bool down) {
  const size_t count = c.levels.size(), i = down ? place : count - 1 - place;
  const UnetConfig::Level& own = c.levels[i];
  const std::string way = down ? "down" : "up";
  const auto index = int64_t(place);
  Level level;
  if (i > 0) {
    const int64_t finer = c.levels[i - 1].channels;
    level.passage.emplace(w / (down ? "down_downscalers" : "up_upscalers") / index / 1, down ? finer : own.channels,
                          down ? own.channels : finer, c, i - 1, down);
  }
  const bool takes_skip = !down && place > 0;
  level.blocks = Blocks<Block>(w / (way + "_blocks") / index, int64_t(own.blocks.size()) * (down ? own.down_layers : own.up_layers),
                               [c, own, takes_skip](const Scope& block, int64_t k) {
                                 const BlockKind kind = own.blocks[size_t(k) % own.blocks.size()];
                                 return Block(block, kind, c, own, k == 0 && takes_skip ? own.channels : 0);
                               });
  for (int64_t k = 0; k + 1 < (down ? own.down_runs : own.up_runs); ++k)
    level.repeats.emplace_back(w / (way + "_repeat_mappers") / index / k, own.channels, own.channels, 1);
  return level;
}

std::vector<Level> levels_of(const Scope& w, const UnetConfig& c, bool down) {
  std::vector<Level> all;
  for (size_t place = 0; place < c.levels.size(); ++place) all.push_back(level_of(w, c, place, down));
  return all;
}

// Runs all blocks of a level, and again after each 1×1 convolution. `skip` is for its first block; undefined on the way down.
Tensor through(const Level& level, Tensor x, const Tensor& skip, std::span<const Tensor> embeddings, const Tensor& rows) {
  for (size_t run = 0; run <= level.repeats.size(); ++run) {
    for (const Block& b : level.blocks) {
      const BlockScope scope(b.path);
      if (const auto* residual = std::get_if<ResidualBlock>(&b.block)) {
        if (b.takes_skip) x = resize_bilinear(x, skip.size(1), skip.size(2));
        x = (*residual)(x, b.takes_skip ? skip : Tensor());
      } else if (const auto* timestep = std::get_if<TimestepBlock>(&b.block)) {
        x = (*timestep)(x, embeddings);
      } else {
        x = std::get<AttentionBlock>(b.block)(x, rows);
      }
      tap(b.path, x);
    }
    if (run < level.repeats.size()) x = level.repeats[run](x);
  }
  return x;
}

}  // namespace

ResidualBlock::ResidualBlock(const Scope& w, int64_t channels, int64_t skip, int64_t kernel)
    : depthwise(w / "depthwise", channels, kernel, ConvSpec::same(kernel)),
      in(w / "channelwise" / 0, channels + skip, 4 * channels),
      gamma((w / "channelwise" / 2).tensor("gamma", {1, 1, 1, 4 * channels})),
      beta((w / "channelwise" / 2).tensor("beta", {1, 1, 1, 4 * channels})),
      out(w / "channelwise" / 4, 4 * channels, channels) {}

Tensor ResidualBlock::operator()(const Tensor& x, const Tensor& skip) const {
  Tensor y = normed(depthwise(x));
  if (skip) y = ops::concat({y, skip}, 3);
  y = in(y, {.activation = Activation::gelu});
  const int64_t wide = y.size(3);
  const Tensor scale = response(means_of_squares(y), gamma.view({wide}), y.size(1) * y.size(2));
  return out(ops::affine(y, scale, beta.view({wide})), {.residual = x});
}

TimestepBlock::TimestepBlock(const Scope& w, int64_t channels, const UnetConfig& c) : mappers(timestep_mappers(w, channels, c)) {}

Tensor TimestepBlock::operator()(const Tensor& x, std::span<const Tensor> embeddings) const {
  Tensor sum = mappers[0](embeddings[0]);
  for (size_t i = 1; i < mappers.size(); ++i) sum = mappers[i](embeddings[i], {.residual = sum});
  const int64_t C = x.size(3);
  return ops::affine(x, ops::scaled(ops::contiguous(sum.slice(1, 0, C)), 1, 1), ops::contiguous(sum.slice(1, C, 2 * C)));
}

AttentionBlock::AttentionBlock(const Scope& w, const UnetConfig::Level& level, int64_t width)
    : attention(w / "attention", level.channels, level.channels, level.heads, level.channels / level.heads, nn::Bias::yes),
      mapper(w / "kv_mapper" / 1, width, level.channels),
      self(level.attends_to_itself) {}

Tensor AttentionBlock::operator()(const Tensor& x, const Tensor& rows) const {
  const auto [B, H, W, C] = x.dims<4>();
  const Tensor pixels = x.view({B, H * W, C}), queries = normed(pixels);
  const Tensor mapped = mapper(rows, {.out = queries.dtype()});
  return attention(queries, self ? ops::concat({queries, mapped}, 1) : mapped, pixels).view(x.shape());
}

Block::Block(const Scope& w, BlockKind kind, const UnetConfig& c, const UnetConfig::Level& level, int64_t skip)
    : block(block_of(w, kind, c, level, skip)), takes_skip(kind == BlockKind::residual && skip > 0), path(w.path()) {}

Passage::Passage(const Scope& w, int64_t from, int64_t to, const UnetConfig& c, size_t finer, bool down_)
    : convolution(passage_of(w, from, to, !c.halves, down_)), down(down_), resizes(c.halves && (*c.halves)[finer]) {}

Tensor Passage::operator()(const Tensor& x) const {
  const auto convolved = [&](const Tensor& z) { return std::visit([&](const auto& conv) { return conv(z); }, convolution); };
  const Tensor y = normed(x);
  const int64_t H = y.size(1), W = y.size(2);
  if (!resizes) return convolved(y);
  return down ? resize_bilinear(convolved(y), H / 2, W / 2) : convolved(resize_bilinear(y, 2 * H, 2 * W));
}

Mapper::Mapper(const Scope& w, int64_t in, int64_t out) : first(w / 0, in, 4 * out, 1), last(w / 2, 4 * out, out, 1) {}

Tensor Mapper::operator()(const Tensor& x) const { return normed(last(first(x, {.activation = Activation::gelu}))); }

Unet::Unet(const Scope& w, const UnetConfig& c)
    : config(c),
      pooled_mapper(w / "clip_txt_pooled_mapper", c.pooled, c.rows * c.width),
      embedding(w / "embedding" / 1, c.in_channels * c.patch * c.patch, c.levels[0].channels, 1),
      down(levels_of(w, c, true)),
      up(levels_of(w, c, false)),
      last(w / "clf" / 1, c.levels[0].channels, c.out_channels * c.patch * c.patch, 1) {
  if (c.text) text_mapper.emplace(w / "clip_txt_mapper", c.text, c.width);
  if (c.image) image_mapper.emplace(w / "clip_img_mapper", c.image, c.rows * c.width);
  if (c.features) features_mapper.emplace(w / "effnet_mapper", c.features, c.levels[0].channels);
  if (c.pixels) pixels_mapper.emplace(w / "pixels_mapper", c.pixels, c.levels[0].channels);
}

void Unet::check(const Tensor& x, const UnetInputs& in) const {
  const auto [B, h, w, C] = x.dims<4>();
  const int64_t p = config.patch;
  if (C != config.in_channels) fail<ShapeError>("stable_cascade: x is {}, expected {} channels", x.shape(), config.in_channels);
  if (h < 1 || w < 1 || h % p != 0 || w % p != 0)
    fail<ShapeError>("stable_cascade: x is {}, expected sides that are multiples of {}", x.shape(), p);
  if (in.pooled.shape() != Shape{B, config.pooled})
    fail<ShapeError>("stable_cascade: the pooled text is {}, expected [{}, {}]", in.pooled.shape(), B, config.pooled);
  const auto check_rows = [B = B](const Tensor& rows, int64_t width, const char* what) {
    if (width && (rows.rank() != 3 || rows.size(0) != B || rows.size(2) != width))
      fail<ShapeError>("stable_cascade: the {} is {}, expected [{}, rows, {}]", what, rows.shape(), B, width);
  };
  check_rows(in.text, config.text, "text"), check_rows(in.image, config.image, "image prompt");
  if (config.features && (in.features.rank() != 4 || in.features.size(0) != B || in.features.size(3) != config.features))
    fail<ShapeError>("stable_cascade: the features are {}, expected [{}, height, width, {}]", in.features.shape(), B, config.features);
}

// → [B, rows, width], activated as every attention block needs them
Tensor Unet::condition(const UnetInputs& in) const {
  const Tensor normed_rows = in_block("clip_norm", [&] {
    const int64_t B = in.pooled.size(0);
    Tensor rows = pooled_mapper(in.pooled).view({B, config.rows, config.width});
    if (text_mapper) {
      const Tensor images = (*image_mapper)(in.image).view({B, in.image.size(1) * config.rows, config.width});
      rows = ops::concat({(*text_mapper)(in.text), rows, images}, 1);
    }
    return normed(rows);
  });
  return ops::activate(normed_rows, Activation::silu);
}

Tensor Unet::operator()(const Tensor& x, const UnetInputs& in) const {
  check(x, in);
  const int64_t B = x.size(0);
  Backend& backend = x.backend();
  const auto embed = [&](float ratio) {
    const std::vector<float> each(size_t(B), ratio * longest_time);
    return nn::embed_timesteps(backend, each, {.channels = config.time, .cosine_first = false, .frequency_shift = 1});
  };
  std::vector<Tensor> embeddings{embed(in.ratio)};
  if (!config.conditions.empty()) embeddings.insert(embeddings.end(), config.conditions.size(), embed(0));
  const Tensor rows = condition(in);
  Tensor y = in_block("embedding", [&] { return normed(embedding(to_patches(x, config.patch))); });
  if (features_mapper)
    y = ops::add(y, in_block("effnet_mapper", [&] { return (*features_mapper)(resize_bilinear(in.features, y.size(1), y.size(2))); }));
  if (pixels_mapper)  // of zeros: the same everywhere
    y = ops::affine(y, {}, in_block("pixels_mapper", [&] {
                      return ops::cast((*pixels_mapper)(Tensor::zeros(backend, {1, 1, 1, config.pixels})), DType::f32).view({y.size(3)});
                    }));
  std::vector<Tensor> skips;
  for (const Level& level : down) {
    if (level.passage) y = (*level.passage)(y);
    y = through(level, std::move(y), {}, embeddings, rows);
    skips.push_back(y);
  }
  for (const Level& level : up) {
    y = through(level, std::move(y), skips.back(), embeddings, rows);
    skips.pop_back();
    if (level.passage) y = (*level.passage)(y);
  }
  return in_block("clf", [&] { return from_patches(last(normed(y), {.out = x.dtype()}), config.patch); });
}

}  // namespace hearth::models::stable_cascade
