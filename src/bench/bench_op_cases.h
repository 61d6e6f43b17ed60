// Ops that `hearth bench ops` measures in addition to those of the families' networks: the forms used by image and video transformers,
// language models and mobile networks. Each is listed next to the plain op that does the same amount of work.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/backend.h"

namespace hearth::api {

struct OpCase {
  std::string kind;
  Shape x, y, w;  // w: weight of a product
  double flop = 0;
  int64_t bytes = 0;  // bytes read and written
  std::function<void()> run;
};

// A tensor of values in [−scale, scale).
Tensor filled(Backend& device, const Shape& shape, float scale = 1);

struct OpForm {
  std::string name;
  std::function<OpCase(Backend& device, const WeightForm& form)> make;
};
const std::vector<OpForm>& op_forms();

}  // namespace hearth::api
