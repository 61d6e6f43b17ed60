#include "core/shape.h"

#include <algorithm>

namespace hearth {

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (int i = 0; i < shape.rank(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

}  // namespace hearth

fmt::format_context::iterator fmt::formatter<hearth::Shape>::format(const hearth::Shape& shape, fmt::format_context& context) const {
  return std::ranges::copy(hearth::to_string(shape), context.out()).out;
}
