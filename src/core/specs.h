// Optional behavior of the ops. A field at its default changes nothing.
#pragma once

#include <array>
#include <limits>
#include <vector>

#include "core/weight.h"

namespace hearth {

// gelu is the exact form, with erf; softplus is log(1 + eˣ); squared_relu is max(x, 0)².
enum class Activation { none, silu, gelu, gelu_tanh, quick_gelu, relu, sigmoid, tanh, softplus, squared_relu };

// The dtype of a result for which none is given. `plain`, for residual streams and the outputs of networks: f32. `inner`, for what is used
// only inside a block: the device chooses (Backend::inner_type()). read_by(), keys_of() and queries_of() (core/factors.h) are for results
// that only products or attention read, and also name the factors to which these round them.
struct Stored {
  bool inside = false;                        // a block
  DType few = DType::f32, many = DType::f32;  // the factors, for fewer than fewest_bf16_rows rows, and for more
  static const Stored plain, inner;
};
inline constexpr Stored Stored::plain{};
inline constexpr Stored Stored::inner{.inside = true};

// What is applied to a product before it is stored, in f32 and in this order:  y = gate · act(α·acc + bias + per_image) + residual
// With a weight of WeightKind::glu, (a, b) = α·acc + bias + per_image and y = gate · a · act(b) + residual. An addend takes the place of
// per_image, for every position its own.
struct Epilogue {
  float alpha = 1;
  Activation activation = Activation::none;
  Tensor per_image;          // [B, w.out()] f32: added to every position of image b (time embedding); may be undefined
  Tensor addend;             // f32, the shape of y with w.out() columns; not together with per_image; may be undefined
  Tensor gate;               // [B, w.outputs()] f32: multiplies every position of image b (adaptive norms); may be undefined
  Tensor residual;           // the shape of y; may be undefined
  std::optional<DType> out;  // dtype of y; if absent, that of the residual, or without one as `stored` says
  Stored stored = Stored::plain;
};

// One of several products with the same x.
struct LinearCall {
  const Weight& w;
  const Tensor& bias;
  Epilogue e;
  Tensor y;
};

// A convolution over one to three axes of x [B, …, C]: columns; rows and columns; or frames, rows and columns.
struct ConvSpec {
  enum class Edge { zeros, nearest };  // values beyond an edge: zeros, or those of the position at the edge
  struct Axis {
    int64_t stride = 1;
    int64_t before = 0, after = 0;  // padding, in positions. A causal axis has only `before`
    int64_t dilation = 1;
    Edge edge = Edge::zeros;
  };
  Axis frames{}, rows{}, columns{};
  // If set, x [B, H, W, C] is first resized to this [H, W] by nearest neighbor.
  std::array<int64_t, 2> resize_to{0, 0};

  // Axis i, outermost first, of a kernel of `count` axes.
  const Axis& axis(int i, int count) const {
    const Axis* const all[] = {&frames, &rows, &columns};
    return *all[3 - count + i];
  }
  // One stride for rows and columns, and the padding: top, left, bottom, right.
  static ConvSpec plane(int64_t stride, std::array<int64_t, 4> padding = {}) {
    const auto [top, left, bottom, right] = padding;
    return {.rows = {.stride = stride, .before = top, .after = bottom}, .columns = {.stride = stride, .before = left, .after = right}};
  }
  // The same convolution of an x that is resized first.
  ConvSpec resized(int64_t height, int64_t width) const {
    ConvSpec spec = *this;
    spec.resize_to = {height, width};
    return spec;
  }
  // Keeps the size of x.
  static ConvSpec same(int64_t kernel) { return plane(1, {kernel / 2, kernel / 2, kernel / 2, kernel / 2}); }
};

// GroupNorm:  y = act((x̂·gamma + beta)·(1 + scale) + shift), with statistics over all positions of an image and the channels of a group.
// In front of a product or convolution it is computed in f32 and not rounded to the dtype of x; the normalized x never needs to exist as
// a whole.
struct GroupNormSpec {
  int64_t groups = 0;  // 0 in front of a product: no norm
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
  std::optional<DType> out = {};  // dtype of y; if absent, as `stored` says
  Stored stored = Stored::plain;
};

enum class Mask { none, causal };  // causal: query t attends to keys 0 … t

// softmax(soft_cap·tanh(scale · q kᵀ / soft_cap) + bias) v per head, over the keys that a query attends to; zeros if there are none.
struct AttentionSpec {
  float scale = 1;
  Mask mask = Mask::none;
  DType factors = DType::f32;             // bf16: scale·q, k, the exponentials and v are rounded to it before they are multiplied
  int64_t window = 0;                     // query t attends to no key s with |t − s| ≥ window; 0: no limit
  float soft_cap = 0;                     // 0: none
  Tensor bias = {};                       // [1 or B, 1 or N, 1 or T, S] f32, contiguous; −∞ hides a key; may be undefined
  std::vector<int64_t> key_lengths = {};  // [B]: image b attends only to its first key_lengths[b] keys; empty: to all
  Tensor sinks = {};                      // [N] f32: one more logit of each head, whose value is zero; may be undefined
  std::optional<DType> out = {};          // dtype of y; if absent, as `stored` says
  Stored stored = Stored::plain;
};

// The same for cached_attention, where the KV cache determines which keys are attended to.
struct CachedAttentionSpec {
  float scale = 1;
  float soft_cap = 0;
  Tensor sinks = {};
};

// Which values of a head are rotated as a pair: x₀ with x_{R/2} (most checkpoints), or x₀ with x₁ (some GGUF files).
enum class RotaryPairs { halves, neighbors };

// Keys and values of the tokens of a text so far, and its queries. Position p is in row p mod C of both; with pages, in row
// pages[p / page]·page + p mod page.
struct KeyValues {
  Tensor k, v;          // [C, G, D] contiguous and [C, G, Dv], whose last axis is dense; f32, f16, bf16 or q8_0
  int64_t first = 0;    // position of the first query; keys and values of all queries are already stored
  int64_t window = 0;   // the query at position p attends to keys p − window + 1 … p; 0: to 0 … p
  Tensor pages = {};    // [P] i32; entries of positions that no query attends to may have any value; may be undefined
  int64_t page = 0;     // positions of a page; divides C
  int64_t queries = 0;  // of a call for several texts, the rows of q that belong to this one
};

// The recurrence of a state-space model whose heads decay as a whole (Backend::state_space_scan): the step of head n at token t is
// Δ = clamp(softplus(dt[t, n] + bias[n]), least, most), and its decay exp(Δ · a[n]).
struct StateSpaceSpec {
  Tensor a, d = {}, bias = {};  // [N] f32; a is negative; d and bias may be undefined
  int64_t groups = 1;           // G: the heads of a group share b and c
  float least = 0, most = std::numeric_limits<float>::infinity();
};

// Pooling over one to three axes, as in ConvSpec. An average counts positions beyond an edge as zeros (torch's default); a maximum
// ignores them.
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

// A recurrence over a matrix S [Dk, Dv] of each head (Backend::delta_rule), token by token, where S₀ is S before the token:
//   S = diag(exp(decay)) S₀ + k ⊗ v                    without beta, a and b
//   S = diag(exp(decay)) S₀ + k ⊗ beta·(v − Rᵀk)       with beta; R = diag(exp(decay)) S₀
//   S = diag(exp(decay)) S₀ + b ⊗ (S₀ᵀa) + k ⊗ v       with a and b
//   y = Sᵀq, or S₀ᵀq if it reads before it writes
struct DeltaRule {
  Tensor q, k, v;             // [T, G, Dk], [T, G, Dk], [T, H, Dv]; head h has q and k of head h / (H / G)
  Tensor decay;               // the logarithm, ≤ 0: [T, H], or one for each element of k [T, H, Dk]
  Tensor beta = {};           // [T, H]
  Tensor a = {}, b = {};      // [T, H, Dk]
  bool reads_before = false;  // y
  bool by_rate = false;       // the logarithm of the decay is −exp(decay): of any sign
};

}  // namespace hearth
