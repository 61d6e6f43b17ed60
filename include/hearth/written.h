// Contents of a written file or folder of weights.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace hearth {

struct WrittenWeights {
  int64_t tensors = 0, parameters = 0;
  int64_t bytes = 0;
  std::map<std::string, int64_t> types;  // type → tensors
  std::vector<std::string> notes;        // what was left out or differs from the request, one line each
};

}  // namespace hearth
