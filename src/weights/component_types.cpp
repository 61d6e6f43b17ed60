#include "weights/component_types.h"

#include <algorithm>

#include "core/factors.h"
#include "hearth/component.h"

namespace hearth {

WeightTypes component_types(const TensorSource& source, const Backend& backend, const std::optional<WeightTypes>& requested) {
  const auto tensors = source.list();
  const bool blocks = std::ranges::any_of(tensors, [](const auto& t) { return is_blocked(t.second.dtype); });
  if (!blocks) return requested ? *requested : automatic_types(source, backend);
  WeightTypes types = requested ? *requested : WeightTypes{.factors = asked_factors(Precision::automatic, true, backend)};
  types.in_place = true;
  if (types.hold == DType::f32) types.hold.reset();
  return types;
}

}  // namespace hearth
