// What a file, or a folder, of weights that was written holds.
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
  std::vector<std::string> notes;        // what was left out or is not as asked for, one line each
};

}  // namespace hearth
