// Parts of an attention's keys, and how they are put together. Included once by each instruction set.

namespace hearth::cpu {
namespace {

void softmax_part(float* s, int64_t stride, int64_t first, int64_t last, int64_t panels, float* m, float* l) {
  // The keys of a panel as lanes; those outside of first … last have no part in anything.
  alignas(64) float lane[panel_width];
  for (int j = 0; j < panel_width; ++j) lane[j] = float(j);
  const V hidden = set(-__builtin_inff());
  const auto visible = [&](int64_t p, auto j, V yes, V no) {
    const V key = load(lane + j * W) + set(float(p * panel_width));
    return select(less(key, set(float(first))), no, select(less(key, set(float(last))), yes, no));
  };
  V high[2] = {hidden, hidden};
  for (int64_t p = 0; p < panels; ++p)
    unroll<2>([&](auto j) { high[j] = max(high[j], visible(p, j, load(s + p * stride + j * W), hidden)); });
  *m = max_lanes(max(high[0], high[1]));
  V sum[2] = {zero(), zero()};
  for (int64_t p = 0; p < panels; ++p)
    unroll<2>([&](auto j) {
      float* at = s + p * stride + j * W;
      const V weight = visible(p, j, exp(load(at) - set(*m)), zero());
      sum[j] = sum[j] + weight;
      store(at, weight);
    });
  *l = sum_lanes(sum[0] + sum[1]);
}

void merge_part(float* m, float* l, float* o, float part_m, float part_l, const float* part_o, int64_t n) {
  const V high = max(set(*m), set(part_m)), keep = exp(set(*m) - high), take = exp(set(part_m) - high);
  alignas(64) float lanes[W];
  store(lanes, fma(set(part_l), take, set(*l) * keep));
  *l = lanes[0];
  store(lanes, high);
  *m = lanes[0];
  for_lanes(
      n, [&](int64_t i, int64_t left) { store_upto(o + i, left, fma(load_upto(part_o + i, left), take, load_upto(o + i, left) * keep)); });
}

}  // namespace
}  // namespace hearth::cpu
