#include "backends/vulkan/vulkan_class.h"

namespace hearth::vulkan {

void VulkanBackend::attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionSpec& spec, Tensor& y) {
  constexpr int64_t queries = 16, invocations = 128;  // of a workgroup
  const int64_t B = q.size(0), T = q.size(1), N = q.size(2), D = q.size(3), S = k.size(1), Dv = v.size(3);
  Tensor lengths;
  if (!spec.key_lengths.empty()) {
    const std::vector<int32_t> values(spec.key_lengths.begin(), spec.key_lengths.end());
    lengths = Tensor::from(*this, {B}, values);
  }
  struct Parameters {
    uint64_t q, k, v, y, bias, lengths, sinks;
    uint32_t query_blocks, T, S, N, G, D, Dv, q_step[3], k_step[3], v_step[3], bias_step[3], causal, window;
    float scale, soft_cap;
    uint32_t q_type, k_type, v_type, y_type, rounds;
  } p{address(q),
      address(k),
      address(v),
      address(y),
      address(spec.bias),
      address(lengths),
      address(spec.sinks),
      uint32_t(parts(T, queries)),
      uint32_t(T),
      uint32_t(S),
      uint32_t(N),
      uint32_t(k.size(2)),
      uint32_t(D),
      uint32_t(Dv),
      {},
      {},
      {},
      {},
      spec.mask == Mask::causal,
      uint32_t(spec.window),
      spec.scale,
      spec.soft_cap,
      code(q.dtype()),
      code(k.dtype()),
      code(v.dtype()),
      code(y.dtype()),
      spec.factors == DType::bf16};
  for (int axis = 0; axis < 3; ++axis) {
    p.q_step[axis] = uint32_t(q.stride(axis)), p.k_step[axis] = uint32_t(k.stride(axis)), p.v_step[axis] = uint32_t(v.stride(axis));
    if (spec.bias && spec.bias.size(axis) > 1) p.bias_step[axis] = uint32_t(spec.bias.stride(axis));
  }
  stream_->run(Shader::attention, {uint32_t(parts(Dv, invocations))}, p, B * N * p.query_blocks,
               2.0 * double(B * T * N) * double(S) * double(D + Dv));
}

void VulkanBackend::cached_attention(const Tensor& q, std::span<const KeyValues> texts, const CachedAttentionSpec& spec, Tensor& y) {
  constexpr int64_t invocations = 128, deepest = 1024, usual = 256;  // values of a head
  const int64_t N = q.size(1), D = q.size(2);
  if (D > deepest) fail<UnsupportedError>("cached_attention: heads of {} values, vulkan has at most {}", D, deepest);
  const Stream::Unordered unordered(*stream_);
  int64_t row = 0;
  for (const KeyValues& text : texts) {
    const int64_t Dv = text.v.size(2);
    struct Parameters {
      uint64_t q, k, v, y, pages, sinks;
      uint32_t N, G, D, Dv, slots, first, window, page, q_row, v_row, v_head, count;
      float scale, soft_cap;
    } const p{address(q),
              address(text.k),
              address(text.v),
              address(y),
              address(text.pages),
              address(spec.sinks),
              uint32_t(N),
              uint32_t(text.k.size(1)),
              uint32_t(D),
              uint32_t(Dv),
              uint32_t(text.k.size(0)),
              uint32_t(text.first),
              uint32_t(text.window),
              uint32_t(text.page),
              uint32_t(row),
              uint32_t(text.v.stride(0)),
              uint32_t(text.v.stride(1)),
              uint32_t(text.queries),
              spec.scale,
              spec.soft_cap};
    const int64_t together = text.queries == 1 ? 1 : D <= usual ? 8 : 2;  // queries of a workgroup
    stream_->run(Shader::cached_attention,
                 {uint32_t(parts(Dv, invocations)), uint32_t(together), uint32_t(D <= usual ? usual : deepest), code(text.k.dtype()),
                  code(text.v.dtype())},
                 p, parts(text.queries, together) * N, 2.0 * double(text.queries * N) * double(text.first + text.queries) * double(D + Dv));
    row += text.queries;
  }
}

}  // namespace hearth::vulkan
