// What Stable Diffusion XL is told of a picture's size and past, beside the prompt.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace hearth {

// Pixels, [width, height] and [x, y] from the left and top. The negative prompt's are the prompt's own where none of them is given; else
// both of its sizes are needed.
struct SizeConditions {
  using Pair = std::array<int64_t, 2>;
  std::optional<Pair> original_size, target_size;  // the picture's own where absent
  std::optional<Pair> crop;                        // where the picture was cut out; [0, 0] where absent
  std::optional<Pair> negative_original_size, negative_target_size, negative_crop;
  std::optional<double> aesthetic_score, negative_aesthetic_score;  // of the refiner: 6 and 2.5 where absent

  bool operator==(const SizeConditions&) const = default;
};

}  // namespace hearth
