#version 460
#extension GL_GOOGLE_include_directive : require
// The k largest values of a row and their columns, largest first; among equals the first column, NaN above all: a workgroup finds them
// one after the other.
#extension GL_EXT_control_flow_attributes : require
#include "types.glsl"

layout(local_size_x = 128) in;
struct Parameters {
  uint64_t x, values, columns;
  uint width, k;
  uint type;
};
PARAMETERS;

const uint leaders = 16;  // invocations that combine the others' values, in order of columns
shared uint best_key[gl_WorkGroupSize.x], best_column[gl_WorkGroupSize.x];
shared uint leading_key[leaders], leading_column[leaders];

const uint nothing = 0xffffffffu;

// Keys in the order of values; all NaN have the largest, and −0 that of 0.
uint key_of(float value) {
  if (isnan(value)) return 0xffffffffu;
  const uint bits = floatBitsToUint(value), magnitude = bits & 0x7fffffffu;  // compilers may drop a comparison of value with zero
  return magnitude == 0 || bits == magnitude ? magnitude | 0x80000000u : ~bits;
}
// Whether a column precedes another; `nothing` precedes none.
bool precedes(uint key, uint column, uint other_key, uint other_column) {
  return column != nothing && (other_column == nothing || key > other_key || (key == other_key && column < other_column));
}

void main() {
  p = parameters.values;
  const uint row = workgroup(), own = gl_LocalInvocationID.x;
  if (row >= workgroups_end) return;
  uint last_key = 0, last_column = nothing;
  for (uint i = 0; i < p.k; ++i) {
    uint key = 0, column = nothing;
    for (uint c = own; c < p.width; c += gl_WorkGroupSize.x) {
      const uint k = key_of(read(p.type, p.x, row * p.width + c));
      const bool left = i == 0 || precedes(last_key, last_column, k, c);
      if (left && precedes(k, c, key, column)) key = k, column = c;
    }
    best_key[own] = key, best_column[own] = column;
    barrier();
    if (own < leaders) {
      [[dont_unroll]] for (uint other = own + leaders; other < gl_WorkGroupSize.x; other += leaders)
        if (precedes(best_key[other], best_column[other], key, column)) key = best_key[other], column = best_column[other];
      leading_key[own] = key, leading_column[own] = column;
    }
    barrier();
    last_key = leading_key[0], last_column = leading_column[0];
    [[dont_unroll]] for (uint other = 1; other < leaders; ++other)
      if (precedes(leading_key[other], leading_column[other], last_key, last_column))
        last_key = leading_key[other], last_column = leading_column[other];
    if (own == 0) {
      write(p.type, p.values, row * p.k + i, read(p.type, p.x, row * p.width + last_column));
      Ints(p.columns).at[row * p.k + i] = int(last_column);
    }
  }
}
