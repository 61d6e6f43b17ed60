// The class behind make_reference_backend; its kernels are in files named as in ops/.
#pragma once

#include <cmath>
#include <cstdlib>

#include "backends/plan/plan_backend.h"
#include "backends/reference/reference_backend.h"
#include "core/memory.h"
#include "core/threads.h"

namespace hearth::reference {

struct Raw final : PreparedWeight {
  std::vector<float> values;   // in checkpoint order, rounded to the held dtype
  std::vector<float> rounded;  // rounded to bf16, if `values` are not but may be multiplied in bf16
};

// Number of sums of products that a loop computes at once.
inline constexpr int64_t side_by_side = 8;

// Reads and writes any float dtype at a linear index of a dense tensor.
inline double at(const Tensor& x, int64_t i) {
  switch (x.dtype()) {
    case DType::f16: return f16_to_f32(x.data<uint16_t>()[i]);
    case DType::bf16: return bf16_to_f32(x.data<uint16_t>()[i]);
    default: return x.data<float>()[i];
  }
}
inline void put(Tensor& y, int64_t i, double value) {
  switch (y.dtype()) {
    case DType::f16: y.data<uint16_t>()[i] = f32_to_f16(float(value)); break;
    case DType::bf16: y.data<uint16_t>()[i] = f32_to_bf16(float(value)); break;
    default: y.data<float>()[i] = float(value);
  }
}

double activated(double x, Activation act);

class ReferenceBackend final : public Backend {
 public:
  ReferenceBackend(int threads, std::optional<DType> inner) : pool_(threads), inner_(inner) {}

  std::string name() const override { return "reference"; }
  std::string features() const override { return ""; }
  bool multiplies_bf16() const override { return true; }
  std::optional<DType> inner_type(DType) const override { return inner_; }
  ThreadPool& threads() override { return pool_; }
  std::unique_ptr<Backend> dry_twin(MemoryLedger& ledger) const override { return make_plan_backend(ledger); }

  std::shared_ptr<const Storage> allocate(size_t bytes) override;
  MemoryLedger& ledger() override { return *ledger_; }
  std::shared_ptr<const void> count_mapped(int64_t bytes) override {
    ledger_->add_mapped(bytes);
    return {ledger_.get(), [ledger = ledger_, bytes](const void*) { ledger->add_mapped(-bytes); }};
  }
  std::shared_ptr<const PreparedWeight> prepare(const Tensor& w, WeightKind kind, const WeightForm& form) override;

  void fill(Tensor& y, float value) override;

  void linear(const Tensor& x, const Weight& w, const Tensor& bias, const Epilogue& e, const GroupNormSpec& norm, Tensor& y) override;
  void conv(const Tensor& x, const Weight& w, const Tensor& bias, const ConvSpec& spec, const Epilogue& e, const GroupNormSpec& norm,
            Tensor& y) override;
  void attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionSpec& spec, Tensor& y) override;
  void cached_attention(const Tensor& q, std::span<const KeyValues> texts, const CachedAttentionSpec& spec, Tensor& y) override;
  void rope(const Tensor& x, const Tensor& table, RotaryPairs pairs, Tensor& y) override;
  void group_norm(const Tensor& x, const GroupNormSpec& spec, Tensor& y) override;
  void layer_norm(const Tensor& x, const NormSpec& spec, Tensor& y) override;
  void rms_norm(const Tensor& x, const NormSpec& spec, Tensor& y) override;
  void activate(const Tensor& x, Activation act, Tensor& y) override;
  void linear_combination(std::span<const Tensor> xs, std::span<const float> factors, Tensor& y) override;
  void multiply(const Tensor& a, const Tensor& b, Tensor& y) override;
  void affine(const Tensor& x, const Tensor& scale, const Tensor& shift, Tensor& y) override;
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

 private:
  Tensor as_factors(const Tensor& x, DType factors);  // x rounded to these factors (WeightForm::factors)
  Tensor as_integers(const Tensor& input);
  Tensor normalized(const Tensor& x, const GroupNormSpec& norm);  // f32, the shape of x [B, ..., C]
  // α·acc + bias + per_image of column n of N, image b; or + addend of row `row`
  double shifted(double acc, int64_t row, int64_t b, int64_t n, int64_t N, const Tensor& bias, const Epilogue& e) const;
  // y[i] = gate · value + residual for column n of N, image b
  void store(Tensor& y, int64_t i, double value, int64_t b, int64_t n, int64_t N, const Epilogue& e) const;

  ThreadPool pool_;
  const std::optional<DType> inner_;
  const std::shared_ptr<MemoryLedger> ledger_ =
      std::make_shared<MemoryLedger>(&MemoryLedger::process());  // shared: tensors may outlive the backend
};

}  // namespace hearth::reference
