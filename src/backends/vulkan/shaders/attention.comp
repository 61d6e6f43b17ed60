#version 460
#extension GL_GOOGLE_include_directive : require
// Attention with an online softmax: a workgroup has `queries` queries of one head, and goes over the keys in blocks.
#extension GL_EXT_control_flow_attributes : require
#include "types.glsl"

#include "functions.glsl"

layout(local_size_x = 128) in;
layout(constant_id = 0) const uint own_columns = 1;  // columns of v of an invocation: a 128th of them
struct Parameters {
  uint64_t q, k, v, y, bias, lengths, sinks;  // 0: none
  uint query_blocks, T, S, N, G, D, Dv;
  uint q_step[3], k_step[3], v_step[3];  // image, token, head
  uint bias_step[3];                     // image, head, query; 0: the same for all
  uint causal, window;
  float scale, soft_cap;
  uint q_type, k_type, v_type, y_type;
  uint rounds;  // factors to bf16
};
PARAMETERS;

const uint queries = 16, keys = 32, piece = 32;  // of a block; of the depth
const uint stride = piece / 4 + 1;               // between rows in shared memory

// A piece of queries and of keys, a row each; weights [key][query], of four queries each.
shared vec4 query_piece[queries * stride], key_piece[keys * stride], weights[keys * queries / 4];
shared float maximum[queries], sum[queries], rescale[queries];

float weight_at(uint key, uint query) { return weights[key * queries / 4 + query / 4][query % 4]; }

// Four values of a row at x, and zeros from the `count`-th on.
vec4 read_four(uint type, uint64_t x, uint i, uint count) {
  vec4 values = vec4(0);
  [[dont_unroll]] for (uint j = 0; j < 4; ++j) values = vec4(values.yzw, j < count ? read(type, x, i + j) : 0.0);
  return values;
}

void main() {
  p = parameters.values;
  if (workgroup() >= workgroups_end) return;
  const uint own = gl_LocalInvocationID.x, t0 = workgroup() % p.query_blocks * queries, head = workgroup() / p.query_blocks;
  const uint b = head / p.N, n = head % p.N, g = n / (p.N / p.G);
  const uint length = p.lengths != 0 ? uint(Ints(p.lengths).at[b]) : p.S;
  const uint q0 = b * p.q_step[0] + n * p.q_step[2], k0 = b * p.k_step[0] + g * p.k_step[2], v0 = b * p.v_step[0] + g * p.v_step[2];

  // Keys that any of the queries attends to.
  const uint last_query = min(t0 + queries, p.T) - 1;
  uint last = p.causal != 0 ? min(length, last_query + 1) : length;
  if (p.window != 0) last = min(last, last_query + p.window);
  const uint first = p.window != 0 && t0 + 1 > p.window ? (t0 + 1 - p.window) / keys * keys : 0;

  if (own < queries) {
    const float sink = p.sinks != 0 ? read_f32(p.sinks, n) : -infinity;
    maximum[own] = sink;
    sum[own] = p.sinks != 0 ? 1.0 : 0.0;
  }
  vec4 outputs[queries / 4 * own_columns];
  for (uint i = 0; i < queries / 4 * own_columns; ++i) outputs[i] = vec4(0);

  const uint own_key = own % keys, own_four = own / keys;  // four queries, and a key
  [[dont_unroll]] for (uint s0 = first; s0 < last; s0 += keys) {
    vec4 scores = vec4(0);
    [[dont_unroll]] for (uint d0 = 0; d0 < p.D; d0 += piece) {
      barrier();
      [[dont_unroll]] for (uint i = own; i < (queries + keys) * piece / 4; i += 128) {
        const bool is_query = i < queries * piece / 4;
        const uint j = is_query ? i : i - queries * piece / 4, row = j / (piece / 4), d = d0 + j % (piece / 4) * 4;
        const uint left = d < p.D ? p.D - d : 0;
        vec4 four = vec4(0);
        if (is_query && t0 + row < p.T) four = read_four(p.q_type, p.q, q0 + (t0 + row) * p.q_step[1] + d, left) * p.scale;
        if (!is_query && s0 + row < last) four = read_four(p.k_type, p.k, k0 + (s0 + row) * p.k_step[1] + d, left);
        if (p.rounds != 0) four = as_bf16(four);
        if (is_query) query_piece[row * stride + j % (piece / 4)] = four;
        else key_piece[row * stride + j % (piece / 4)] = four;
      }
      barrier();
      vec4 part = vec4(0);
      [[dont_unroll]] for (uint d = 0; d < piece / 4; ++d) {
        const vec4 key = key_piece[own_key * stride + d];
        for (uint i = 0; i < 4; ++i) {
          const vec4 query = query_piece[(own_four * 4 + i) * stride + d];
          for (uint j = 0; j < 4; ++j) part[i] = fma(query[j], key[j], part[i]);
        }
      }
      scores += part;
    }
    for (uint i = 0; i < 4; ++i) {
      const uint t = t0 + own_four * 4 + i, s = s0 + own_key;
      bool seen = t < p.T && s < last && (p.causal == 0 || s <= t);
      if (p.window != 0) seen = seen && s + p.window > t && s < t + p.window;
      if (p.soft_cap > 0) scores[i] = p.soft_cap * exact_tanh(scores[i] / p.soft_cap);
      if (p.bias != 0 && seen) scores[i] += read_f32(p.bias, b * p.bias_step[0] + n * p.bias_step[1] + t * p.bias_step[2] + s);
      if (!seen) scores[i] = -infinity;
    }
    weights[own_key * queries / 4 + own_four] = scores;
    barrier();
    if (own < queries) {
      float highest = maximum[own];
      bool undefined = isnan(highest);
      [[dont_unroll]] for (uint key = 0; key < keys; ++key) {
        const float score = weight_at(key, own);
        undefined = undefined || isnan(score);
        highest = max(highest, score);
      }
      if (undefined) highest = uintBitsToFloat(0x7fc00000u);
      rescale[own] = highest == -infinity ? 1.0 : exact_exp(maximum[own] - highest);
      maximum[own] = highest;
    }
    barrier();
    for (uint i = 0; i < 4; ++i) scores[i] = scores[i] == -infinity ? 0.0 : exact_exp(scores[i] - maximum[own_four * 4 + i]);
    key_piece[own_key * queries / 4 + own_four] = scores;  // for their sum
    weights[own_key * queries / 4 + own_four] = p.rounds != 0 ? as_bf16(scores) : scores;
    barrier();
    if (own < queries) {
      float block_sum = 0;
      [[dont_unroll]] for (uint key = 0; key < keys; ++key) block_sum += key_piece[key * queries / 4 + own / 4][own % 4];
      sum[own] = fma(sum[own], rescale[own], block_sum);
    }
    for (uint c = 0; c < own_columns; ++c) {
      const uint d = own + c * 128;
      if (d >= p.Dv) continue;
      vec4 block_sums[queries / 4];
      for (uint i = 0; i < queries / 4; ++i) block_sums[i] = vec4(0);
      [[dont_unroll]] for (uint key = 0; key < min(keys, last - s0); ++key) {
        float value = read(p.v_type, p.v, v0 + (s0 + key) * p.v_step[1] + d);
        if (p.rounds != 0) value = as_bf16(value);
        for (uint i = 0; i < queries / 4; ++i) {  // a weight of zero must not be multiplied with an infinite value
          const vec4 weight = weights[key * queries / 4 + i], more = fma(weight, vec4(value), block_sums[i]);
          block_sums[i] = mix(block_sums[i], more, notEqual(weight, vec4(0)));
        }
      }
      for (uint i = 0; i < queries / 4; ++i) {
        const vec4 factor = vec4(rescale[4 * i], rescale[4 * i + 1], rescale[4 * i + 2], rescale[4 * i + 3]);
        outputs[i * own_columns + c] = fma(outputs[i * own_columns + c], factor, block_sums[i]);
      }
    }
  }
  barrier();
  for (uint c = 0; c < own_columns; ++c) {
    const uint d = own + c * 128;
    [[dont_unroll]] for (uint query = 0; query < queries; ++query) {
      const float value = outputs[c].x;
      outputs[c] = outputs[c].yzwx;
      if (query % 4 == 3)  // the next four
        for (uint i = 0; i + 1 < queries / 4; ++i) outputs[i * own_columns + c] = outputs[(i + 1) * own_columns + c];
      const uint t = t0 + query;
      if (d < p.Dv && t < p.T) write(p.y_type, p.y, ((b * p.T + t) * p.N + n) * p.Dv + d, sum[query] == 0.0 ? 0.0 : value / sum[query]);
    }
  }
}
