// Products with weights in place, as in language models, and their fraction of the machine's peak rates:
//   hearth_language_ops [--path avx2|avx512…] [--threads N] [--rows 1,512] [--types f16,q4_k] [--sizes 2048x2048,2048x8192] [--caches 4096]
//   [--rounds N] [--factors f32|i16|bf16, of types that can have them] [--scans 5120x16,80x64x128]
// A scan is channels × states, or heads × head size × states; GB/s are those of its state.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <random>
#include <sstream>

#include "backends/backends.h"
#include "backends/cpu/ceilings.h"
#include "backends/cpu/cpu_backend.h"
#include "core/factors.h"
#include "core/threads.h"
#include "ops/attention.h"
#include "ops/matmul.h"
#include "ops/recurrence.h"

namespace hearth {
namespace {

std::vector<std::string> list_of(const std::string& text) {
  std::vector<std::string> items;
  std::stringstream stream(text);
  for (std::string item; std::getline(stream, item, ',');)
    if (!item.empty()) items.push_back(item);
  return items;
}

// Bytes that are small positive numbers as f16, whatever they mean in other types.
Tensor any_rows(Backend& device, const Shape& shape, DType dtype) {
  Tensor w = Tensor::empty(device, shape, dtype);
  std::mt19937_64 engine(1);
  for (size_t i = 0; i + 8 <= w.bytes(); i += 8) {
    const uint64_t bits = (engine() & 0x1f1f1f1f1f1f1f1f) | 0x2020202020202020;
    std::memcpy(w.raw() + i, &bits, 8);
  }
  return w;
}

// With one thread, its CPU time, which other programs affect less.
double seconds_now(const Backend& device) {
  timespec now;
  clock_gettime(const_cast<Backend&>(device).threads().size() == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &now);
  return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}

double best_seconds(const Backend& device, int rounds, const auto& work) {
  double best = 1e9;
  for (int i = 0; i < rounds; ++i) {
    const double start = seconds_now(device);
    work();
    best = std::min(best, seconds_now(device) - start);
  }
  return best;
}

void run(std::map<std::string, std::string> options) {
  const auto backend = make_cpu_backend(options["--path"], std::atoi(options["--threads"].c_str()));
  Backend& device = *backend;
  const int rounds = std::atoi(options["--rounds"].c_str());
  Ceilings top = measure_ceilings(device);
  const auto again = [&] {
    const Ceilings c = measure_ceilings(device, Effort::quick);
    top.matrix_gflops = std::max(top.matrix_gflops, c.matrix_gflops), top.read_gbs = std::max(top.read_gbs, c.read_gbs);
  };
  for (const std::string& cached : list_of(options["--caches"])) {
    // Llama-3.2-1B: 32 heads of 64 values, eight heads of keys and values.
    const int64_t keys = std::atol(cached.c_str()), G = 8, D = 64;
    for (const std::string& type : list_of("f32,f16,q8_0")) {
      const DType dtype = dtype_named(type).value();
      const KeyValues all{any_rows(device, {keys, G, D}, dtype), any_rows(device, {keys, G, D}, dtype)};
      for (const std::string& rows : list_of(options["--rows"])) {
        const int64_t T = std::min<int64_t>(std::atol(rows.c_str()), keys);
        const Tensor q = Tensor::filled(device, {T, 32, D}, 0.5f);
        KeyValues cache = all;
        cache.first = keys - T;
        again();
        const double seconds = best_seconds(device, rounds, [&] { ops::cached_attention(q, cache, {.scale = 0.125f}); });
        const double gbs = double(2 * all.k.bytes()) * 1e-9 / seconds;
        const double gflops = 4e-9 * double(T * 32 * D) * (double(cache.first) + double(T) / 2) / seconds;
        fmt::print("{:8} attention {:5} keys {:6} T {:4}  {:8.3f} ms  {:6.1f} GB/s {:5.2f} of {:.1f}   {:7.1f} GFLOP/s {:5.2f} of {:.0f}\n",
                   device.features(), type, keys, T, seconds * 1e3, gbs, gbs / top.read_gbs, top.read_gbs, gflops,
                   gflops / top.matrix_gflops, top.matrix_gflops);
      }
    }
  }
  for (const std::string& size : list_of(options["--scans"])) {
    int64_t N = 0, D = 0, S = 0;
    const bool heads = std::sscanf(size.c_str(), "%ldx%ldx%ld", &N, &D, &S) == 3;
    if (!heads) S = D, D = 1;
    const int64_t C = N * D;
    const Tensor state = Tensor::zeros(device, heads ? Shape{N, S, D} : Shape{S, C}), rates = Tensor::filled(device, {S, C}, -1),
                 own = Tensor::filled(device, {N}, -1), taps = Tensor::filled(device, {4, C}, 0.25f), tail = Tensor::zeros(device, {3, C});
    for (const std::string& rows : list_of(options["--rows"])) {
      const int64_t T = std::atol(rows.c_str());
      const Tensor x = Tensor::filled(device, {T, C}, 0.5f), b = Tensor::filled(device, {T, S}, 0.5f),
                   dt = Tensor::filled(device, {T, N}, 0.1f);
      again();
      const double scan = best_seconds(device, rounds * 4, [&] {
        heads ? ops::state_space_scan(x, dt, b, b, {.a = own}, state) : ops::selective_scan(x, x, rates, b, b, {}, state);
      });
      const double conv = best_seconds(device, rounds * 4, [&] { ops::causal_conv(x, taps, {}, tail, Activation::silu); });
      fmt::print("{:8} scan {:11} T {:4}  {:8.3f} ms  {:6.1f} GB/s of {:.1f}   {:7.2f} states/ns;  its convolution {:8.3f} ms\n",
                 device.features(), size, T, scan * 1e3, 2e-9 * double(state.bytes()) / scan, top.read_gbs, 1e-9 * double(T * C * S) / scan,
                 conv * 1e3);
    }
  }
  for (const std::string& size : list_of(options["--sizes"])) {
    const int64_t K = std::atol(size.c_str()), N = std::atol(size.c_str() + size.find('x') + 1);
    for (const std::string& type : list_of(options["--types"])) {
      const DType dtype = dtype_named(type).value();
      // Cycles through more weights than any cache holds.
      const int64_t copies = std::max<int64_t>(1, (int64_t(256) << 20) / int64_t(bytes_of(dtype, N * K)));
      std::vector<Weight> w;
      for (int64_t i = 0; i < copies; ++i) {
        WeightForm form{.hold = dtype, .factors = dtype_named(options["--factors"]).value(), .in_place = true};
        form.factors = factors_for(form);
        w.push_back({"w", {N, K}, form, device.prepare(any_rows(device, {N, K}, dtype), WeightKind::linear, form), &device});
      }
      for (const std::string& rows : list_of(options["--rows"])) {
        const int64_t M = std::atol(rows.c_str());
        const Tensor x = Tensor::filled(device, {1, M, K}, 0.5f);
        again();
        size_t turn = 0;
        const double seconds = best_seconds(device, M == 1 ? rounds * int(copies) : rounds, [&] { ops::linear(x, w[turn++ % w.size()]); });
        const double gbs = double(bytes_of(dtype, N * K)) * 1e-9 / seconds, gflops = 2e-9 * double(M * N * K) / seconds;
        fmt::print("{:8} {:6} K {:5} N {:6} M {:4}  {:8.3f} ms  {:6.1f} GB/s {:5.2f} of {:.1f}   {:7.1f} GFLOP/s {:5.2f} of {:.0f}\n",
                   device.features(), type, K, N, M, seconds * 1e3, gbs, gbs / top.read_gbs, top.read_gbs, gflops,
                   gflops / top.matrix_gflops, top.matrix_gflops);
        std::fflush(stdout);
      }
    }
  }
}

}  // namespace
}  // namespace hearth

int main(int count, char** words) {
  std::map<std::string, std::string> options{{"--path", ""},
                                             {"--threads", "0"},
                                             {"--rows", "1,512"},
                                             {"--types", "f32,f16,bf16,q8_0,q4_0,q4_k,q6_k"},
                                             {"--sizes", "2048x2048,2048x8192,8192x2048"},
                                             {"--caches", "600,4096"},
                                             {"--scans", "5120x16,80x64x128"},
                                             {"--rounds", "5"},
                                             {"--factors", "i16"}};
  for (int i = 1; i + 1 < count; i += 2) options[words[i]] = words[i + 1];
  hearth::run(options);
}
