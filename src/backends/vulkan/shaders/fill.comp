#version 460
#extension GL_GOOGLE_include_directive : require
// y = value.
#include "types.glsl"

layout(local_size_x = 64) in;
struct Parameters {
  uint64_t y;
  uint count;
  float value;
  uint y_type;
};
PARAMETERS;

void main() {
  p = parameters.values;
  const uint i = invocation();
  if (i < p.count) write(p.y_type, p.y, i, p.value);
}
