// The highest rate of multiply-adds: enough independent chains in registers, no memory. Included once by each instruction set.

namespace hearth::cpu {
namespace {

double fma_loop(int64_t rounds) {
  constexpr int chains = 12;
  V acc[chains];
  unroll<chains>([&](auto i) { acc[i] = set(float(i)); });
  V a = set(1.0000001f), b = set(1e-9f);
  asm volatile("" : "+v"(a), "+v"(b));
  for (int64_t k = 0; k < rounds; ++k)
    unroll<chains>([&](auto i) {
      acc[i] = fma(acc[i], a, b);
      asm volatile("" : "+v"(acc[i]));  // keeps the chain from being folded
    });
  V sum = zero();
  unroll<chains>([&](auto i) { sum = sum + acc[i]; });
  volatile float sink = sum_lanes(sum);
  (void)sink;
  return double(rounds) * chains * W * 2;
}

}  // namespace
}  // namespace hearth::cpu
