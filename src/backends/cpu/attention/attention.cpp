#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/cpu/attention/attention_keys.h"
#include "backends/cpu/cpu_class.h"

// Attention in one pass over the keys with a running maximum and sum (Milakov & Gimelshein 2018; Dao et al. 2022). Lanes are
// queries: the product tile yields scores as [keys][queries], so that maximum, exponential and sum need no shuffles, and
// the weights are already the right side of the second product, which yields o [Dv][queries] from v transposed.
namespace hearth::cpu {
namespace {

// Keys of one group of heads in blocks: k [S][D], and v transposed within each block, [Dv][block].
struct Keys {
  int64_t S, D, Dv, block, stride;  // stride of a row of v: slightly more than a block, so that rows fall into different cache sets
  int64_t blocks() const { return (S + block - 1) / block; }
  int64_t k_size() const { return S * D; }
  int64_t v_size() const { return blocks() * Dv * stride; }
};

// A block of k and v uses at most half of L2. A function of D only, because results must not depend on anything else.
int64_t block_of(int64_t D) { return std::clamp<int64_t>(49152 / D / 16 * 16, 64, 256); }

const std::byte* at(const Tensor& x, int64_t b, int64_t t, int64_t n) {
  return x.raw() + (b * x.stride(0) + t * x.stride(1) + n * x.stride(2)) * int64_t(size_of(x.dtype()));
}

}  // namespace

SoftmaxStart::SoftmaxStart(const Tensor& sinks, int64_t n) : maximum(std::numeric_limits<float>::lowest()), sum(0) {
  if (sinks && sinks.data<float>()[n] != -INFINITY) maximum = sinks.data<float>()[n], sum = 1;
}

void CpuBackend::attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionSpec& spec, Tensor& y) {
  if (spec.factors == DType::bf16) return attention_bf16(q, k, v, spec, y);
  const Kernels& kernel = kernels_;
  const int64_t T = q.size(1), N = q.size(2), D = q.size(3), S = k.size(1), G = k.size(2), Dv = v.size(3), heads = q.size(0) * N,
                panel = kernel.panel;
  const int64_t block = std::min(block_of(std::max(D, Dv)), (S + 15) / 16 * 16);
  const Keys keys{.S = S, .D = D, .Dv = Dv, .block = block, .stride = block + 16};
  const Visibility visible(spec, S);
  const BiasRows bias(spec.bias);

  const int64_t groups_of_heads = q.size(0) * G;
  const auto k_store = memory_->allocate(size_t(groups_of_heads * keys.k_size()) * sizeof(float));
  const auto v_store = memory_->allocate(size_t(groups_of_heads * keys.v_size()) * sizeof(float));
  const auto sizes_store = bias ? memory_->allocate(size_t(groups_of_heads * keys.blocks()) * sizeof(float)) : nullptr;
  auto* const k_all = reinterpret_cast<float*>(k_store.get());
  auto* const v_all = reinterpret_cast<float*>(v_store.get());
  auto* const squares_of_v = reinterpret_cast<float*>(sizes_store.get());  // of each block

  pool_.run(groups_of_heads * keys.blocks(), [&](int64_t piece) {
    const int64_t index = piece / keys.blocks(), b = index / G, g = index % G, s0 = piece % keys.blocks() * keys.block;
    const int64_t s1 = std::min(S, s0 + keys.block);
    float* rows = thread_scratch(size_t(keys.block * Dv));
    for (int64_t s = s0; s < s1; ++s) {
      float* to = k_all + index * keys.k_size() + s * D;
      if (const float* from = widened(kernel, k.dtype(), at(k, b, s, g), D, to); from != to) std::copy_n(from, D, to);
      to = rows + (s - s0) * Dv;
      if (const float* from = widened(kernel, v.dtype(), at(v, b, s, g), Dv, to); from != to) std::copy_n(from, Dv, to);
    }
    if (bias) squares_of_v[piece] = kernel.squares(rows, (s1 - s0) * Dv);
    kernel.transpose(rows, Dv, s1 - s0, Dv, 1, v_all + index * keys.v_size() + s0 * Dv / keys.block * keys.stride, keys.stride);
  });

  // A piece of work: up to four panels of queries of one head, so that a block of keys is used while it is in L2.
  const int64_t panels = (T + panel - 1) / panel;
  int64_t group = 4;
  while (group > 1 && heads * ((panels + group - 1) / group) < 6 * pool_.size()) group /= 2;
  const int64_t groups = (panels + group - 1) / group;

  pool_.run(heads * groups, [&](int64_t piece) {
    const int64_t head = piece / groups, b = head / N, n = head % N, panel0 = piece % groups * group,
                  panel1 = std::min(panels, panel0 + group), index = b * G + n / (N / G);
    const int64_t query_size = D * panel, output_size = Dv * panel, state_size = query_size + output_size + 2 * panel;
    const int64_t added_size = bias ? keys.block * panel : 0;
    float* scores = thread_scratch(size_t(keys.block * panel + added_size + std::max(D, Dv) * panel + group * state_size));
    float* added = scores + keys.block * panel;  // what the bias adds to the scores
    float* rows = added + added_size;            // [panel][D or Dv]
    float* state = rows + std::max(D, Dv) * panel;
    const auto queries_of = [&](int64_t p) { return state + (p - panel0) * state_size; };  // [D][panel], scaled
    const auto output_of = [&](int64_t p) { return queries_of(p) + query_size; };          // [Dv][panel]
    const auto maximum_of = [&](int64_t p) { return output_of(p) + output_size; };         // [panel]
    const auto sum_of = [&](int64_t p) { return maximum_of(p) + panel; };                  // [panel]
    const SoftmaxStart start(spec.sinks, n);

    for (int64_t p = panel0; p < panel1; ++p) {
      const int64_t t0 = p * panel, count = std::min(panel, T - t0);
      for (int64_t t = 0; t < count; ++t) {
        float* to = rows + t * D;
        if (const float* from = widened(kernel, q.dtype(), at(q, b, t0 + t, n), D, to); from != to) std::copy_n(from, D, to);
      }
      std::fill_n(queries_of(p), query_size + output_size, 0.0f);
      kernel.transpose(rows, D, count, D, spec.scale, queries_of(p), panel);
      std::fill_n(maximum_of(p), panel, start.maximum);
      std::fill_n(sum_of(p), panel, start.sum);
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

    const KeyRange needed = visible.any(b, panel0 * panel, std::min(T, panel1 * panel));
    for (int64_t s0 = needed.first / keys.block * keys.block; s0 < needed.last; s0 += keys.block) {
      const float* k_block = k_all + index * keys.k_size() + s0 * D;
      const float* v_block = v_all + index * keys.v_size() + s0 / keys.block * Dv * keys.stride;
      for (int64_t p = panel0; p < panel1; ++p) {
        // Keys s0 + first … that any of the panel's queries attends to, and the range among them that all attend to.
        const int64_t t0 = p * panel, t1 = std::min(T, t0 + panel), s1 = std::min(S, s0 + keys.block);
        const KeyRange seen = visible.any(b, t0, t1).within(s0, s1).from(s0);
        if (seen.empty()) continue;
        KeyRange open = visible.all(b, t0, t1).from(s0).within(seen.first, seen.last);
        if (open.empty()) open = {seen.last, seen.last};
        const auto for_partly_seen = [&](const auto& f) {
          if (seen.first < open.first) f(KeyRange{seen.first, open.first});
          if (open.last < seen.last) f(KeyRange{open.last, seen.last});
        };

        const int64_t count = seen.last - seen.first;
        float* const own = scores + seen.first * panel;
        tiles(
            count, [&](int64_t s) { return k_block + (seen.first + s) * D; }, D, queries_of(p), own, false);
        if (spec.soft_cap > 0) kernel.soft_cap(own, count * panel, spec.soft_cap);
        if (bias) {
          const float* from = bias.row(b, n, t0) + s0 + seen.first;
          if (bias.of_all_queries()) {
            for (int64_t s = 0; s < count; ++s) std::fill_n(added + s * panel, panel, from[s]);
          } else {
            if (t1 - t0 < panel) std::fill_n(added, count * panel, 0.0f);
            kernel.transpose(from, S, t1 - t0, count, 1, added, panel);
          }
          kernel.add_scaled(added, 1, count * panel, own);
        }
        for_partly_seen([&](const KeyRange& range) {
          for (int64_t s = range.first; s < range.last; ++s) {
            const KeyRange lanes = visible.queries(s0 + s, t0, panel);
            std::fill_n(scores + s * panel, lanes.first, -INFINITY);
            std::fill_n(scores + s * panel + lanes.last, panel - lanes.last, -INFINITY);
          }
        });
        kernel.softmax_block(own, count, maximum_of(p), sum_of(p), output_of(p), Dv);

        const auto one_by_one = [&](const KeyRange& range) {
          kernel.seen_rows(scores + range.first * panel, range.last - range.first, v_block + range.first, keys.stride, output_of(p), Dv);
        };
        if (bias && !std::isfinite(squares_of_v[index * keys.blocks() + s0 / keys.block])) {
          one_by_one(seen);
          continue;
        }
        if (!open.empty())
          tiles(
              Dv, [&](int64_t d) { return v_block + d * keys.stride + open.first; }, open.last - open.first, scores + open.first * panel,
              output_of(p), true);
        for_partly_seen(one_by_one);
      }
    }

    for (int64_t p = panel0; p < panel1; ++p) {
      const int64_t t0 = p * panel, count = std::min(panel, T - t0);
      kernel.transpose(output_of(p), panel, Dv, count, 1, rows, Dv);
      for (int64_t t = 0; t < count; ++t) {
        const float sum = sum_of(p)[t];
        kernel.scale(rows + t * Dv, sum == 0 ? 0 : 1 / sum, Dv, rows + t * Dv);
        std::byte* to = y.raw() + size_t(((b * T + t0 + t) * N + n) * Dv) * size_of(y.dtype());
        if (y.dtype() == DType::f32) std::copy_n(rows + t * Dv, Dv, reinterpret_cast<float*>(to));
        else narrowed(kernel, rows + t * Dv, Dv, y.dtype(), to);
      }
    }
  });
}

}  // namespace hearth::cpu
