#include "api/precision.h"

#include "core/factors.h"

namespace hearth::api {

std::optional<WeightTypes> weight_types(Precision precision, const Backend& device) {
  if (precision == Precision::automatic) return std::nullopt;
  const DType hold = precision == Precision::f32 ? DType::f32 : precision == Precision::f16 ? DType::f16 : DType::bf16;
  return WeightTypes{
      .hold = hold, .factors = asked_factors(precision, false, device), .compact_factors = asked_factors(precision, true, device)};
}

WeightTypes held_types(Precision precision, const Backend& device) {
  WeightTypes types{.factors = asked_factors(precision, true, device), .in_place = true};
  if (precision == Precision::f16) types.hold = DType::f16;
  if (precision == Precision::bf16) types.hold = DType::bf16;
  return types;
}

}  // namespace hearth::api
