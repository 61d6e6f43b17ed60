#include <algorithm>
#include <cmath>
#include <cstring>

#include "backends/cpu/bf16.h"
#include "backends/cpu/cpu_class.h"

// The twin of attention.cpp for bf16 factors. Rows are queries: a block of 32 queries × 32 keys comes out of the tiles, the softmax
// runs along each row in f32, and its weights, rounded to bf16, are the left side of the second product.
namespace hearth::cpu {
namespace {

constexpr int64_t key_block = 256;  // keys between two corrections of the running sums

int64_t padded(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }

// One head: k as right side of the first product [panel of 32 keys][depth / 2][32][2], v of the second [panel of D][keys / 2][columns][2].
struct PackedHead {
  PackedHead(int64_t keys_, int64_t D_, int64_t unit) : keys(padded(keys_, 32)), D(D_), depth(padded(D_, unit)), width(padded(D_, 16)) {}
  int64_t size() const { return keys * depth + keys * width; }
  int64_t panels() const { return (D + bf16_panel - 1) / bf16_panel; }
  bool wide(int64_t p) const { return width - p * bf16_panel > bf16_panel / 2; }

  const uint16_t* k(const uint16_t* head, int64_t key) const { return head + key * depth; }  // of a panel: key a multiple of 32
  const uint16_t* v(const uint16_t* head, int64_t p, int64_t key) const {                    // key even
    return head + keys * depth + p * bf16_panel * keys + key * (wide(p) ? bf16_panel : bf16_panel / 2);
  }

  int64_t keys, D, depth, width;
};

}  // namespace

void CpuBackend::attention_bf16(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionSpec& spec, Tensor& y) {
  const float scale = spec.scale;
  const Mask mask = spec.mask;
  const Kernels& kernel = kernels_;
  const Bf16Kernels& bf16 = *kernel.bf16;
  const int64_t T = q.size(1), N = q.size(2), D = q.size(3), S = k.size(1), heads = q.size(0) * N;
  const PackedHead head(S, D, bf16.depth);
  const auto at = [](const Tensor& x, int64_t b, int64_t t, int64_t n) {
    return x.raw() + (b * x.stride(0) + t * x.stride(1) + n * x.stride(2)) * int64_t(size_of(x.dtype()));
  };
  const auto memory = memory_->allocate(size_t(heads * head.size()) * sizeof(uint16_t));
  auto* const packed = reinterpret_cast<uint16_t*>(memory.get());

  const int64_t key_panels = head.keys / bf16_panel;
  pool_.run(heads * key_panels, [&](int64_t piece) {
    const int64_t index = piece / key_panels, b = index / N, n = index % N, s0 = piece % key_panels * bf16_panel;
    uint16_t* const own = packed + index * head.size();
    float* const wide = thread_scratch(size_t(D + head.depth + head.width));
    auto* const row = reinterpret_cast<uint16_t*>(wide + D);  // padded with zeros
    auto* const k_to = const_cast<uint16_t*>(head.k(own, s0));
    for (int64_t s = s0; s < s0 + bf16_panel; ++s) {
      std::fill_n(row, std::max(head.depth, head.width), uint16_t(0));
      if (s < S) kernel.round_bf16(widened(kernel, k.dtype(), at(k, b, s, n), D, wide), D, row);
      for (int64_t d = 0; d < head.depth; d += 2) std::memcpy(k_to + (d / 2 * bf16_panel + s - s0) * 2, row + d, 2 * sizeof(uint16_t));
      std::fill_n(row, std::max(head.depth, head.width), uint16_t(0));
      if (s < S) kernel.round_bf16(widened(kernel, v.dtype(), at(v, b, s, n), D, wide), D, row);
      for (int64_t p = 0; p < head.panels(); ++p) {
        auto* const v_to = const_cast<uint16_t*>(head.v(own, p, s / 2 * 2)) + s % 2;
        const int64_t columns = std::min(bf16_panel, head.width - p * bf16_panel);
        for (int64_t d = 0; d < columns; ++d) v_to[2 * d] = row[p * bf16_panel + d];
      }
    }
  });

  // A piece of work: some blocks of 32 queries of one head, so that a block of keys is used while it is in L2.
  const int64_t blocks = (T + bf16_rows - 1) / bf16_rows;
  int64_t group = 4;
  while (group > 1 && heads * ((blocks + group - 1) / group) < 6 * pool_.size()) group /= 2;
  const int64_t groups = (blocks + group - 1) / group;

  pool_.run(heads * groups, [&](int64_t piece) {
    const int64_t index = piece / groups, b = index / N, n = index % N, block0 = piece % groups * group,
                  block1 = std::min(blocks, block0 + group);
    const uint16_t* const own = packed + index * head.size();
    const int64_t query_size = bf16_rows * head.depth / 2, output_size = bf16_rows * head.width,
                  state_size = query_size + output_size + 2 * bf16_rows;
    float* const scores = thread_scratch(size_t(bf16_rows * key_block * 3 / 2 + head.depth + group * state_size));
    auto* const weights = reinterpret_cast<uint16_t*>(scores + bf16_rows * key_block);
    float* const wide = scores + bf16_rows * key_block * 3 / 2;  // a row of q
    float* const state = wide + head.depth;
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
        kernel.scale(from, scale, D, wide);
        kernel.round_bf16(wide, D, queries_of(i) + (t - i * bf16_rows) * head.depth);
      }
      std::fill_n(output_of(i), output_size, 0.0f);
      std::fill_n(maximum_of(i), bf16_rows, -INFINITY);
      std::fill_n(sum_of(i), bf16_rows, 0.0f);
    }

    bf16.begin();
    for (int64_t s0 = 0; s0 < S; s0 += key_block)
      for (int64_t i = block0; i < block1; ++i) {
        const int64_t t0 = i * bf16_rows, rows = std::min(bf16_rows, T - t0);
        const int64_t seen = std::min({key_block, S - s0, mask == Mask::causal ? t0 + rows - s0 : key_block});  // by the last query
        if (seen <= 0) continue;
        const int64_t keys = padded(seen, bf16_panel);
        int64_t visible[bf16_rows];
        for (int64_t r = 0; r < rows; ++r) visible[r] = mask == Mask::causal ? std::clamp<int64_t>(t0 + r + 1 - s0, 0, seen) : seen;

        const uint16_t* const queries = queries_of(i);
        const Bf16Run left{.half = {queries, queries + 16 * head.depth}, .stride = {head.depth, head.depth}, .length = head.depth};
        for (int64_t s = 0; s < keys; s += bf16_panel)
          bf16.block(rows, true, &left, 1, head.k(own, s0 + s), {scores + s, key_block, bf16_panel / 2}, false);
        kernel.softmax_rows(scores, key_block, rows, keys, visible, maximum_of(i), sum_of(i), output_of(i), head.width, weights);
        const Bf16Run probabilities{.half = {weights, weights + 16 * key_block}, .stride = {key_block, key_block}, .length = keys};
        for (int64_t p = 0; p < head.panels(); ++p)
          bf16.block(rows, head.wide(p), &probabilities, 1, head.v(own, p, s0), {output_of(i) + p * bf16_panel, head.width, bf16_panel / 2},
                     true);
      }
    bf16.end();

    for (int64_t i = block0; i < block1; ++i)
      for (int64_t t = i * bf16_rows; t < std::min(T, (i + 1) * bf16_rows); ++t) {
        float* const row = output_of(i) + (t - i * bf16_rows) * head.width;
        kernel.scale(row, 1 / sum_of(i)[t - i * bf16_rows], D, row);
        std::byte* const to = y.raw() + size_t(((b * T + t) * N + n) * D) * size_of(y.dtype());
        narrowed(kernel, row, D, y.dtype(), to);
      }
  });
}

}  // namespace hearth::cpu
