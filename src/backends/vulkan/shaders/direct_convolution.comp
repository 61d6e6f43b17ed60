#version 460
#extension GL_GOOGLE_include_directive : require
// Grouped and transposed convolutions: each invocation computes one value of y. The weight is [O][taps][channels of a group].
#include "types.glsl"

#include "functions.glsl"

#include "epilogue.glsl"

#include "windows.glsl"

layout(local_size_x = 64) in;
struct Parameters {
  Epilogue epilogue;
  Windows windows;
  uint64_t x, w, y;
  uint count, outputs, taps, of_group, group_outputs;  // of_group: channels of x of a group
  uint x_type, w_type, transposed, rounds;
};
PARAMETERS;

void main() {
  p = parameters.values;
  const uint i = invocation();
  if (i >= p.count) return;
  const uint n = i % p.outputs, row = i / p.outputs, image = row / p.epilogue.image_rows, first = n / p.group_outputs * p.of_group;
  float total = 0;
  for (uint tap = 0; tap < p.taps; ++tap) {
    const uint place = row % p.epilogue.image_rows;
    const int from = p.transposed != 0 ? transposed_source(p.windows, place, tap) : window_source(p.windows, place, tap);
    if (from < 0) continue;
    const uint x0 = (image * p.windows.image + uint(from)) * p.windows.channels + first, w0 = (n * p.taps + tap) * p.of_group;
    float sum = 0;
    for (uint c = 0; c < p.of_group; ++c) {
      const float value = read(p.x_type, p.x, x0 + c);
      sum = fma(p.rounds != 0 ? as_bf16(value) : value, read(p.w_type, p.w, w0 + c), sum);
    }
    total += sum;
  }
  store(p.epilogue, p.y, activated(p.epilogue.activation, shifted(p.epilogue, total, row, n, p.outputs)), row, n, p.outputs);
}
