// Backend: the whole contract between the ops and a device, on one page.
//
// The ops (ops/*.h) have already checked shapes, dtypes and contiguity and allocated `y`; a backend only computes.
// Its methods are defined in backends/<device>/<stem>.cpp under the file stems of ops/.
//
// Numbers (docs/numerics.md): tensors are f32, f16 or bf16; every sum, mean, softmax and epilogue is f32 or wider and is
// rounded once, at the store. The factors of a product are f32, or both rounded to bf16 where its weight was prepared so. Results depend
// neither on the number of threads nor on what else is in the batch.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "core/weight.h"

namespace hearth {

class MemoryLedger;
class ThreadPool;

enum class Activation { none, silu, gelu, gelu_tanh, quick_gelu, relu };  // gelu is the exact form, with erf

// What happens to a product before it is stored, in f32 and in this order:  y = gate · act(α·acc + bias + per_image) + residual
// With a weight of WeightKind::glu, (a, b) = α·acc + bias + per_image and y = gate · a · act(b) + residual.
struct Epilogue {
  float alpha = 1;
  Activation activation = Activation::none;
  Tensor per_image;          // [B, w.out()] f32: added to every position of image b (time embedding); may be undefined
  Tensor gate;               // [B, w.outputs()] f32: a factor for every position of image b (adaptive norms); may be undefined
  Tensor residual;           // the shape of y; may be undefined
  std::optional<DType> out;  // dtype of y; that of x when not given
};

// One of several products of the same x.
struct LinearCall {
  const Weight& w;
  const Tensor& bias;
  Epilogue e;
  Tensor y;
};

struct ConvSpec {
  int64_t stride = 1;
  std::array<int64_t, 4> padding{};        // top, left, bottom, right; zeros
  std::array<int64_t, 2> resize_to{0, 0};  // when set: x is first resized to this [H, W] by nearest neighbour
  static ConvSpec same(int64_t kernel) { return {.padding = {kernel / 2, kernel / 2, kernel / 2, kernel / 2}}; }
};

// GroupNorm on the way into a product or convolution:  x ← act(x̂·gamma + beta), the statistics over all of x as in group_norm.
// In f32 and not rounded to the dtype of x. A large normalised x need never exist as a whole.
struct InputNorm {
  int64_t groups = 0;  // 0: x is taken as it is
  Tensor gamma, beta;  // [C] f32
  float eps = 1e-5f;
  Activation activation = Activation::none;
  explicit operator bool() const { return groups != 0; }
};

enum class Mask { none, causal };  // causal: query t sees keys 0 … t

// Which numbers of a head are turned together: x₀ with x_{R/2} (most checkpoints), or x₀ with x₁ (some GGUF files).
enum class RotaryPairs { halves, neighbours };

// Keys and values of the tokens so far. Position p lies in row p mod C of both.
struct KeyValues {
  Tensor k, v;         // [C, G, D] contiguous, f32, f16, bf16 or q8_0
  int64_t first = 0;   // position of the first query; those of all queries are stored already
  int64_t window = 0;  // the query at position p sees keys p − window + 1 … p; 0: all from 0 on
};

class Backend {
 public:
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;

  // --- what it is -------------------------------------------------------------------------------------------------
  virtual std::string name() const = 0;      // "reference", "cpu"
  virtual std::string features() const = 0;  // the kernel path in use: "avx2", "avx512", …; "" where there is one only
  virtual ThreadPool& threads() = 0;
  virtual bool computes() const { return true; }  // false: a dry run, memory without contents
  // Whether products of bf16 factors have kernels of their own, and whether these are fast enough to be everybody's choice.
  virtual bool multiplies_bf16() const { return false; }
  virtual bool prefers_bf16() const { return false; }

  // --- memory -----------------------------------------------------------------------------------------------------
  virtual std::shared_ptr<const Storage> allocate(size_t bytes) = 0;  // 64-byte aligned
  virtual MemoryLedger& ledger() = 0;  // counts this device's tensors, prepared weights and kernels' memory, but no scratch of threads
  virtual int64_t most_thread_scratch() const { return 0; }  // bytes that kernels' threads keep for themselves, at most
  virtual void release_cached() {}                           // gives back what is kept for reuse
  // A device that allocates as this one does, kernels' own memory included, and computes nothing: what a run on it takes is what
  // the same run takes here. Counts in `ledger`, which must outlive it and its tensors, as it must outlive them.
  virtual std::unique_ptr<Backend> dry_twin(MemoryLedger& ledger) const = 0;

  // --- weights ----------------------------------------------------------------------------------------------------
  // w is contiguous, shaped as in the checkpoint; the result holds values of type `form.hold` (f32, f16 or bf16). In place, `hold` is
  // w's own type, and the result keeps w itself.
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
  virtual void linear(const Tensor& x, const Weight& w, const Tensor& bias, const Epilogue& e, const InputNorm& norm, Tensor& y) = 0;
  // linear(x, w, bias, e) of each.
  virtual void linears(const Tensor& x, std::span<LinearCall> calls) {
    for (LinearCall& c : calls) linear(x, c.w, c.bias, c.e, {}, c.y);
  }
  // x [B, H, W, C] contiguous, w [O, C, kh, kw], bias [O] f32 or undefined → y [B, H', W', O]. Padding is zeros after the norm.
  virtual void conv2d(const Tensor& x, const Weight& w, const Tensor& bias, const ConvSpec& spec, const Epilogue& e, const InputNorm& norm,
                      Tensor& y) = 0;

  // --- attention --------------------------------------------------------------------------------------------------
  // q [B, T, N, D], k and v [B, S, N, D], the last axis dense, others strided → y [B, T, N, D] contiguous.
  // softmax(scale · q kᵀ) v per head. factors bf16: scale·q, k, the exponentials and v are rounded to it before they are multiplied.
  virtual void attention(const Tensor& q, const Tensor& k, const Tensor& v, float scale, Mask mask, DType factors, Tensor& y) = 0;

  // q [T, N, D] f32 contiguous, N a multiple of G → y [T, N, D] f32; head n reads keys and values n / (N / G). softmax(scale · q kᵀ) v
  // per head, in f32; what y holds for a position does not depend on which others are asked for with it.
  virtual void cached_attention(const Tensor& q, const KeyValues& cache, float scale, Tensor& y) = 0;
  // x [T, N, D] f32, the last axis dense, table [T, 2, R/2] f32 (cosines, sines), R ≤ D → y [T, N, D] contiguous. Each pair (a, b) of the
  // first R numbers of a head becomes (a·cos − b·sin, b·cos + a·sin); the others are copied.
  virtual void rope(const Tensor& x, const Tensor& table, RotaryPairs pairs, Tensor& y) = 0;

  // --- norm -------------------------------------------------------------------------------------------------------
  // x [B, P, C] contiguous; statistics over P and the channels of a group, biased; then y = act(x̂·gamma + beta)
  virtual void group_norm(const Tensor& x, int64_t groups, const Tensor& gamma, const Tensor& beta, float eps, Activation act,
                          Tensor& y) = 0;
  // x [R, C] contiguous; statistics over C
  virtual void layer_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta, float eps, Tensor& y) = 0;
  // x [R, C] contiguous, gamma [C] f32 or undefined: y = x / √(mean of x² over C + eps) · gamma, the sum in f32
  virtual void rms_norm(const Tensor& x, const Tensor& gamma, float eps, Tensor& y) = 0;

  // --- pointwise (contiguous, equal shapes) -----------------------------------------------------------------------
  virtual void activate(const Tensor& x, Activation act, Tensor& y) = 0;
  // y = Σ fᵢ·xᵢ, summed in order in f32
  virtual void linear_combination(std::span<const Tensor> xs, std::span<const float> factors, Tensor& y) = 0;

  // --- shape ------------------------------------------------------------------------------------------------------
  // Equal shapes, any strides and float dtypes on both sides. y may be q8_0: then both are contiguous, and each block is rounded as
  // core/blocks.h does it.
  virtual void copy(const Tensor& x, Tensor& y) = 0;
  virtual void resize_nearest(const Tensor& x, Tensor& y) = 0;  // [B, H, W, C] → [B, H', W', C]: row ⌊h·H/H'⌋ as f32, like torch
  virtual void embedding(const Tensor& ids, const Tensor& table, Tensor& y) = 0;  // i32 [R], [V, C] of any type → [R, C]
};

}  // namespace hearth
