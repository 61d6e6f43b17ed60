#version 460
#extension GL_GOOGLE_include_directive : require
// y = x, from any strides and float dtype to any.
#include "types.glsl"

layout(local_size_x = 64) in;
struct Parameters {
  uint64_t x, y;
  uint count, axes;
  uint size[8], x_step[8], y_step[8];  // of an axis, outermost first
  uint x_type, y_type;
};
PARAMETERS;

void main() {
  p = parameters.values;
  const uint i = invocation();
  if (i >= p.count) return;
  uint rest = i, from = 0, to = 0;
  for (int axis = int(p.axes) - 1; axis >= 0; --axis) {
    const uint place = rest % p.size[axis];
    rest /= p.size[axis];
    from += place * p.x_step[axis];
    to += place * p.y_step[axis];
  }
  write(p.y_type, p.y, to, read(p.x_type, p.x, from));
}
