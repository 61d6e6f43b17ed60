// Peak rates of arithmetic and of reading. Included once by each instruction set.

namespace hearth::cpu {
namespace {

// Enough independent chains in registers; no memory access.
double fma_loop(int64_t rounds) {
  constexpr int chains = 12;
  V acc[chains];
  unroll<chains>([&](auto i) { acc[i] = set(float(i)); });
  V a = set(1.0000001f), b = set(1e-9f);
  for (int64_t k = 0; k < rounds; ++k) {
    // Opaque to the compiler in each round, or it would merge the chains.
    unroll<chains>([&](auto i) {
      V& chain = acc[i];  // Clang 14 cannot name a captured variable in asm
      asm volatile("" : "+x"(chain));
    });
    unroll<chains>([&](auto i) { acc[i] = fma(acc[i], a, b); });
  }
  V sum = zero();
  unroll<chains>([&](auto i) { sum = sum + acc[i]; });
  volatile float sink = sum_lanes(sum);
  (void)sink;
  return double(rounds) * chains * W * 2;
}

// Four streams, because one alone does not keep enough cache lines in flight.
void read_loop(const float* x, int64_t n) {
  V sum[4];
  unroll<4>([&](auto i) { sum[i] = zero(); });
  const int64_t quarter = n / 4 / 16 * 16;
  for (int64_t k = 0; k < quarter; k += 16)
    unroll<4>([&](auto i) {
      for (int j = 0; j < 16; j += W) sum[i] = sum[i] + load(x + i * quarter + k + j);
      __builtin_prefetch(x + i * quarter + k + 256);
    });
  volatile float sink = sum_lanes((sum[0] + sum[1]) + (sum[2] + sum[3]));
  (void)sink;
}

}  // namespace
}  // namespace hearth::cpu
