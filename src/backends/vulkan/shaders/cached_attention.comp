#version 460
#extension GL_GOOGLE_include_directive : require
// Attention of a text's queries to its cached keys and values: a workgroup has `queries` of them, of one head, and goes over the keys in
// blocks of 128 positions, which begin at multiples of 128: so a query has the same bits among others as alone.
#extension GL_EXT_control_flow_attributes : require
#include "types.glsl"

#include "functions.glsl"

layout(local_size_x = 128) in;
layout(constant_id = 0) const uint own_columns = 1;  // columns of v of an invocation: a 128th of them
layout(constant_id = 1) const uint queries = 1;
layout(constant_id = 2) const uint deepest = 256;  // at least D
layout(constant_id = 3) const uint k_type = F32;
layout(constant_id = 4) const uint v_type = F32;
struct Parameters {
  uint64_t q, k, v, y, pages, sinks;  // 0: none
  uint N, G, D, Dv, slots, first, window, page, q_row;  // slots: rows of k; first: position of the first query; q_row: its row of q
  uint v_row, v_head, count;                            // steps of v; queries of the text
  float scale, soft_cap;
};
PARAMETERS;

const uint Q8_0 = 19;  // as in core/dtype.h

// Bytes of `values` elements of a cached type; element i of the row at x.
uint64_t row_bytes(uint type, uint64_t values) { return type == Q8_0 ? values / 32 * 34 : values * (type == F32 ? 4 : 2); }
float cached(uint type, uint64_t x, uint i) {
  if (type != Q8_0) return read(type, x, i);
  const uint64_t block = x + i / 32 * 34;
  return f16_to_f32(uint(Halves(block).at[0])) * float(int8_t(Bytes(block + 2).at[i % 32]));
}

uint slot_of(uint position) {
  if (p.pages == 0) return position % p.slots;
  return uint(Ints(p.pages).at[position / p.page]) * p.page + position % p.page;
}

const uint keys = 128, leaders = 16;  // of a block; invocations that combine the values of a query
shared float query[queries * deepest], weights[queries * keys], combined[queries * leaders];
shared float maximum[queries], sum[queries], rescale[queries];
shared uint slots[keys];

float larger(float a, float b) { return isnan(a) || a > b ? a : b; }  // NaN if one is

// Position of a query of the workgroup; the first one that it attends to.
uint position_of(uint query) { return p.first + workgroup() / p.N * queries + query; }
uint first_of(uint position) { return p.window != 0 && position + 1 > p.window ? position + 1 - p.window : 0; }

void main() {
  p = parameters.values;
  if (workgroup() >= workgroups_end) return;
  const uint own = gl_LocalInvocationID.x, n = workgroup() % p.N, t0 = workgroup() / p.N * queries, g = n / (p.N / p.G);
  const uint here = min(queries, p.count - t0), last = position_of(here - 1);
  [[dont_unroll]] for (uint i = own; i < here * p.D; i += 128)
    query[i / p.D * deepest + i % p.D] = read_f32(p.q, ((p.q_row + t0 + i / p.D) * p.N + n) * p.D + i % p.D) * p.scale;
  if (own < queries) {
    maximum[own] = p.sinks != 0 ? read_f32(p.sinks, n) : -infinity;
    sum[own] = p.sinks != 0 ? 1.0 : 0.0;
  }
  float outputs[queries * own_columns];
  for (uint i = 0; i < queries * own_columns; ++i) outputs[i] = 0;
  barrier();

  [[dont_unroll]] for (uint s0 = first_of(position_of(0)) / keys * keys; s0 <= last; s0 += keys) {
    const uint s = s0 + own;
    float scores[queries];
    for (uint i = 0; i < queries; ++i) scores[i] = 0;
    if (s <= last && s >= first_of(position_of(0))) {
      const uint slot = slot_of(s);
      slots[own] = slot;
      const uint64_t key = p.k + uint64_t(slot * p.G + g) * row_bytes(k_type, p.D);
      [[dont_unroll]] for (uint d0 = 0; d0 < p.D; d0 += 32) {
        float part[queries];
        for (uint i = 0; i < queries; ++i) part[i] = 0;
        [[dont_unroll]] for (uint d = d0; d < min(d0 + 32, p.D); ++d) {
          const float value = cached(k_type, key, d);
          for (uint i = 0; i < queries; ++i) part[i] = fma(query[i * deepest + d], value, part[i]);
        }
        for (uint i = 0; i < queries; ++i) scores[i] += part[i];
      }
    }
    for (uint i = 0; i < queries; ++i) {
      if (p.soft_cap > 0) scores[i] = p.soft_cap * exact_tanh(scores[i] / p.soft_cap);
      if (s > position_of(i) || s < first_of(position_of(i))) scores[i] = -infinity;
      weights[i * keys + own] = scores[i];
    }
    barrier();
    if (own < queries * leaders) {
      float largest = -infinity;
      [[dont_unroll]] for (uint key = own % leaders; key < keys; key += leaders) largest = larger(largest, weights[own / leaders * keys + key]);
      combined[own] = largest;
    }
    barrier();
    if (own < queries) {
      float highest = maximum[own];
      [[dont_unroll]] for (uint i = 0; i < leaders; ++i) highest = larger(highest, combined[own * leaders + i]);
      rescale[own] = highest == -infinity ? 1.0 : exact_exp(maximum[own] - highest);
      maximum[own] = highest;
    }
    barrier();
    for (uint i = 0; i < queries; ++i) weights[i * keys + own] = scores[i] == -infinity ? 0.0 : exact_exp(scores[i] - maximum[i]);
    barrier();
    if (own < queries * leaders) {
      float total = 0;
      [[dont_unroll]] for (uint key = own % leaders; key < keys; key += leaders) total += weights[own / leaders * keys + key];
      combined[own] = total;
    }
    barrier();
    if (own < queries) {
      float total = 0;
      [[dont_unroll]] for (uint i = 0; i < leaders; ++i) total += combined[own * leaders + i];
      sum[own] = fma(sum[own], rescale[own], total);
    }
    const uint begin = max(s0, first_of(position_of(0))), end = min(s0 + keys, last + 1);
    for (uint c = 0; c < own_columns; ++c) {
      const uint d = own + c * 128;
      if (d >= p.Dv) continue;
      float block_sums[queries];
      for (uint i = 0; i < queries; ++i) block_sums[i] = 0;
      [[dont_unroll]] for (uint key = begin; key < end; ++key) {
        const float value = cached(v_type, p.v + row_bytes(v_type, uint64_t(slots[key - s0]) * p.v_row + g * p.v_head), d);
        for (uint i = 0; i < queries; ++i)  // values that a query does not attend to may be infinite
          if (key <= position_of(i) && key >= first_of(position_of(i))) block_sums[i] = fma(weights[i * keys + key - s0], value, block_sums[i]);
      }
      for (uint i = 0; i < queries; ++i) outputs[i * own_columns + c] = fma(outputs[i * own_columns + c], rescale[i], block_sums[i]);
    }
    barrier();
  }
  for (uint c = 0; c < own_columns; ++c) {
    const uint d = own + c * 128;
    for (uint i = 0; i < queries; ++i)
      if (d < p.Dv && i < here)
        Floats(p.y).at[((p.q_row + t0 + i) * p.N + n) * p.Dv + d] = sum[i] == 0.0 ? 0.0 : outputs[i * own_columns + c] / sum[i];
  }
}
