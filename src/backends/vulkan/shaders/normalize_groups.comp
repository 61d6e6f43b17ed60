#version 460
#extension GL_GOOGLE_include_directive : require
// y = GroupNorm of x [B, P, C], whose statistics group_statistics.comp has computed.
#include "types.glsl"

#include "functions.glsl"

layout(local_size_x = 64) in;
struct Parameters {
  uint64_t x, y, statistics, gamma, beta, scale, shift;  // 0: none
  uint count, of_image;                                  // values
  uint groups, channels, scale_step, shift_step, activation;
  uint x_type, y_type;
};
PARAMETERS;

void main() {
  p = parameters.values;
  const uint i = invocation();
  if (i >= p.count) return;
  const uint image = i / p.of_image, channel = i % p.channels, group = image * p.groups + channel / (p.channels / p.groups);
  float value = (read(p.x_type, p.x, i) - read_f32(p.statistics, 2 * group)) * read_f32(p.statistics, 2 * group + 1);
  if (p.gamma != 0) value *= read_f32(p.gamma, channel);
  if (p.beta != 0) value += read_f32(p.beta, channel);
  if (p.scale != 0) value *= 1.0 + read_f32(p.scale, image * p.scale_step + channel);
  if (p.shift != 0) value += read_f32(p.shift, image * p.shift_step + channel);
  write(p.y_type, p.y, i, activated(p.activation, value));
}
