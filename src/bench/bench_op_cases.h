// Operations that `hearth bench ops` measures beside those of the families' own networks: the forms that transformers of images and videos,
// language models and mobile networks need. Each stands next to the plain operation that does the same amount of work.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/backend.h"

namespace hearth::api {

struct OpCase {
  std::string kind;
  Shape x, y, w;  // w: of products with weights
  double flop = 0;
  int64_t bytes = 0;  // read and written
  std::function<void()> run;
};

// A tensor of numbers in [−scale, scale).
Tensor filled(Backend& device, const Shape& shape, float scale = 1);

struct OpForm {
  std::string name;
  std::function<OpCase(Backend& device, const WeightForm& form)> make;
};
const std::vector<OpForm>& op_forms();

}  // namespace hearth::api
