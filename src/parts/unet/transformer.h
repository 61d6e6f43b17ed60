// The spatial transformer of the Stable Diffusion UNet (Rombach et al. 2022, arXiv 2112.10752, appendix E.2.1).
#pragma once

#include <map>
#include <span>
#include <variant>
#include <vector>

#include "core/observe.h"
#include "nn/attention.h"
#include "ops/shape_ops.h"
#include "parts/unet/config.h"

namespace hearth::parts {

// An image that a UNet attends to besides its text.
struct ImagePrompt {
  std::span<const nn::ContextProjection> attends;  // for each cross-attention, in the order of UnetConfig::cross_attentions()
  Tensor tokens;                                   // [B, S, Cx]
  float scale = 1;
  // By number of positions T: `rows` and `factors` of nn::FurtherContext. Empty: the scale is the same everywhere.
  struct Mask {
    Tensor rows, factors;
  };
  std::map<int64_t, Mask> masks = {};
};

// What cross-attention attends to.
struct UnetContext {
  Tensor text;  // [B, S, Cx]
  std::span<const ImagePrompt> images = {};
};

// W₂ (a · gelu(b)) with (a, b) = W₁ x: GEGLU, the value half first, exact GELU (Shazeer 2020).
struct GegluMlp {
  GegluMlp(const Scope& w, int64_t width)
      : proj(w / "net" / 0 / "proj", width, 4 * width, Activation::gelu), out(w / "net" / 2, 4 * width, width) {}

  Tensor operator()(const Tensor& x, const Tensor& residual) const { return out(proj(x, nn::read_by(out)), {.residual = residual}); }

  nn::Glu proj;
  nn::Linear out;
};

// x [B, T, C] → [B, T, C]. In the last `identity` images self-attention outputs each token's own value
// (perturbed attention: Ahn et al. 2024, arXiv 2403.17377).
struct TransformerBlock {
  // number: of attn2 among the UNet's cross-attentions
  TransformerBlock(const Scope& w, int64_t width, int64_t context_width, int64_t heads, bool only_cross_attention_, int64_t number_)
      : norm1(w / "norm1", width),
        attn1(w / "attn1", width, only_cross_attention_ ? context_width : width, heads, width / heads, nn::Bias::no),
        norm2(w / "norm2", width),
        attn2(w / "attn2", width, context_width, heads, width / heads, nn::Bias::no),
        norm3(w / "norm3", width),
        ff(w / "ff", width),
        only_cross_attention(only_cross_attention_),
        number(number_),
        path(w.path()) {}

  Tensor operator()(const Tensor& x, const UnetContext& context, int64_t identity = 0) const {
    const BlockScope scope(path);
    const Tensor n = norm1(x, only_cross_attention ? nn::read_by(attn1.to_q) : nn::read_by(attn1.to_q, attn1.to_k, attn1.to_v));
    Tensor h = only_cross_attention ? attn1(n, context.text, x) : self_attention(n, x, identity);
    h = attn2(norm2(h, nn::read_by(attn2.to_q)), context.text, h, images_of(context, x.size(1)));
    h = ff(norm3(h, nn::read_by(ff.proj)), h);
    tap(path, h);
    return h;
  }

  nn::LayerNorm norm1;
  nn::Attention attn1;
  nn::LayerNorm norm2;
  nn::Attention attn2;
  nn::LayerNorm norm3;
  GegluMlp ff;
  bool only_cross_attention;
  int64_t number;
  std::string path;

 private:
  // T: positions of x
  std::vector<nn::FurtherContext> images_of(const UnetContext& context, int64_t T) const {
    std::vector<nn::FurtherContext> all;
    for (const ImagePrompt& image : context.images) {
      const auto mask = image.masks.find(T);
      const bool everywhere = image.masks.empty();
      all.push_back({image.attends[size_t(number)], image.tokens, image.scale, everywhere ? Tensor() : mask->second.rows,
                     everywhere ? Tensor() : mask->second.factors});
    }
    return all;
  }

  Tensor self_attention(const Tensor& n, const Tensor& residual, int64_t identity) const {
    const int64_t B = n.size(0), whole = B - identity;
    if (identity == 0) return attn1(n, n, residual);
    const Tensor own =
        attn1.to_out(attn1.to_v(n.slice(0, whole, B), nn::inside(nn::read_by(attn1.to_out))), {.residual = residual.slice(0, whole, B)});
    if (whole == 0) return own;
    const Tensor attended = n.slice(0, 0, whole);
    return ops::concat({attn1(attended, attended, residual.slice(0, 0, whole)), own}, 0);
  }
};

// x [B, H, W, C] → [B, H, W, C]; `identity` as for TransformerBlock. Its group norm always has eps 1e-6,
// independent of norm_eps.
struct SpatialTransformer {
  SpatialTransformer(const Scope& w, const UnetConfig& config, const UnetConfig::Level& level, bool only_cross_attention, int64_t depth,
                     int64_t number)
      // The heads have ⌊C/N⌋ channels each: if N does not divide C, the blocks are narrower than x.
      : inner(level.channels / level.heads * level.heads),
        norm(w / "norm", config.groups, level.channels, 1e-6f),
        proj_in(projection(w / "proj_in", level.channels, inner, config.linear_projection)),
        proj_out(projection(w / "proj_out", inner, level.channels, config.linear_projection)),
        path(w.path()) {
    for (int64_t i = 0; i < depth; ++i)
      blocks.emplace_back(w / "transformer_blocks" / i, inner, config.context, level.heads, only_cross_attention, number + i);
  }

  Tensor operator()(const Tensor& x, const UnetContext& context, int64_t identity = 0) const {
    const BlockScope scope(path);
    const auto [B, H, W, C] = x.dims<4>();
    Tensor h = project(proj_in, x, {}, norm.input()).view({B, H * W, inner});
    for (const TransformerBlock& block : blocks) h = block(h, context, identity);
    const Tensor y = project(proj_out, h.view({B, H, W, inner}), {.residual = x});
    tap(path, y);
    return y;
  }

  // A matrix or a 1×1 convolution: the same map, stored differently.
  using Projection = std::variant<nn::Linear, nn::Conv2d>;
  static Projection projection(const Scope& w, int64_t in, int64_t out, bool linear) {
    if (linear) return nn::Linear(w, in, out);
    return nn::Conv2d(w, in, out, 1);
  }
  static Tensor project(const Projection& p, const Tensor& x, const Epilogue& e = {}, const GroupNormSpec& n = {}) {
    return std::visit([&](const auto& layer) { return layer(x, e, n); }, p);
  }

  int64_t inner;
  nn::GroupNorm norm;
  Projection proj_in;
  std::vector<TransformerBlock> blocks;  // transformer_blocks.i
  Projection proj_out;
  std::string path;
};

}  // namespace hearth::parts
