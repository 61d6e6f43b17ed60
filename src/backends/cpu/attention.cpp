#include <algorithm>
#include <cmath>

#include "backends/cpu/cpu_class.h"

// Attention in one pass over the keys with a running maximum and sum (Milakov & Gimelshein 2018; Dao et al. 2022). Lanes are
// queries: scores come out of the product tile as [keys][queries], so maximum, exponential and sum need no shuffles, and
// the weights are already the right side of the second product, which makes o [D][queries] from v transposed.
namespace hearth::cpu {
namespace {

// Keys of one head in blocks: k [S][D] and v transposed within each block [D][block].
struct Keys {
  int64_t S, D, block, stride;  // stride of a row of v: a little more than a block, or rows would fall into the same cache sets
  int64_t blocks() const { return (S + block - 1) / block; }
  int64_t k_size() const { return S * D; }
  int64_t v_size() const { return blocks() * D * stride; }
};

// A block of k and v takes at most half of L2. A function of D only: results must not depend on anything else.
int64_t block_of(int64_t D) { return std::clamp<int64_t>(49152 / D / 16 * 16, 64, 256); }

}  // namespace

void CpuBackend::attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionSpec& spec, Tensor& y) {
  if (k.size(2) != q.size(2) || v.size(3) != q.size(3) || spec.window > 0 || spec.soft_cap > 0 || spec.bias || spec.sinks ||
      !spec.key_lengths.empty())
    fail<UnsupportedError>(
        "attention: the backend cpu has no grouped heads, width of v other than that of k, window, soft cap, bias, sinks or "
        "key lengths");
  if (spec.factors == DType::bf16) return attention_bf16(q, k, v, spec, y);
  const float scale = spec.scale;
  const Mask mask = spec.mask;
  const Kernels& kernel = kernels_;
  const int64_t T = q.size(1), N = q.size(2), D = q.size(3), S = k.size(1), heads = q.size(0) * N, panel = kernel.panel;
  const Keys keys{
      .S = S, .D = D, .block = std::min(block_of(D), (S + 15) / 16 * 16), .stride = std::min(block_of(D), (S + 15) / 16 * 16) + 16};
  const auto at = [](const Tensor& x, int64_t b, int64_t t, int64_t n) {
    return x.raw() + (b * x.stride(0) + t * x.stride(1) + n * x.stride(2)) * int64_t(size_of(x.dtype()));
  };

  const auto k_store = memory_->allocate(size_t(heads * keys.k_size()) * sizeof(float));
  const auto v_store = memory_->allocate(size_t(heads * keys.v_size()) * sizeof(float));
  auto* const k_all = reinterpret_cast<float*>(k_store.get());
  auto* const v_all = reinterpret_cast<float*>(v_store.get());

  pool_.run(heads * keys.blocks(), [&](int64_t piece) {
    const int64_t head = piece / keys.blocks(), block = piece % keys.blocks(), b = head / N, n = head % N;
    const int64_t s0 = block * keys.block, s1 = std::min(S, s0 + keys.block);
    float* rows = thread_scratch(size_t(keys.block * D));
    for (int64_t s = s0; s < s1; ++s) {
      float* to = k_all + head * keys.k_size() + s * D;
      if (const float* from = widened(kernel, k.dtype(), at(k, b, s, n), D, to); from != to) std::copy_n(from, D, to);
      to = rows + (s - s0) * D;
      if (const float* from = widened(kernel, v.dtype(), at(v, b, s, n), D, to); from != to) std::copy_n(from, D, to);
    }
    kernel.transpose(rows, D, s1 - s0, D, 1, v_all + head * keys.v_size() + block * D * keys.stride, keys.stride);
  });

  // A piece of work: up to four panels of queries of one head, so that a block of keys is used while it is in L2.
  const int64_t panels = (T + panel - 1) / panel;
  int64_t group = 4;
  while (group > 1 && heads * ((panels + group - 1) / group) < 6 * pool_.size()) group /= 2;
  const int64_t groups = (panels + group - 1) / group;

  pool_.run(heads * groups, [&](int64_t piece) {
    const int64_t head = piece / groups, b = head / N, n = head % N, panel0 = piece % groups * group,
                  panel1 = std::min(panels, panel0 + group);
    const int64_t query_size = D * panel, state_size = 2 * query_size + 2 * panel;
    float* scores = thread_scratch(size_t(keys.block * panel + query_size + group * state_size));
    float* rows = scores + keys.block * panel;  // [panel][D]
    float* state = rows + query_size;
    const auto queries_of = [&](int64_t p) { return state + (p - panel0) * state_size; };   // [D][panel], scaled
    const auto output_of = [&](int64_t p) { return queries_of(p) + query_size; };           // [D][panel]
    const auto maximum_of = [&](int64_t p) { return queries_of(p) + 2 * query_size; };      // [panel]
    const auto sum_of = [&](int64_t p) { return queries_of(p) + 2 * query_size + panel; };  // [panel]

    for (int64_t p = panel0; p < panel1; ++p) {
      const int64_t t0 = p * panel, count = std::min(panel, T - t0);
      for (int64_t t = 0; t < count; ++t) {
        float* to = rows + t * D;
        if (const float* from = widened(kernel, q.dtype(), at(q, b, t0 + t, n), D, to); from != to) std::copy_n(from, D, to);
      }
      std::fill_n(queries_of(p), 2 * query_size, 0.0f);
      kernel.transpose(rows, D, count, D, scale, queries_of(p), panel);
      std::fill_n(maximum_of(p), panel, -INFINITY);
      std::fill_n(sum_of(p), panel, 0.0f);
    }

    Segment segment;
    const auto tiles = [&](int64_t count, const auto& row_of, int64_t length, const float* right, float* to, bool add) {
      const int64_t parts = (count + kernel.tile_rows - 1) / kernel.tile_rows;
      segment.length = length;
      for (int64_t i = 0; i < parts; ++i) {
        const int64_t r0 = count * i / parts, r1 = count * (i + 1) / parts;
        for (int64_t r = r0; r < r1; ++r) segment.row[r - r0] = row_of(r);
        kernel.tile(r1 - r0, true, &segment, 1, right, to + r0 * panel, add);
      }
    };

    for (int64_t s0 = 0; s0 < S; s0 += keys.block) {
      const int64_t count = std::min(keys.block, S - s0);
      const float* k_block = k_all + head * keys.k_size() + s0 * D;
      const float* v_block = v_all + head * keys.v_size() + s0 / keys.block * D * keys.stride;
      for (int64_t p = panel0; p < panel1; ++p) {
        // Under the causal mask the panel's queries t0, t0 + 1, … all see the first `open` keys; the rest up to `seen` is a triangle.
        const int64_t t0 = p * panel, seen = mask == Mask::causal ? std::min(count, std::min(T, t0 + panel) - s0) : count;
        const int64_t open = mask == Mask::causal ? std::clamp<int64_t>(t0 + 1 - s0, 0, count) : count;
        if (seen <= 0) continue;
        tiles(
            seen, [&](int64_t s) { return k_block + s * D; }, D, queries_of(p), scores, false);
        for (int64_t s = open; s < seen; ++s) std::fill_n(scores + s * panel, s0 + s - t0, -INFINITY);
        kernel.softmax_block(scores, seen, maximum_of(p), sum_of(p), output_of(p), D);
        if (open > 0)
          tiles(
              D, [&](int64_t d) { return v_block + d * keys.stride; }, open, scores, output_of(p), true);
        if (open < seen)
          kernel.causal_rows(scores + open * panel, seen - open, s0 + open - t0, v_block + open, keys.stride, output_of(p), D);
      }
    }

    for (int64_t p = panel0; p < panel1; ++p) {
      const int64_t t0 = p * panel, count = std::min(panel, T - t0);
      kernel.transpose(output_of(p), panel, D, count, 1, rows, D);
      for (int64_t t = 0; t < count; ++t) {
        kernel.scale(rows + t * D, 1 / sum_of(p)[t], D, rows + t * D);
        std::byte* to = y.raw() + size_t(((b * T + t0 + t) * N + n) * D) * size_of(y.dtype());
        if (y.dtype() == DType::f32) std::copy_n(rows + t * D, D, reinterpret_cast<float*>(to));
        else narrowed(kernel, rows + t * D, D, y.dtype(), to);
      }
    }
  });
}

}  // namespace hearth::cpu
