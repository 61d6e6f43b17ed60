// The class behind make_cpu_backend; its ops are in files named as in ops/.
#pragma once

#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/kernels/bf16.h"
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/memory.h"
#include "core/threads.h"

namespace hearth::cpu {

class Bf16Rows;       // bf16.h
struct Bf16Weight;    // bf16.h
class LeftRows;       // product.h
struct PackedWeight;  // product.h
class Windows;        // windows.h

// GroupNorm as applied to each channel of each image:  (x − mean)·factor + beta.
struct ChannelNorm {
  std::shared_ptr<const std::byte> store;
  // [B][C]:  factor = gamma·(1 + scale) / √(variance + eps), beta = spec.beta·(1 + scale) + shift
  const float *mean, *factor, *beta;
};

class CpuBackend final : public Backend {
 public:
  CpuBackend(const Kernels& kernels, int threads)
      : kernels_(kernels), pool_(threads), memory_(std::make_shared<Arena>(Arena::Behind::memory, MemoryLedger::process())) {}
  // A dry twin: no piece of work runs, so that outside of pieces no method may read or write the contents of a tensor.
  CpuBackend(const Kernels& kernels, int threads, MemoryLedger& ledger)
      : kernels_(kernels),
        pool_(threads, ThreadPool::Mode::idle),
        memory_(std::make_shared<Arena>(Arena::Behind::nothing, ledger)),
        computes_(false) {}

  std::string name() const override { return "cpu"; }
  std::string features() const override { return kernels_.name; }
  ThreadPool& threads() override { return pool_; }
  bool computes() const override { return computes_; }
  bool multiplies_bf16() const override { return kernels_.bf16 != nullptr; }
  bool prefers_bf16() const override { return kernels_.bf16 && kernels_.bf16->preferred; }

  std::shared_ptr<const Storage> allocate(size_t bytes) override;
  MemoryLedger& ledger() override { return memory_->ledger(); }
  int64_t most_thread_scratch() const override { return pool_.size() * int64_t(most_scratch); }
  void release_cached() override { memory_->release_cached(); }
  std::shared_ptr<MemoryRegion> region() override { return memory_->region(); }
  std::shared_ptr<const void> count_mapped(int64_t bytes) override { return memory_->count_mapped(bytes); }
  std::unique_ptr<Backend> dry_twin(MemoryLedger& ledger) const override {
    return std::make_unique<CpuBackend>(kernels_, pool_.size(), ledger);
  }
  std::shared_ptr<const PreparedWeight> prepare(const Tensor& w, WeightKind kind, const WeightForm& form) override;
  std::string packing() const override;
  std::shared_ptr<const PreparedWeight> adopt(std::shared_ptr<const std::byte> storage, size_t bytes, const Shape& w, WeightKind kind,
                                              const WeightForm& form) override;

  void fill(Tensor& y, float value) override;

  void linear(const Tensor& x, const Weight& w, const Tensor& bias, const Epilogue& e, const GroupNormSpec& norm, Tensor& y) override;
  void linears(const Tensor& x, std::span<LinearCall> calls) override;
  void conv(const Tensor& x, const Weight& w, const Tensor& bias, const ConvSpec& spec, const Epilogue& e, const GroupNormSpec& norm,
            Tensor& y) override;
  void attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionSpec& spec, Tensor& y) override;
  void cached_attention(const Tensor& q, std::span<const KeyValues> texts, const CachedAttentionSpec& spec, Tensor& y) override;
  void rope(const Tensor& x, const Tensor& table, RotaryPairs pairs, Tensor& y) override;
  void group_norm(const Tensor& x, const GroupNormSpec& spec, Tensor& y) override;
  void layer_norm(const Tensor& x, const NormSpec& spec, Tensor& y) override;
  void rms_norm(const Tensor& x, const NormSpec& spec, Tensor& y) override;
  void activate(const Tensor& x, Activation act, Tensor& y) override;
  void multiply(const Tensor& a, const Tensor& b, Tensor& y) override;
  void affine(const Tensor& x, const Tensor& scale, const Tensor& shift, Tensor& y) override;
  void linear_combination(std::span<const Tensor> xs, std::span<const float> factors, Tensor& y) override;
  void embedding(const Tensor& ids, const Tensor& table, Tensor& y) override;
  void top_k(const Tensor& x, Tensor& values, Tensor& columns) override;
  void gather(const Tensor& x, const Tensor& rows, Tensor& y) override;
  void scatter_add(const Tensor& x, const Tensor& rows, const Tensor& factors, Tensor& y) override;
  void causal_conv(const Tensor& x, const Tensor& taps, const Tensor& bias, Activation act, Tensor& tail, Tensor& y) override;
  void selective_scan(const Tensor& x, const Tensor& dt, const Tensor& a, const Tensor& b, const Tensor& c, const Tensor& d, Tensor& state,
                      Tensor& y) override;
  void state_space_scan(const Tensor& x, const Tensor& dt, const Tensor& b, const Tensor& c, const StateSpaceSpec& spec, Tensor& state,
                        Tensor& y) override;
  void copy(const Tensor& x, Tensor& y) override;
  void resize_nearest(const Tensor& x, Tensor& y) override;
  void pool(const Tensor& x, const PoolSpec& spec, Tensor& y) override;
  void delta_rule(const DeltaRule& rule, Tensor& state, Tensor& y) override;
  void add_weighted(const Tensor& base, const Tensor& q, const Tensor& k, const Tensor& u, const Tensor& v, Tensor& y) override;
  void linear_attention(const Tensor& q, const Tensor& k, const Tensor& v, float eps, Tensor& y) override;
  void gated_scan(const Tensor& x, const Tensor& log_a, bool starts, Tensor& state, Tensor& y) override;

  const Kernels& kernels() const { return kernels_; }

 private:
  // y = epilogue(left · wᵀ), the product behind linear and conv; y [rows, N], or columns of it, `image_rows` rows to an image.
  void product(const LeftRows& left, int64_t rows, int64_t image_rows, const PackedWeight& w, const Tensor& bias, const Epilogue& e,
               Tensor& y, int64_t first_column = 0);
  // y = epilogue(convolution) if winograd_pays (route.h).
  void winograd(const Windows& windows, const PackedWeight& w, const Tensor& bias, const Epilogue& e, Tensor& y);
  ChannelNorm statistics(const Tensor& x, const GroupNormSpec& spec);  // of x [B, ..., C]
  // y = act((x − mean)·factor + beta) for x [n, ..., C], rows of the images first, first + 1, …
  void normalize(const Tensor& x, int64_t first, const ChannelNorm& norm, Activation act, Tensor& y);
  // Calls row(r, from, to) for each row r of x, in f32.
  template <class F> void for_rows(const Tensor& x, Tensor& y, const F& row);
  // linear and conv of a normalized x, in strips if x is large (input_norm.cpp).
  void normalized_linear(const Tensor& x, const Weight& w, const Tensor& bias, const Epilogue& e, const GroupNormSpec& norm, Tensor& y);
  void normalized_conv(const Tensor& x, const Weight& w, const Tensor& bias, const ConvSpec& spec, const Epilogue& e,
                       const GroupNormSpec& norm, Tensor& y);
  // The same with bf16 factors (bf16.h), into the rows of y from first_row on.
  void product_bf16(const Bf16Rows& left, int64_t rows, int64_t image_rows, int64_t first_row, const Bf16Weight& w, const Tensor& bias,
                    const Epilogue& e, Tensor& y);
  // A left side without padding, in strips of rows; fill writes one row of w.k factors.
  void dense_bf16(int64_t rows, int64_t image_rows, const Bf16Weight& w, const Tensor& bias, const Epilogue& e, Tensor& y,
                  const std::function<void(int64_t row, uint16_t* to)>& fill);
  // Routes of weights held in place (route.h); for the routes that round x, x is already rounded.
  void linear_few(const Tensor& x, std::span<const LinearCall> calls);
  void linear_rows(const Tensor& x, const Weight& w, const Tensor& bias, const Epilogue& e, Tensor& y);
  void linear_turned(const Tensor& x, const Weight& w, const Tensor& bias, const Epilogue& e, Tensor& y);
  void linear_rows_bf16(const Tensor& x, const Weight& w, const Tensor& bias, const Epilogue& e, Tensor& y);
  void linear_integers(const Tensor& x, const Weight& w, const Tensor& bias, const Epilogue& e, Tensor& y);
  void linear_gated(const Tensor& x, const Weight& w, const Tensor& bias, const Epilogue& e, Tensor& y);
  void linear_bf16(const Tensor& x, const Bf16Weight& w, const Tensor& bias, const Epilogue& e, Tensor& y);
  void conv_bf16(const Tensor& x, const Shape& shape, const Bf16Weight& w, const Tensor& bias, const ConvSpec& spec, const Epilogue& e,
                 Tensor& y);
  void conv_grouped(const Tensor& x, const Weight& w, const Tensor& bias, const ConvSpec& spec, const Epilogue& e, Tensor& y);
  void conv_depthwise(const Tensor& x, const Weight& w, const Tensor& bias, const ConvSpec& spec, const Epilogue& e, Tensor& y);
  void conv_transposed(const Tensor& x, const Weight& w, const Tensor& bias, const ConvSpec& spec, const Epilogue& e, Tensor& y);
  // WeightKind::conv in groups, and conv_transposed (prepare_conv.cpp).
  std::shared_ptr<const PreparedWeight> prepare_grouped(const Tensor& w, WeightKind kind, const WeightForm& form);
  std::shared_ptr<const PreparedWeight> prepare_transposed(const Tensor& w, const WeightForm& form);
  void attention_bf16(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionSpec& spec, Tensor& y);
  template <class T>
  void pack_rows(const Tensor& w, PackedWeight& packed, void (*transpose)(const T*, int64_t, int64_t, int64_t, T*, int64_t));
  std::shared_ptr<const PreparedWeight> prepare_bf16(const Tensor& w, WeightKind kind);
  void round_to_bf16(const Tensor& x, int64_t begin, int64_t n, uint16_t* to);  // elements begin … begin + n of a dense tensor
  Tensor rounded_to_bf16(const Tensor& x);                                      // f32, each value rounded to bf16
  Tensor as_f32(const Tensor& x);                                               // x itself, or a widened copy of a dense 16-bit tensor

  const Kernels& kernels_;
  ThreadPool pool_;
  std::shared_ptr<Arena> memory_;  // shared: tensors may outlive the backend
  const bool computes_ = true;
};

Act act_of(Activation act);

// The row of a scale or shift for row r of x [images, rows / images, C]: one for all, one per image or one per row. Null if it is
// undefined.
inline const float* modulation_row(const Tensor& t, int64_t r, int64_t images, int64_t rows) {
  if (!t) return nullptr;
  const int64_t own = t.size(0) == 1 ? 0 : t.size(0) == images ? r / (rows / images) : r;
  return t.data<float>() + own * t.stride(0);
}

// Elements of any float dtype as f32: in place if they are f32, else widened into `buffer`.
const float* widened(const Kernels& kernels, DType dtype, const std::byte* x, int64_t n, float* buffer);
// Rounds n values to dtype; does nothing if x is y.
void narrowed(const Kernels& kernels, const float* x, int64_t n, DType dtype, std::byte* y);

}  // namespace hearth::cpu
