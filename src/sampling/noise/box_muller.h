// Two standard normal values from two uniforms (Box & Muller 1958), in f32, bit-identical on every machine.
#pragma once

namespace hearth::sampling {

struct NormalPair {
  float cosine, sine;
};

// √(−2 ln u)·(cos angle, sin angle), 0 < u ≤ 1, 0 ≤ angle < 2π; ln, sin and cos as in torch's vectorized normals.
NormalPair box_muller(float u, float angle);

}  // namespace hearth::sampling
