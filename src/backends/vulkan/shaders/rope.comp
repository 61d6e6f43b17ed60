#version 460
#extension GL_GOOGLE_include_directive : require
// Rotates pairs of each head's values by the angles of a table (Backend::rope).
#include "types.glsl"

layout(local_size_x = 64) in;
struct Parameters {
  uint64_t x, table, y;
  uint count, T, N, D, half_width;  // count: values of y
  uint x_step[3];                   // image, token, head
  uint table_images, table_heads;   // 1 or B; 1 or N
  uint type, neighbors;
};
PARAMETERS;

void main() {
  p = parameters.values;
  const uint i = invocation();
  if (i >= p.count) return;
  const uint d = i % p.D, head = i / p.D % p.N, token = i / p.D / p.N % p.T, image = i / p.D / p.N / p.T;
  const uint from = image * p.x_step[0] + token * p.x_step[1] + head * p.x_step[2], half_width = p.half_width;
  const float own = read(p.type, p.x, from + d);
  if (d >= 2 * half_width) {
    write(p.type, p.y, i, own);
    return;
  }
  const bool first = p.neighbors != 0 ? d % 2 == 0 : d < half_width;
  const uint pair = p.neighbors != 0 ? d / 2 : d % half_width;
  const uint partner = p.neighbors != 0 ? d ^ 1 : first ? d + half_width : d - half_width;
  const float other = read(p.type, p.x, from + partner);
  const uint row = ((p.table_images == 1 ? 0 : image) * p.T + token) * p.table_heads + (p.table_heads == 1 ? 0 : head);
  const float cosine = read_f32(p.table, row * 2 * half_width + pair), sine = read_f32(p.table, row * 2 * half_width + half_width + pair);
  precise const float turned = first ? own * cosine - other * sine : own * cosine + other * sine;
  write(p.type, p.y, i, turned);
}
