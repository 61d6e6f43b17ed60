#include <algorithm>

#include "backends/split/split_class.h"

namespace hearth::split {
namespace {

Output writes(Tensor& y) { return {.y = &y}; }
Output updates(Tensor& y) { return {.y = &y, .updates = true}; }

template <class T> std::vector<T> list(std::span<const T> all) { return {all.begin(), all.end()}; }

}  // namespace

void Split::linear(const Tensor& x, const Weight& w, const Tensor& bias, const Epilogue& e, const GroupNormSpec& norm, Tensor& y) {
  run(&Backend::linear, x, w, bias, e, norm, writes(y));
}

// The products of each side together.
void Split::linears(const Tensor& x, std::span<LinearCall> calls) {
  for (const Side side : {Side::card, Side::host}) {
    const auto elsewhere = [side](const LinearCall& call) { return static_cast<const SplitWeight&>(*call.w.prepared).side != side; };
    if (std::ranges::all_of(calls, elsewhere)) continue;
    std::vector<Weight> weights;
    std::vector<Tensor> biases;
    std::vector<LinearCall> own;
    weights.reserve(calls.size()), biases.reserve(calls.size());
    const Choice to = choose({.weight = side});
    for (LinearCall& call : calls) {
      if (elsewhere(call)) continue;
      bring(weights.emplace_back(call.w), to);
      bring(biases.emplace_back(call.bias), to);
      Epilogue e = call.e;
      bring(e, to);
      own.push_back({weights.back(), biases.back(), std::move(e), written(call.y, side, false, false)});
    }
    at(side).linears(there(x, side), own);
  }
}

void Split::conv(const Tensor& x, const Weight& w, const Tensor& bias, const ConvSpec& spec, const Epilogue& e, const GroupNormSpec& norm,
                 Tensor& y) {
  run(&Backend::conv, x, w, bias, spec, e, norm, writes(y));
}

void Split::attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionSpec& spec, Tensor& y) {
  run(&Backend::attention, q, k, v, spec, writes(y));
}
void Split::cached_attention(const Tensor& q, std::span<const KeyValues> texts, const CachedAttentionSpec& spec, Tensor& y) {
  run(&Backend::cached_attention, q, list(texts), spec, writes(y));
}
void Split::rope(const Tensor& x, const Tensor& table, RotaryPairs pairs, Tensor& y) { run(&Backend::rope, x, table, pairs, writes(y)); }

void Split::group_norm(const Tensor& x, const GroupNormSpec& spec, Tensor& y) { run(&Backend::group_norm, x, spec, writes(y)); }
void Split::layer_norm(const Tensor& x, const NormSpec& spec, Tensor& y) { run(&Backend::layer_norm, x, spec, writes(y)); }
void Split::rms_norm(const Tensor& x, const NormSpec& spec, Tensor& y) { run(&Backend::rms_norm, x, spec, writes(y)); }

void Split::activate(const Tensor& x, Activation act, Tensor& y) { run(&Backend::activate, x, act, writes(y)); }
void Split::linear_combination(std::span<const Tensor> xs, std::span<const float> factors, Tensor& y) {
  run(&Backend::linear_combination, list(xs), factors, writes(y));
}
void Split::multiply(const Tensor& a, const Tensor& b, Tensor& y) { run(&Backend::multiply, a, b, writes(y)); }
void Split::affine(const Tensor& x, const Tensor& scale, const Tensor& shift, Tensor& y) {
  run(&Backend::affine, x, scale, shift, writes(y));
}

void Split::embedding(const Tensor& ids, const Tensor& table, Tensor& y) { run(&Backend::embedding, ids, table, writes(y)); }
void Split::top_k(const Tensor& x, Tensor& values, Tensor& columns) { run(&Backend::top_k, x, writes(values), writes(columns)); }
void Split::gather(const Tensor& x, const Tensor& rows, Tensor& y) { run(&Backend::gather, x, rows, writes(y)); }
void Split::scatter_add(const Tensor& x, const Tensor& rows, const Tensor& factors, Tensor& y) {
  run(&Backend::scatter_add, x, rows, factors, updates(y));
}

void Split::causal_conv(const Tensor& x, const Tensor& taps, const Tensor& bias, Activation act, Tensor& tail, Tensor& y) {
  run(&Backend::causal_conv, x, taps, bias, act, updates(tail), writes(y));
}
void Split::selective_scan(const Tensor& x, const Tensor& dt, const Tensor& a, const Tensor& b, const Tensor& c, const Tensor& d,
                           Tensor& state, Tensor& y) {
  run(&Backend::selective_scan, x, dt, a, b, c, d, updates(state), writes(y));
}
void Split::state_space_scan(const Tensor& x, const Tensor& dt, const Tensor& b, const Tensor& c, const StateSpaceSpec& spec, Tensor& state,
                             Tensor& y) {
  run(&Backend::state_space_scan, x, dt, b, c, spec, updates(state), writes(y));
}

void Split::linear_attention(const Tensor& q, const Tensor& k, const Tensor& v, float eps, Tensor& y) {
  run(&Backend::linear_attention, q, k, v, eps, writes(y));
}

void Split::copy(const Tensor& x, Tensor& y) { run(&Backend::copy, x, writes(y)); }
void Split::resize_nearest(const Tensor& x, Tensor& y) { run(&Backend::resize_nearest, x, writes(y)); }
void Split::pool(const Tensor& x, const PoolSpec& spec, Tensor& y) { run(&Backend::pool, x, spec, writes(y)); }

void Split::delta_rule(const DeltaRule& rule, Tensor& state, Tensor& y) { run(&Backend::delta_rule, rule, updates(state), writes(y)); }
void Split::add_weighted(const Tensor& base, const Tensor& q, const Tensor& k, const Tensor& u, const Tensor& v, Tensor& y) {
  run(&Backend::add_weighted, base, q, k, u, v, writes(y));
}
void Split::gated_scan(const Tensor& x, const Tensor& log_a, bool starts, Tensor& state, Tensor& y) {
  run(&Backend::gated_scan, x, log_a, starts, updates(state), writes(y));
}

}  // namespace hearth::split
