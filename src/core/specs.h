// What the ops can be asked for beyond their operands. A field at its default changes nothing.
#pragma once

#include <array>
#include <vector>

#include "core/weight.h"

namespace hearth {

// gelu is the exact form, with erf; softplus is log(1 + eˣ); squared_relu is max(x, 0)².
enum class Activation { none, silu, gelu, gelu_tanh, quick_gelu, relu, sigmoid, tanh, softplus, squared_relu };

// The type in which an op's result is stored where nobody names one. Residual streams and what a network gives are `plain`. Results that
// are used inside of a block only, by the next product or attention, are `inner`: the device says what they are (Backend::inner_type()).
enum class Stored { plain, inner };

// What happens to a product before it is stored, in f32 and in this order:  y = gate · act(α·acc + bias + per_image) + residual
// With a weight of WeightKind::glu, (a, b) = α·acc + bias + per_image and y = gate · a · act(b) + residual.
struct Epilogue {
  float alpha = 1;
  Activation activation = Activation::none;
  Tensor per_image;               // [B, w.out()] f32: added to every position of image b (time embedding); may be undefined
  Tensor gate;                    // [B, w.outputs()] f32: a factor for every position of image b (adaptive norms); may be undefined
  Tensor residual;                // the shape of y; may be undefined
  std::optional<DType> out;       // dtype of y; when not given that of the residual, if there is one, or as `stored` says
  Stored stored = Stored::plain;  // plain: that of x
};

// One of several products of the same x.
struct LinearCall {
  const Weight& w;
  const Tensor& bias;
  Epilogue e;
  Tensor y;
};

// A convolution over one to three axes of x [B, …, C]: columns; rows and columns; or frames, rows and columns.
struct ConvSpec {
  enum class Edge { zeros, nearest };  // what is seen beyond an edge: zeros, or the position at the edge again
  struct Axis {
    int64_t stride = 1;
    int64_t before = 0, after = 0;  // positions beyond the edges. A causal axis has `before` only
    int64_t dilation = 1;
    Edge edge = Edge::zeros;
  };
  Axis frames{}, rows{}, columns{};
  // When set: x [B, H, W, C] is first resized to this [H, W] by nearest neighbor.
  std::array<int64_t, 2> resize_to{0, 0};

  // The axes of x that a kernel of `count` axes runs over, outermost first.
  const Axis& axis(int i, int count) const {
    const Axis* const all[] = {&frames, &rows, &columns};
    return *all[3 - count + i];
  }
  // Rows and columns of one stride, and what is beyond the edges: above, to the left, below, to the right.
  static ConvSpec plane(int64_t stride, std::array<int64_t, 4> padding = {}) {
    const auto [top, left, bottom, right] = padding;
    return {.rows = {.stride = stride, .before = top, .after = bottom}, .columns = {.stride = stride, .before = left, .after = right}};
  }
  // The same of an x that is resized first.
  ConvSpec resized(int64_t height, int64_t width) const {
    ConvSpec spec = *this;
    spec.resize_to = {height, width};
    return spec;
  }
  // The size of x is kept.
  static ConvSpec same(int64_t kernel) { return plane(1, {kernel / 2, kernel / 2, kernel / 2, kernel / 2}); }
};

// GroupNorm:  y = act((x̂·gamma + beta)·(1 + scale) + shift), the statistics over all positions of an image and the channels of a group.
// On the way into a product or convolution it is in f32 and not rounded to the dtype of x; a large normalized x need never exist as a
// whole.
struct GroupNormSpec {
  int64_t groups = 0;  // 0, where it stands before a product: x is taken as it is
  Tensor gamma, beta;  // [C] f32; may be undefined
  float eps = 1e-5f;
  Activation activation = Activation::none;
  Tensor scale = {}, shift = {};  // [B, C] f32; may be undefined
  explicit operator bool() const { return groups != 0; }
};

// A norm over the last axis of x [B, M, C]:  y = (x̂·gamma + beta)·(1 + scale) + shift.
struct NormSpec {
  Tensor gamma = {}, beta = {};  // [C] f32; may be undefined. RMS norm has no beta
  float eps = 1e-5f;
  Tensor scale = {}, shift = {};  // [B, C], for every position of image b, or [B·M, C]; f32, the last axis dense; may be undefined
  std::optional<DType> out = {};  // dtype of y; when not given as `stored` says
  Stored stored = Stored::plain;  // plain: that of x
};

enum class Mask { none, causal };  // causal: query t sees keys 0 … t

// softmax(soft_cap·tanh(scale · q kᵀ / soft_cap) + bias) v per head, over the keys that a query sees. A query that sees none gets zeros.
struct AttentionSpec {
  float scale = 1;
  Mask mask = Mask::none;
  DType factors = DType::f32;             // bf16: scale·q, k, the exponentials and v are rounded to it before they are multiplied
  int64_t window = 0;                     // query t sees no key s with |t − s| ≥ window; 0: all
  float soft_cap = 0;                     // 0: none
  Tensor bias = {};                       // [1 or B, 1 or N, 1 or T, S] f32, contiguous; −∞ hides a key; may be undefined
  std::vector<int64_t> key_lengths = {};  // [B]: the queries of image b see its first keys only; empty: all
  Tensor sinks = {};                      // [N] f32: a further score of each head, whose value is zero; may be undefined
};

// The same for cached_attention, where the cache says which keys are seen.
struct CachedAttentionSpec {
  float scale = 1;
  float soft_cap = 0;
  Tensor sinks = {};
};

// Which numbers of a head are turned together: x₀ with x_{R/2} (most checkpoints), or x₀ with x₁ (some GGUF files).
enum class RotaryPairs { halves, neighbors };

// Keys and values of the tokens so far. Position p lies in row p mod C of both.
struct KeyValues {
  Tensor k, v;         // [C, G, D] and [C, G, Dv] contiguous, f32, f16, bf16 or q8_0
  int64_t first = 0;   // position of the first query; those of all queries are stored already
  int64_t window = 0;  // the query at position p sees keys p − window + 1 … p; 0: all from 0 on
};

// Pooling over one to three axes, as ConvSpec has them. An average counts what lies beyond an edge as zeros (torch's default); a largest
// value never comes from there.
struct PoolSpec {
  enum class Kind { average, largest };
  Kind kind = Kind::average;
  struct Axis {
    int64_t size = 1, stride = 1, before = 0, after = 0;
  };
  Axis frames{}, rows{}, columns{};

  const Axis& axis(int i, int count) const {  // as ConvSpec::axis
    const Axis* const all[] = {&frames, &rows, &columns};
    return *all[3 - count + i];
  }
};

}  // namespace hearth
