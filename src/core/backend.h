// Backend: the complete contract between the ops and a device.
//
// The ops (ops/*.h) have already checked shapes, dtypes, contiguity and that all operands are on this device, and allocated `y`; a backend
// only computes. Its methods are defined in backends/<device>/<stem>.cpp under the file stems of ops/.
//
// Optional behavior of an op is a field of a spec (core/specs.h), so that a new field does not touch code that does not use it. A method
// that a backend does not override refuses the op by name; an override refuses each field that it does not support (UnsupportedError). A
// dry run overrides no op: there the default does nothing.
//
// Numerics (docs/numerics.md): tensors are f32, f16 or bf16. Every sum, mean, softmax and epilogue is computed in f32 or wider and rounded
// once, at the store. The factors of a product are f32, or both rounded to bf16 if its weight was prepared for that. Results depend
// neither on the number of threads nor on the rest of the batch.
//
// Ops may run asynchronously: only download() and finish() wait.
#pragma once

#include <span>
#include <string>

#include "core/specs.h"

namespace hearth {

class MemoryLedger;
class MemoryRegion;
class ThreadPool;

class Backend {
 public:
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;

  // --- properties -------------------------------------------------------------------------------------------------
  virtual std::string name() const = 0;           // "reference", "cpu"
  virtual std::string features() const = 0;       // the kernel path in use: "avx2", "avx512", …; "" if there is only one
  virtual ThreadPool& threads() = 0;              // for work on the CPU
  virtual bool computes() const { return true; }  // false in a dry run, whose memory has no contents
  // Whether products of bf16 factors have their own kernels, and whether these are fast enough to be the default.
  virtual bool multiplies_bf16() const { return false; }
  virtual bool prefers_bf16() const { return false; }
  // Dtype of results that are Stored::inner; absent: f32. f16 or bf16 halve the traffic on bandwidth-bound devices, and bf16 loses nothing
  // if what reads a result rounds it to bf16 anyway. `factors`: to what it rounds it (core/specs.h); f32 if it does not.
  virtual std::optional<DType> inner_type(DType /*factors*/) const { return {}; }

  // --- memory -----------------------------------------------------------------------------------------------------
  virtual std::shared_ptr<const Storage> allocate(size_t bytes) = 0;  // 64-byte aligned
  // The backend that computes in memory that the CPU can read and write at any time: this one, unless its device has its own memory.
  // Files are mapped as tensors of the host, samplers work on it, and Tensor::data() is for its tensors only.
  virtual Backend& host() { return *this; }
  // x is dense and on a host; y is dense, on this device and of the same shape. Float dtypes may differ: values are rounded as copy()
  // rounds them. The caller may change x as soon as upload() returns.
  virtual void upload(const Tensor& x, Tensor& y) { copy(x, y); }
  // x is dense and on this device; y is dense, on a host, of the same shape and dtype. Waits for both.
  virtual void download(const Tensor& x, Tensor& y) { copy(x, y); }
  virtual void fill(Tensor& y, float value);  // y is dense, of a float dtype; of any dtype if value is 0
  virtual void finish() {}                    // waits for all submitted work and throws its errors
  virtual MemoryLedger& ledger() = 0;         // this device's tensors, prepared weights and kernel buffers, without thread scratch
  virtual int64_t most_thread_scratch() const { return 0; }  // most bytes that the kernels' threads keep as scratch
  virtual void release_cached() {}                           // frees memory that is kept for reuse
  // Bytes of memory of its own that the device has left for this process; 0 if it computes in the host's memory.
  virtual int64_t free_memory() const { return 0; }
  virtual bool lost() const { return false; }  // true once the device has failed for good: everything on it is lost
  // A new region of this device's memory (core/memory.h), which may outlive the backend; nullptr if it has no use for regions.
  virtual std::shared_ptr<MemoryRegion> region() { return nullptr; }
  // Counts so many bytes of a mapped file in the ledger while the result lives, which may outlive the backend.
  virtual std::shared_ptr<const void> count_mapped(int64_t bytes) = 0;
  // A backend that allocates as this one does, including the kernels' own memory, and computes nothing: a run on it uses as much memory
  // as the same run here. It counts in `ledger`, which must outlive it and its tensors; it must outlive its tensors.
  virtual std::unique_ptr<Backend> dry_twin(MemoryLedger& ledger) const = 0;

  // --- weights ----------------------------------------------------------------------------------------------------
  // w is contiguous, on this backend's host, in the checkpoint's shape; the result holds values of dtype `form.hold` (f32, f16 or bf16).
  // In place, `hold` is w's own dtype, and the result keeps w itself.
  // UnsupportedError for bf16 factors if multiplies_bf16() is false.
  virtual std::shared_ptr<const PreparedWeight> prepare(const Tensor& w, WeightKind kind, const WeightForm& form) = 0;
  // Names the layout of prepared weights, so that they can be kept between runs; "" if they cannot.
  virtual std::string packing() const { return ""; }
  // Wraps the storage of a weight that a backend of the same packing() has prepared; nullptr if the size does not match.
  virtual std::shared_ptr<const PreparedWeight> adopt(std::shared_ptr<const std::byte> /*storage*/, size_t /*bytes*/, const Shape& /*w*/,
                                                      WeightKind, const WeightForm&) {
    return nullptr;
  }

  // --- matmul, conv -----------------------------------------------------------------------------------------------
  // x [B, M, K] contiguous, w [N, K], bias [N] f32 or undefined → y [B, M, w.outputs()]
  virtual void linear(const Tensor& x, const Weight& w, const Tensor& bias, const Epilogue& e, const GroupNormSpec& norm, Tensor& y);
  // linear(x, w, bias, e) for each call.
  virtual void linears(const Tensor& x, std::span<LinearCall> calls) {
    for (LinearCall& c : calls) linear(x, c.w, c.bias, c.e, {}, c.y);
  }
  // x [B, …, C] contiguous with one to three axes between, w of WeightKind::conv [O, C / groups, …] or conv_transposed [C, O / groups, …],
  // bias [O] f32 or undefined → y [B, …, O]. Padding is applied after the norm.
  virtual void conv(const Tensor& x, const Weight& w, const Tensor& bias, const ConvSpec& spec, const Epilogue& e,
                    const GroupNormSpec& norm, Tensor& y);

  // --- attention, rope --------------------------------------------------------------------------------------------
  // q [B, T, N, D], k [B, S, G, D], v [B, S, G, Dv], N a multiple of G, the last axis dense, others strided → y [B, T, N, Dv] contiguous.
  // Query head n uses key/value head n / (N / G).
  virtual void attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionSpec& spec, Tensor& y);
  // q [T, N, D] f32 contiguous, N a multiple of G, the queries of text after text → y [T, N, Dv] f32; query head n uses key/value head
  // n / (N / G). Computed in f32; the result for a position does not depend on the other positions and texts of the call.
  virtual void cached_attention(const Tensor& q, std::span<const KeyValues> texts, const CachedAttentionSpec& spec, Tensor& y);
  // x [B, T, N, D], the last axis dense, table [1 or B, T, 1 or N, 2, R/2] f32 (cosines, sines) contiguous, R ≤ D → y [B, T, N, D]
  // contiguous, of x's dtype. Each pair (a, b) of a head's first R values becomes (a·cos − b·sin, b·cos + a·sin); the others are copied.
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
  virtual void embedding(const Tensor& ids, const Tensor& table, Tensor& y);  // i32 [R], [V, C] of any dtype → [R, C]; ids in [0, V)
  // x [R, C] → values [R, k] of x's dtype, in descending order, and their columns i32 [R, k]. Among equal values the first column comes
  // first; NaN ranks above every number.
  virtual void top_k(const Tensor& x, Tensor& values, Tensor& columns);
  virtual void gather(const Tensor& x, const Tensor& rows, Tensor& y);  // x [R, C], rows i32 [M] → y [M, C]
  // y [R, C] f32 += factors[m] · x [M, C] at row rows[m], in the order of m; factors f32 [M] or undefined (1).
  virtual void scatter_add(const Tensor& x, const Tensor& rows, const Tensor& factors, Tensor& y);

  // --- recurrences (f32; inputs have a dense last axis, all else is contiguous; state and tail are updated) ---------
  // x [T, C], taps [K, C], bias [C] or undefined, tail [K − 1, C]: the rows in front of x → y [T, C], tail: the last K − 1 rows of both.
  // y[t] = act(bias + Σₖ taps[k] · row t + k of tail and x)
  virtual void causal_conv(const Tensor& x, const Tensor& taps, const Tensor& bias, Activation act, Tensor& tail, Tensor& y);
  // x, dt [T, C], a [S, C], b, c [T, S], d [C] or undefined, state [S, C] → y [T, C], token by token:
  //   state[s] = exp(dt[t] · a[s]) · state[s] + dt[t] · x[t] · b[t, s],  y[t] = Σₛ c[t, s] · state[s] + d · x[t]
  virtual void selective_scan(const Tensor& x, const Tensor& dt, const Tensor& a, const Tensor& b, const Tensor& c, const Tensor& d,
                              Tensor& state, Tensor& y);
  // x [T, N·D], dt [T, N], b, c [T, G·S], state [N, S, D] → y [T, N·D], for each head n of group g = n / (N / G), token by token:
  //   state[n, s] = exp(Δ · a[n]) · state[n, s] + Δ · x[t, n] · b[t, g, s],  y[t, n] = Σₛ c[t, g, s] · state[n, s] + d[n] · x[t, n]
  virtual void state_space_scan(const Tensor& x, const Tensor& dt, const Tensor& b, const Tensor& c, const StateSpaceSpec& spec,
                                Tensor& state, Tensor& y);

  // --- linear attention (f32, contiguous; ops/linear_attention.h) -------------------------------------------------
  // q [B, T, N, D], k [B, S, N, D], v [B, S, N, Dv] → y [B, T, N, Dv]
  virtual void linear_attention(const Tensor& q, const Tensor& k, const Tensor& v, float eps, Tensor& y);

  // --- shape ------------------------------------------------------------------------------------------------------
  // Equal shapes, any strides and float dtypes on both sides. If y is q8_0, both are contiguous, and each block is rounded as in
  // core/quantized/blocks.h. If both have the same dtype that is not a float, both are contiguous, and the bytes are copied.
  virtual void copy(const Tensor& x, Tensor& y);
  virtual void resize_nearest(const Tensor& x, Tensor& y);  // [B, H, W, C] → [B, H', W', C]: row ⌊h·H/H'⌋ in f32, as in torch
  virtual void pool(const Tensor& x, const PoolSpec& spec, Tensor& y);  // x [B, …, C] contiguous, one to three axes between

  // --- delta rule (f32, contiguous; ops/delta_rule.h; the state is updated) ---------------------------------------
  virtual void delta_rule(const DeltaRule& rule, Tensor& state, Tensor& y);  // state [H, Dk, Dv] → y [T, H, Dv]
  // q, k [T, H, Dk], u [H, Dk], v, base [T, H, Dv] → y [T, H, Dv]
  virtual void add_weighted(const Tensor& base, const Tensor& q, const Tensor& k, const Tensor& u, const Tensor& v, Tensor& y);
  virtual void gated_scan(const Tensor& x, const Tensor& log_a, bool starts, Tensor& state, Tensor& y);  // [T, C], state [C] → y [T, C]

 protected:
  // Default body of an op: nothing in a dry run, otherwise an UnsupportedError that names backend and op.
  void lacks(std::string_view op) const;
};

}  // namespace hearth
