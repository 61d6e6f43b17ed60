// Backend: the whole contract between the ops and a device, on one page.
//
// The ops (ops/*.h) have already checked shapes, dtypes, contiguity and that all operands are on this device, and allocated `y`; a backend
// only computes. Its methods are defined in backends/<device>/<stem>.cpp under the file stems of ops/.
//
// What an op may be asked for stands in a spec, so that a field can be added without touching those who do not use it. A method that a
// backend does not override refuses the op by name, and so does an override for a field that it does not support (UnsupportedError). A dry
// run overrides none: there the default does nothing.
//
// Numbers (docs/numerics.md): tensors are f32, f16 or bf16; every sum, mean, softmax and epilogue is f32 or wider and is
// rounded once, at the store. The factors of a product are f32, or both rounded to bf16 where its weight was prepared so. Results depend
// neither on the number of threads nor on what else is in the batch.
//
// Work may be done later than it is asked for: only download() and finish() wait.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "core/weight.h"

namespace hearth {

class MemoryLedger;
class ThreadPool;

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
  // When set: x [B, H, W, C] is first resized to this [H, W] by nearest neighbour.
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
// On the way into a product or convolution it is in f32 and not rounded to the dtype of x; a large normalised x need never exist as a
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
enum class RotaryPairs { halves, neighbours };

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

class Backend {
 public:
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;

  // --- what it is -------------------------------------------------------------------------------------------------
  virtual std::string name() const = 0;           // "reference", "cpu"
  virtual std::string features() const = 0;       // the kernel path in use: "avx2", "avx512", …; "" where there is one only
  virtual ThreadPool& threads() = 0;              // for what the processor does
  virtual bool computes() const { return true; }  // false: a dry run, memory without contents
  // Whether products of bf16 factors have kernels of their own, and whether these are fast enough to be everybody's choice.
  virtual bool multiplies_bf16() const { return false; }
  virtual bool prefers_bf16() const { return false; }
  // The type of what is stored as Stored::inner: f16 or bf16 halve its memory traffic on devices that are bound by it; absent: that of x.
  virtual std::optional<DType> inner_type() const { return {}; }

  // --- memory -----------------------------------------------------------------------------------------------------
  virtual std::shared_ptr<const Storage> allocate(size_t bytes) = 0;  // 64-byte aligned
  // The backend that computes in memory that the processor reads and writes at any time: this one, unless its device has memory of its
  // own. Files are mapped as its tensors; samplers work on it. Tensor::data() is for its tensors only.
  virtual Backend& host() { return *this; }
  // x is dense and on a host, y dense and here, of the same shape. Float types may differ: rounded as copy() does it. x may be changed as
  // soon as it returns.
  virtual void upload(const Tensor& x, Tensor& y) { copy(x, y); }
  // x is dense and here, y dense and on a host, of the same shape and type. Waits for x and for y.
  virtual void download(const Tensor& x, Tensor& y) { copy(x, y); }
  virtual void fill(Tensor& y, float value);  // y dense, of any float type; with 0 of any type
  virtual void finish() {}                    // waits for everything that was asked for, and throws what went wrong
  virtual MemoryLedger& ledger() = 0;  // counts this device's tensors, prepared weights and kernels' memory, but no scratch of threads
  virtual int64_t most_thread_scratch() const { return 0; }  // bytes that kernels' threads keep for themselves, at most
  virtual void release_cached() {}                           // gives back what is kept for reuse
  // A device that allocates as this one does, kernels' own memory included, and computes nothing: what a run on it takes is what
  // the same run takes here. Counts in `ledger`, which must outlive it and its tensors, as it must outlive them.
  virtual std::unique_ptr<Backend> dry_twin(MemoryLedger& ledger) const = 0;

  // --- weights ----------------------------------------------------------------------------------------------------
  // w is contiguous, on this backend's host, shaped as in the checkpoint; the result holds values of type `form.hold` (f32, f16 or bf16).
  // In place, `hold` is w's own type, and the result keeps w itself.
  // UnsupportedError for bf16 factors where multiplies_bf16() is false.
  virtual std::shared_ptr<const PreparedWeight> prepare(const Tensor& w, WeightKind kind, const WeightForm& form) = 0;
  // Names the layout of what prepare() makes, so that it can be kept between runs; "" where it cannot.
  virtual std::string packing() const { return ""; }
  // Takes back the storage of a weight that a backend of the same packing() has prepared; nullptr when the size is not that of one.
  virtual std::shared_ptr<const PreparedWeight> adopt(std::shared_ptr<const std::byte> /*storage*/, size_t /*bytes*/, const Shape& /*w*/,
                                                      WeightKind, const WeightForm&) {
    return nullptr;
  }

  // --- matmul, conv -----------------------------------------------------------------------------------------------
  // x [B, M, K] contiguous, w [N, K], bias [N] f32 or undefined → y [B, M, w.outputs()]
  virtual void linear(const Tensor& x, const Weight& w, const Tensor& bias, const Epilogue& e, const GroupNormSpec& norm, Tensor& y);
  // linear(x, w, bias, e) of each.
  virtual void linears(const Tensor& x, std::span<LinearCall> calls) {
    for (LinearCall& c : calls) linear(x, c.w, c.bias, c.e, {}, c.y);
  }
  // x [B, …, C] contiguous with one to three axes between, w of WeightKind::conv [O, C / groups, …] or conv_transposed [C, O / groups, …],
  // bias [O] f32 or undefined → y [B, …, O]. What is beyond an edge is seen after the norm.
  virtual void conv(const Tensor& x, const Weight& w, const Tensor& bias, const ConvSpec& spec, const Epilogue& e,
                    const GroupNormSpec& norm, Tensor& y);

  // --- attention, rope --------------------------------------------------------------------------------------------
  // q [B, T, N, D], k [B, S, G, D], v [B, S, G, Dv], N a multiple of G, the last axis dense, others strided → y [B, T, N, Dv] contiguous.
  // Head n reads keys and values n / (N / G).
  virtual void attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionSpec& spec, Tensor& y);
  // q [T, N, D] f32 contiguous, N a multiple of G → y [T, N, Dv] f32; head n reads keys and values n / (N / G). In f32; what y holds for a
  // position does not depend on which others are asked for with it.
  virtual void cached_attention(const Tensor& q, const KeyValues& cache, const CachedAttentionSpec& spec, Tensor& y);
  // x [B, T, N, D], the last axis dense, table [1 or B, T, 1 or N, 2, R/2] f32 (cosines, sines) contiguous, R ≤ D → y [B, T, N, D]
  // contiguous, of x's type. Each pair (a, b) of the first R numbers of a head becomes (a·cos − b·sin, b·cos + a·sin); the others are
  // copied.
  virtual void rope(const Tensor& x, const Tensor& table, RotaryPairs pairs, Tensor& y);

  // --- norm -------------------------------------------------------------------------------------------------------
  virtual void group_norm(const Tensor& x, const GroupNormSpec& spec, Tensor& y);  // x [B, P, C] contiguous
  virtual void layer_norm(const Tensor& x, const NormSpec& spec, Tensor& y);  // x [B, M, C] contiguous: x̂ = (x − mean) / √(variance + eps)
  virtual void rms_norm(const Tensor& x, const NormSpec& spec, Tensor& y);  // x̂ = x / √(mean of x² + eps), the sum in f32

  // --- pointwise (contiguous, equal shapes) -----------------------------------------------------------------------
  virtual void activate(const Tensor& x, Activation act, Tensor& y);
  // y = Σ fᵢ·xᵢ, summed in order in f32
  virtual void linear_combination(std::span<const Tensor> xs, std::span<const float> factors, Tensor& y);
  virtual void multiply(const Tensor& a, const Tensor& b, Tensor& y);
  // y = x·scale + shift for x [B, M, C]; scale and shift f32 [1, C], [B, C] or [B·M, C], the last axis dense; either may be undefined.
  virtual void affine(const Tensor& x, const Tensor& scale, const Tensor& shift, Tensor& y);

  // --- rows (contiguous) ------------------------------------------------------------------------------------------
  virtual void embedding(const Tensor& ids, const Tensor& table, Tensor& y);  // i32 [R], [V, C] of any type → [R, C]; ids fit
  // x [R, C] → values [R, k] of x's type, falling, and their columns i32 [R, k]. Of equal values the first column comes first; NaN is
  // larger than any number.
  virtual void top_k(const Tensor& x, Tensor& values, Tensor& columns);
  virtual void gather(const Tensor& x, const Tensor& rows, Tensor& y);  // x [R, C], rows i32 [M] → y [M, C]
  // y [R, C] f32 += factors[m] · x [M, C] at row rows[m], in the order of m; factors f32 [M] or undefined (1).
  virtual void scatter_add(const Tensor& x, const Tensor& rows, const Tensor& factors, Tensor& y);

  // --- shape ------------------------------------------------------------------------------------------------------
  // Equal shapes, any strides and float dtypes on both sides. y may be q8_0: then both are contiguous, and each block is rounded as
  // core/blocks.h does it. Of equal types that are no floats, both contiguous: as it is.
  virtual void copy(const Tensor& x, Tensor& y);
  virtual void resize_nearest(const Tensor& x, Tensor& y);  // [B, H, W, C] → [B, H', W', C]: row ⌊h·H/H'⌋ as f32, like torch
  virtual void pool(const Tensor& x, const PoolSpec& spec, Tensor& y);  // x [B, …, C] contiguous, one to three axes between

 protected:
  // What a method does that is not overridden: nothing in a dry run; else UnsupportedError that names backend and op.
  void lacks(std::string_view op) const;
};

}  // namespace hearth
