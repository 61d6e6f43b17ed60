#include "api/precision.h"

namespace hearth::api {

std::optional<WeightTypes> weight_types(Precision precision, const Backend& device) {
  switch (precision) {
    case Precision::f32: return WeightTypes{.hold = DType::f32};
    case Precision::f16: return WeightTypes{.hold = DType::f16};
    case Precision::bf16: return WeightTypes{.hold = DType::bf16, .factors = device.multiplies_bf16() ? DType::bf16 : DType::f32};
    case Precision::automatic: break;
  }
  return std::nullopt;
}

std::optional<WeightTypes> held_types(Precision precision) {
  if (precision == Precision::f16) return WeightTypes{.hold = DType::f16};
  if (precision == Precision::bf16) return WeightTypes{.hold = DType::bf16};
  return std::nullopt;
}

}  // namespace hearth::api
