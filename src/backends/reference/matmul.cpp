#include "backends/reference/reference_class.h"

namespace hearth::reference {

double activated(double x, Activation act) {
  switch (act) {
    case Activation::none: return x;
    case Activation::silu: return x / (1 + std::exp(-x));
    case Activation::gelu: return 0.5 * x * (1 + std::erf(x * M_SQRT1_2));
    case Activation::gelu_tanh: return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case Activation::quick_gelu: return x / (1 + std::exp(-1.702 * x));
    case Activation::relu: return x > 0 || std::isnan(x) ? x : 0;
  }
  return x;
}

std::shared_ptr<const PreparedWeight> ReferenceBackend::prepare(const Tensor& w, WeightKind, const WeightForm& form) {
  auto raw = std::make_shared<Raw>();
  raw->values = w.to_vector();
  for (float& v : raw->values) {
    if (form.hold == DType::f16) v = f16_to_f32(f32_to_f16(v));
    if (form.hold == DType::bf16) v = bf16_to_f32(f32_to_bf16(v));
  }
  raw->bytes = raw->values.size() * sizeof(float);
  return raw;
}

void ReferenceBackend::store(Tensor& y, int64_t i, double acc, int64_t b, int64_t n, int64_t N, const Tensor& bias,
                             const Epilogue& e) const {
  double value = double(e.alpha) * acc;
  if (bias) value += at(bias, n);
  if (e.per_image) value += at(e.per_image, b * N + n);
  value = activated(value, e.activation);
  if (e.residual) value += at(e.residual, i);
  put(y, i, value);
}

Tensor ReferenceBackend::as_factors(const Tensor& x, DType factors) {
  if (factors == DType::f32) return x;
  Tensor rounded = Tensor::empty(*this, x.shape(), factors);
  copy(x, rounded);
  return rounded;
}

void ReferenceBackend::linear(const Tensor& input, const Weight& w, const Tensor& bias, const Epilogue& e, Tensor& y) {
  const Tensor x = as_factors(input, w.form.factors);
  const auto [B, M, K] = x.dims<3>();
  const int64_t N = w.out();
  const float* values = static_cast<const Raw&>(*w.prepared).values.data();
  pool_.run(B * M, [&, B = B, M = M, K = K](int64_t row) {
    (void)B;
    for (int64_t n = 0; n < N; ++n) {
      double acc = 0;
      for (int64_t k = 0; k < K; ++k) acc += at(x, row * K + k) * values[n * K + k];
      store(y, row * N + n, acc, row / M, n, N, bias, e);
    }
  });
}

}  // namespace hearth::reference
