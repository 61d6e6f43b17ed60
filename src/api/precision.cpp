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

WeightTypes held_types(Precision precision, const Backend& device) {
  switch (precision) {
    case Precision::f16: return {.hold = DType::f16, .in_place = true};
    case Precision::bf16: return {.hold = DType::bf16, .factors = device.multiplies_bf16() ? DType::bf16 : DType::i16, .in_place = true};
    case Precision::f32: return {.in_place = true};
    case Precision::automatic: break;
  }
  return {.factors = DType::i16, .in_place = true};
}

}  // namespace hearth::api
