// Backend: the whole contract between the ops and a device, on one page.
//
// The ops (ops/*.h) have already checked shapes, dtypes, contiguity and that all operands are on this device, and allocated `y`; a backend
// only computes. Its methods are defined in backends/<device>/<stem>.cpp under the file stems of ops/.
//
// What an op may be asked for stands in a spec (core/specs.h), so that a field can be added without touching those who do not use it. A
// method that a backend does not override refuses the op by name, and so does an override for a field that it does not support
// (UnsupportedError). A dry run overrides none: there the default does nothing.
//
// Numbers (docs/numerics.md): tensors are f32, f16 or bf16; every sum, mean, softmax and epilogue is f32 or wider and is
// rounded once, at the store. The factors of a product are f32, or both rounded to bf16 where its weight was prepared so. Results depend
// neither on the number of threads nor on what else is in the batch.
//
// Work may be done later than it is asked for: only download() and finish() wait.
#pragma once

#include <span>
#include <string>

#include "core/specs.h"

namespace hearth {

class MemoryLedger;
class ThreadPool;

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
  // core/quantized/blocks.h does it. Of equal types that are no floats, both contiguous: as it is.
  virtual void copy(const Tensor& x, Tensor& y);
  virtual void resize_nearest(const Tensor& x, Tensor& y);  // [B, H, W, C] → [B, H', W', C]: row ⌊h·H/H'⌋ as f32, like torch
  virtual void pool(const Tensor& x, const PoolSpec& spec, Tensor& y);  // x [B, …, C] contiguous, one to three axes between

 protected:
  // What a method does that is not overridden: nothing in a dry run; else UnsupportedError that names backend and op.
  void lacks(std::string_view op) const;
};

}  // namespace hearth
