#include <algorithm>
#include <cmath>
#include <cstring>

#include "backends/cpu/attention/attention_keys.h"
#include "backends/cpu/cpu_class.h"
#include "backends/cpu/products/bf16.h"
#include "backends/cpu/whole_units.h"

// The counterpart of attention.cpp for bf16 factors. Rows are queries: the tiles yield a block of 32 queries × 32 keys, the softmax
// runs along each row in f32, and its weights, rounded to bf16, are the left side of the second product.
namespace hearth::cpu {
namespace {

constexpr int64_t key_block = 256;  // keys between two rescalings of the running sums

// One group of heads: k as the right side of the first product [panel of 32 keys][depth / 2][32][2], v of the second
// [panel of Dv][keys / 2][columns][2].
struct PackedHead {
  PackedHead(int64_t keys_, int64_t D, int64_t Dv_, int64_t unit)
      : keys(padded(keys_, 32)), Dv(Dv_), depth(padded(D, unit)), width(padded(Dv_, 16)) {}
  int64_t size() const { return keys * depth + keys * width; }
  int64_t panels() const { return (Dv + bf16_panel - 1) / bf16_panel; }
  bool wide(int64_t p) const { return width - p * bf16_panel > bf16_panel / 2; }

  const uint16_t* k(const uint16_t* head, int64_t key) const { return head + key * depth; }  // of a panel: key a multiple of 32
  const uint16_t* v(const uint16_t* head, int64_t p, int64_t key) const {                    // key even
    return head + keys * depth + p * bf16_panel * keys + key * (wide(p) ? bf16_panel : bf16_panel / 2);
  }

  int64_t keys, Dv, depth, width;
};

}  // namespace

void CpuBackend::attention_bf16(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionSpec& spec, Tensor& y) {
  const Kernels& kernel = kernels_;
  const Bf16Kernels& bf16 = *kernel.bf16;
  const int64_t T = q.size(1), N = q.size(2), D = q.size(3), S = k.size(1), G = k.size(2), Dv = v.size(3), heads = q.size(0) * N;
  const PackedHead head(S, D, Dv, bf16.depth);
  const Visibility visible(spec, S);
  const BiasRows bias(spec.bias);
  const auto at = [](const Tensor& x, int64_t b, int64_t t, int64_t n) {
    return x.raw() + (b * x.stride(0) + t * x.stride(1) + n * x.stride(2)) * int64_t(size_of(x.dtype()));
  };
  const auto memory = memory_->allocate(size_t(q.size(0) * G * head.size()) * sizeof(uint16_t));
  auto* const packed = reinterpret_cast<uint16_t*>(memory.get());

  const int64_t key_panels = head.keys / bf16_panel;
  // If queries attend to different keys: whether a panel of v is finite, by Σ v².
  const bool hides = spec.mask == Mask::causal || spec.window > 0 || bias;
  const auto squares_store = hides ? memory_->allocate(size_t(q.size(0) * G * key_panels) * sizeof(float)) : nullptr;
  auto* const squares = reinterpret_cast<float*>(squares_store.get());
  pool_.run(q.size(0) * G * key_panels, [&](int64_t piece) {
    const int64_t index = piece / key_panels, b = index / G, g = index % G, length = visible.length(b),
                  s0 = piece % key_panels * bf16_panel;
    uint16_t* const own = packed + index * head.size();
    float* const wide = thread_scratch(size_t(std::max(D, Dv) + head.depth + head.width));
    auto* const row = reinterpret_cast<uint16_t*>(wide + std::max(D, Dv));  // padded with zeros
    auto* const k_to = const_cast<uint16_t*>(head.k(own, s0));
    float sum = 0;
    for (int64_t s = s0; s < s0 + bf16_panel; ++s) {
      std::fill_n(row, std::max(head.depth, head.width), uint16_t(0));
      if (s < length) kernel.round_bf16(widened(kernel, k.dtype(), at(k, b, s, g), D, wide), D, row);
      for (int64_t d = 0; d < head.depth; d += 2) std::memcpy(k_to + (d / 2 * bf16_panel + s - s0) * 2, row + d, 2 * sizeof(uint16_t));
      std::fill_n(row, std::max(head.depth, head.width), uint16_t(0));
      if (s < length) {
        const float* const values = widened(kernel, v.dtype(), at(v, b, s, g), Dv, wide);
        kernel.round_bf16(values, Dv, row);
        if (hides) sum += kernel.squares(values, Dv);
      }
      for (int64_t p = 0; p < head.panels(); ++p) {
        auto* const v_to = const_cast<uint16_t*>(head.v(own, p, s / 2 * 2)) + s % 2;
        const int64_t columns = std::min(bf16_panel, head.width - p * bf16_panel);
        for (int64_t d = 0; d < columns; ++d) v_to[2 * d] = row[p * bf16_panel + d];
      }
    }
    if (hides) squares[piece] = sum;
  });

  // A piece of work: some blocks of 32 queries of one head, so that a block of keys is used while it is in L2.
  const int64_t blocks = (T + bf16_rows - 1) / bf16_rows;
  int64_t group = 4;
  while (group > 1 && heads * ((blocks + group - 1) / group) < 6 * pool_.size()) group /= 2;
  const int64_t groups = (blocks + group - 1) / group;

  pool_.run(heads * groups, [&](int64_t piece) {
    const int64_t index = piece / groups, b = index / N, n = index % N, block0 = piece % groups * group,
                  block1 = std::min(blocks, block0 + group);
    const uint16_t* const own = packed + (b * G + n / (N / G)) * head.size();
    const SoftmaxStart start(spec.sinks, n);
    const int64_t row_size = head.depth + 2 * head.width;
    const int64_t query_size = bf16_rows * head.depth / 2, output_size = bf16_rows * head.width,
                  state_size = query_size + output_size + 2 * bf16_rows;
    float* const scores = thread_scratch(size_t(bf16_rows * key_block * 3 / 2 + row_size + group * state_size));
    auto* const weights = reinterpret_cast<uint16_t*>(scores + bf16_rows * key_block);
    float* const wide = scores + bf16_rows * key_block * 3 / 2;  // a row of q or v
    float* const state = wide + row_size;
    const auto queries_of = [&](int64_t i) {
      return reinterpret_cast<uint16_t*>(state + (i - block0) * state_size);
    };                                                                                                 // [32][depth], scaled
    const auto output_of = [&](int64_t i) { return state + (i - block0) * state_size + query_size; };  // [32][width]
    const auto maximum_of = [&](int64_t i) { return output_of(i) + output_size; };                     // [32]
    const auto sum_of = [&](int64_t i) { return maximum_of(i) + bf16_rows; };                          // [32]

    for (int64_t i = block0; i < block1; ++i) {
      std::fill_n(queries_of(i), 2 * query_size, uint16_t(0));
      for (int64_t t = i * bf16_rows; t < std::min(T, (i + 1) * bf16_rows); ++t) {
        const float* from = widened(kernel, q.dtype(), at(q, b, t, n), D, wide);
        kernel.scale(from, spec.scale, D, wide);
        kernel.round_bf16(wide, D, queries_of(i) + (t - i * bf16_rows) * head.depth);
      }
      std::fill_n(output_of(i), output_size, 0.0f);
      std::fill_n(maximum_of(i), bf16_rows, start.sum > 0 ? start.maximum * float(M_LOG2E) : start.maximum);
      std::fill_n(sum_of(i), bf16_rows, start.sum);
    }

    bf16.begin();
    const KeyRange needed = visible.any(b, block0 * bf16_rows, std::min(T, block1 * bf16_rows));
    for (int64_t block = needed.first / key_block * key_block; block < needed.last; block += key_block)
      for (int64_t i = block0; i < block1; ++i) {
        const int64_t t0 = i * bf16_rows, rows = std::min(bf16_rows, T - t0);
        const KeyRange seen = visible.any(b, t0, t0 + rows).within(block, block + key_block);
        if (seen.empty()) continue;
        const int64_t s0 = seen.first / bf16_panel * bf16_panel, count = seen.last - s0, keys = padded(count, bf16_panel);

        const uint16_t* const queries = queries_of(i);
        const Bf16Run left{.half = {queries, queries + 16 * head.depth}, .stride = {head.depth, head.depth}, .length = head.depth};
        for (int64_t s = 0; s < keys; s += bf16_panel)
          bf16.block(rows, true, &left, 1, head.k(own, s0 + s), {scores + s, key_block, bf16_panel / 2}, false);
        int64_t last[bf16_rows];
        for (int64_t r = 0; r < rows; ++r) {
          float* const row = scores + r * key_block;
          if (spec.soft_cap > 0) kernel.soft_cap(row, count, spec.soft_cap);
          if (bias) kernel.add_scaled(bias.row(b, n, t0 + r) + s0, 1, count, row);
          const KeyRange own_keys = visible.of(b, t0 + r).within(s0, s0 + count);
          std::fill_n(row, own_keys.first - s0, -INFINITY);
          last[r] = own_keys.last - s0;
        }
        kernel.softmax_rows(scores, key_block, rows, keys, last, maximum_of(i), sum_of(i), output_of(i), head.width, weights);
        // A weight of zero must not be multiplied with an infinite value, so each row sums only the keys that it attends to.
        const float* const of_panels = squares + (b * G + n / (N / G)) * key_panels;
        if (hides &&
            !std::all_of(of_panels + s0 / bf16_panel, of_panels + (s0 + keys) / bf16_panel, [](float x) { return std::isfinite(x); })) {
          auto* const rounded = reinterpret_cast<uint16_t*>(wide + head.width);
          for (int64_t r = 0; r < rows; ++r) {
            kernel.widen_bf16(weights + r * key_block, keys, scores + r * key_block);
            for (int64_t s = 0; s < count; ++s) {
              if (scores[r * key_block + s] == 0) continue;
              kernel.round_bf16(widened(kernel, v.dtype(), at(v, b, s0 + s, n / (N / G)), Dv, wide), Dv, rounded);
              kernel.widen_bf16(rounded, Dv, wide);
              kernel.add_scaled(wide, scores[r * key_block + s], Dv, output_of(i) + r * head.width);
            }
          }
          continue;
        }
        const Bf16Run probabilities{.half = {weights, weights + 16 * key_block}, .stride = {key_block, key_block}, .length = keys};
        for (int64_t p = 0; p < head.panels(); ++p)
          bf16.block(rows, head.wide(p), &probabilities, 1, head.v(own, p, s0), {output_of(i) + p * bf16_panel, head.width, bf16_panel / 2},
                     true);
      }
    bf16.end();

    for (int64_t i = block0; i < block1; ++i)
      for (int64_t t = i * bf16_rows; t < std::min(T, (i + 1) * bf16_rows); ++t) {
        float* const row = output_of(i) + (t - i * bf16_rows) * head.width;
        const float sum = sum_of(i)[t - i * bf16_rows];
        kernel.scale(row, sum == 0 ? 0 : 1 / sum, Dv, row);
        std::byte* const to = y.raw() + size_t(((b * T + t) * N + n) * Dv) * size_of(y.dtype());
        narrowed(kernel, row, Dv, y.dtype(), to);
      }
  });
}

}  // namespace hearth::cpu
