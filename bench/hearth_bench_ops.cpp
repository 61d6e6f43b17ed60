// Times single operations at the shapes that SD 1.5 has at 512 × 512 with guidance (batch 2), beside the machine's own
// ceilings measured in the same run:
//   hearth_bench_ops [--threads N] [--hold f32|f16|bf16] [--factors bf16] [--path avx2|avx512|…] [--repeat N] [--only WORD] [--json]
// One line for each operation: best wall time, GFLOP/s and its fraction of the multiply-add ceiling, and the same by processor
// time (which other programs on a busy machine do not change). The last lines weigh each operation by how often a UNet step or a
// VAE decode does it.
#include <fmt/core.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include "backends/backends.h"
#include "backends/cpu/ceilings.h"
#include "core/threads.h"
#include "ops/attention.h"
#include "ops/conv.h"
#include "ops/matmul.h"
#include "ops/norm.h"
#include "ops/pointwise.h"
#include "ops/shape_ops.h"

namespace {

using namespace hearth;

struct Options {
  int threads = 0, repeat = 5;
  std::string hold = "f16", factors = "f32", path, only;
  bool json = false;
};

Options parse(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--json") {
      o.json = true;
      continue;
    }
    if (i + 1 == argc) fail<UsageError>("bench: unknown flag or missing value at '{}'", flag);
    const std::string value = argv[++i];
    if (flag == "--threads") o.threads = std::stoi(value);
    else if (flag == "--repeat") o.repeat = std::stoi(value);
    else if (flag == "--hold") o.hold = value;
    else if (flag == "--factors") o.factors = value;
    else if (flag == "--path") o.path = value;
    else if (flag == "--only") o.only = value;
    else fail<UsageError>("bench: unknown flag '{}'", flag);
  }
  if (o.factors == "bf16") o.hold = "bf16";
  if (!dtype_named(o.factors)) fail<UsageError>("bench: '{}' is no type", o.factors);
  if (!dtype_named(o.hold)) fail<UsageError>("bench: '{}' is no type", o.hold);
  return o;
}

struct Case {
  std::string name;
  double flop;
  int unet, vae;  // how often in a UNet step and in a VAE decode
  std::function<std::function<void()>(Backend&, const WeightForm& form)> make;
};

Tensor filled(Backend& device, const Shape& shape, float scale = 1) {
  Tensor x = Tensor::empty(device, shape);
  uint32_t state = 12345;
  for (int64_t i = 0, n = x.numel(); i < n; ++i) {
    state = state * 1664525 + 1013904223;
    x.data<float>()[i] = (float(state >> 8) / 8388608 - 1) * scale;
  }
  return x;
}

Weight weight(Backend& device, const Shape& shape, WeightKind kind, const WeightForm& form) {
  const Tensor w = filled(device, shape, 1 / std::sqrt(float(shape.numel() / shape[0])));
  return {.name = "w", .shape = shape, .form = form, .prepared = device.prepare(w, kind, form), .backend = &device};
}

Case conv(int unet, int vae, int64_t B, int64_t C, int64_t size, int64_t O, int64_t kernel, int64_t stride = 1, int64_t resize = 0) {
  const int64_t out = (resize ? resize : size) / stride;
  std::string name = fmt::format("conv {}x{} {}->{} at {}{}{} batch {}", kernel, kernel, C, O, size, stride > 1 ? " stride 2" : "",
                                 resize ? " upsampled" : "", B);
  return {name, 2.0 * double(B * out * out * C * O * kernel * kernel), unet, vae,
          [=](Backend& device, const WeightForm& form) -> std::function<void()> {
            const Tensor x = filled(device, {B, size, size, C}), bias = filled(device, {O});
            const Weight w = weight(device, {O, C, kernel, kernel}, WeightKind::conv2d, form);
            ConvSpec spec = ConvSpec::same(kernel);
            spec.stride = stride;
            spec.resize_to = {resize, resize};
            return [=] { ops::conv2d(x, w, bias, spec); };
          }};
}

Case linear(int unet, int64_t M, int64_t K, int64_t N) {
  return {fmt::format("linear {}x{}->{}", M, K, N), 2.0 * double(M * K * N), unet, 0,
          [=](Backend& device, const WeightForm& form) -> std::function<void()> {
            const Tensor x = filled(device, {1, M, K}), bias = filled(device, {N});
            const Weight w = weight(device, {N, K}, WeightKind::linear, form);
            return [=] { ops::linear(x, w, bias); };
          }};
}

Case attention(int unet, int vae, int64_t B, int64_t heads, int64_t T, int64_t S, int64_t D) {
  return {fmt::format("attention {}x{} heads {}x{} size {}", B, heads, T, S, D), 4.0 * double(B * heads * T * S * D), unet, vae,
          [=](Backend& device, const WeightForm& form) -> std::function<void()> {
            const Tensor q = filled(device, {B, T, heads, D}), k = filled(device, {B, S, heads, D}), v = filled(device, {B, S, heads, D});
            return [=, factors = form.factors] { ops::attention(q, k, v, 1 / std::sqrt(float(D)), Mask::none, factors); };
          }};
}

// Memory-bound: counted as bytes read and written once.
Case group_norm(int unet, int vae, int64_t B, int64_t P, int64_t C) {
  return {fmt::format("group_norm+silu {}x{}x{}", B, P, C), 0, unet, vae, [=](Backend& device, const WeightForm&) -> std::function<void()> {
            const Tensor x = filled(device, {B, P, C}), gamma = filled(device, {C}), beta = filled(device, {C});
            return [=] { ops::group_norm(x, 32, gamma, beta, 1e-5f, Activation::silu); };
          }};
}
Case layer_norm(int unet, int64_t R, int64_t C) {
  return {fmt::format("layer_norm {}x{}", R, C), 0, unet, 0, [=](Backend& device, const WeightForm&) -> std::function<void()> {
            const Tensor x = filled(device, {R, C}), gamma = filled(device, {C}), beta = filled(device, {C});
            return [=] { ops::layer_norm(x, gamma, beta, 1e-5f); };
          }};
}
Case geglu(int unet, int64_t R, int64_t C) {
  return {fmt::format("geglu {}x{}", R, C), 0, unet, 0, [=](Backend& device, const WeightForm&) -> std::function<void()> {
            const Tensor x = filled(device, {R, 2 * C}, 3);
            return [=] { ops::geglu(x); };
          }};
}
Case concat(int unet, int64_t B, int64_t size, int64_t C, int64_t D) {
  return {fmt::format("concat {}+{} at {} batch {}", C, D, size, B), 0, unet, 0,
          [=](Backend& device, const WeightForm&) -> std::function<void()> {
            const Tensor a = filled(device, {B, size, size, C}), b = filled(device, {B, size, size, D});
            return [=] { ops::concat({a, b}, 3); };
          }};
}

std::vector<Case> cases() {
  return {conv(7, 0, 2, 320, 64, 320, 3),
          conv(2, 0, 2, 640, 64, 320, 3),
          conv(1, 0, 2, 960, 64, 320, 3),
          conv(1, 0, 2, 320, 64, 320, 3, 2),
          conv(1, 0, 2, 4, 64, 320, 3),
          conv(1, 0, 2, 320, 64, 4, 3),
          conv(10, 0, 2, 320, 64, 320, 1),
          conv(2, 0, 2, 640, 64, 320, 1),
          conv(1, 0, 2, 960, 64, 320, 1),
          conv(6, 0, 2, 640, 32, 640, 3),
          conv(1, 0, 2, 320, 32, 640, 3),
          conv(1, 0, 2, 960, 32, 640, 3),
          conv(1, 0, 2, 1280, 32, 640, 3),
          conv(1, 0, 2, 1920, 32, 640, 3),
          conv(1, 0, 2, 640, 32, 640, 3, 2),
          conv(10, 0, 2, 640, 32, 640, 1),
          conv(1, 0, 2, 320, 32, 640, 1),
          conv(1, 0, 2, 960, 32, 640, 1),
          conv(1, 0, 2, 1280, 32, 640, 1),
          conv(1, 0, 2, 1920, 32, 640, 1),
          conv(1, 0, 2, 640, 32, 640, 3, 1, 64),
          conv(7, 0, 2, 1280, 16, 1280, 3),
          conv(1, 0, 2, 640, 16, 1280, 3),
          conv(1, 0, 2, 1920, 16, 1280, 3),
          conv(2, 0, 2, 2560, 16, 1280, 3),
          conv(1, 0, 2, 1280, 16, 1280, 3, 2),
          conv(10, 0, 2, 1280, 16, 1280, 1),
          conv(1, 0, 2, 640, 16, 1280, 1),
          conv(1, 0, 2, 1920, 16, 1280, 1),
          conv(2, 0, 2, 2560, 16, 1280, 1),
          conv(1, 0, 2, 1280, 16, 1280, 3, 1, 32),
          conv(11, 0, 2, 1280, 8, 1280, 3),
          conv(3, 0, 2, 2560, 8, 1280, 3),
          conv(2, 0, 2, 1280, 8, 1280, 1),
          conv(3, 0, 2, 2560, 8, 1280, 1),
          conv(1, 0, 2, 1280, 8, 1280, 3, 1, 16),
          linear(30, 8192, 320, 320),
          linear(5, 8192, 320, 2560),
          linear(5, 8192, 1280, 320),
          linear(30, 2048, 640, 640),
          linear(5, 2048, 640, 5120),
          linear(5, 2048, 2560, 640),
          linear(30, 512, 1280, 1280),
          linear(5, 512, 1280, 10240),
          linear(5, 512, 5120, 1280),
          linear(6, 128, 1280, 1280),
          linear(1, 128, 1280, 10240),
          linear(1, 128, 5120, 1280),
          linear(10, 154, 768, 320),
          linear(10, 154, 768, 640),
          linear(12, 154, 768, 1280),
          linear(13, 2, 1280, 1280),
          linear(5, 2, 1280, 640),
          linear(5, 2, 1280, 320),
          attention(5, 0, 2, 8, 4096, 4096, 40),
          attention(5, 0, 2, 8, 1024, 1024, 80),
          attention(5, 0, 2, 8, 256, 256, 160),
          attention(1, 0, 2, 8, 64, 64, 160),
          attention(5, 0, 2, 8, 4096, 77, 40),
          attention(5, 0, 2, 8, 1024, 77, 80),
          attention(5, 0, 2, 8, 256, 77, 160),
          attention(1, 0, 2, 8, 64, 77, 160),
          group_norm(13, 0, 2, 4096, 320),
          group_norm(3, 0, 2, 4096, 640),
          group_norm(13, 0, 2, 1024, 640),
          group_norm(3, 0, 2, 1024, 1280),
          group_norm(13, 0, 2, 256, 1280),
          group_norm(3, 0, 2, 256, 2560),
          group_norm(13, 0, 2, 64, 1280),
          layer_norm(15, 8192, 320),
          layer_norm(15, 2048, 640),
          layer_norm(15, 512, 1280),
          geglu(5, 8192, 1280),
          geglu(5, 2048, 2560),
          geglu(5, 512, 5120),
          concat(3, 2, 64, 320, 320),
          concat(3, 2, 32, 640, 640),
          concat(3, 2, 16, 1280, 1280),
          conv(0, 1, 1, 4, 64, 512, 3),
          conv(0, 10, 1, 512, 64, 512, 3),
          conv(0, 4, 1, 512, 64, 512, 1),
          attention(0, 1, 1, 1, 4096, 4096, 512),
          conv(0, 6, 1, 512, 128, 512, 3),
          conv(0, 1, 1, 512, 64, 512, 3, 1, 128),
          conv(0, 1, 1, 512, 128, 512, 3, 1, 256),
          conv(0, 1, 1, 512, 256, 256, 3),
          conv(0, 5, 1, 256, 256, 256, 3),
          conv(0, 1, 1, 512, 256, 256, 1),
          conv(0, 1, 1, 256, 256, 256, 3, 1, 512),
          conv(0, 1, 1, 256, 512, 128, 3),
          conv(0, 5, 1, 128, 512, 128, 3),
          conv(0, 1, 1, 256, 512, 128, 1),
          conv(0, 1, 1, 128, 512, 3, 3),
          group_norm(0, 5, 1, 262144, 128),
          group_norm(0, 1, 1, 262144, 256),
          group_norm(0, 5, 1, 65536, 256),
          group_norm(0, 6, 1, 16384, 512)};
}

double processor_seconds() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

int bench(const Options& options) {
  const auto device = make_backend({.name = "cpu", .features = options.path, .threads = options.threads});
  const int threads = device->threads().size();
  const Ceilings ceilings = measure_ceilings(*device);
  const WeightForm form{.hold = *dtype_named(options.hold), .factors = *dtype_named(options.factors)};
  if (!options.json)
    fmt::print("{} threads, {}, weights held as {}, factors {}: {:.0f} GFLOP/s, reads {:.1f} GB/s\n", threads, device->features(),
               options.hold, options.factors, ceilings.matrix_gflops, ceilings.read_gbs);

  struct Total {
    double seconds = 0, cpu_seconds = 0, flop = 0;
  } unet, vae;
  std::string rows;
  for (const Case& c : cases()) {
    if (c.name.find(options.only) == std::string::npos) continue;
    const auto work = c.make(*device, form);
    work();
    double best = 1e30, best_cpu = 1e30;
    for (int i = 0; i < options.repeat; ++i) {
      const double cpu = processor_seconds();
      const auto start = std::chrono::steady_clock::now();
      work();
      best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
      best_cpu = std::min(best_cpu, (processor_seconds() - cpu) / threads);
    }
    for (const auto& [total, times] : {std::pair(&unet, c.unet), std::pair(&vae, c.vae)}) {
      total->seconds += best * times;
      total->cpu_seconds += best_cpu * times;
      total->flop += c.flop * times;
    }
    const double gflops = c.flop * 1e-9 / best, cpu_gflops = c.flop * 1e-9 / best_cpu;
    if (options.json)
      rows += fmt::format("{}\n    {{\"op\": \"{}\", \"seconds\": {:.6f}, \"gflops\": {:.1f}, \"fraction\": {:.3f}}}",
                          rows.empty() ? "" : ",", c.name, best, gflops, gflops / ceilings.matrix_gflops);
    else
      fmt::print("{:44} {:9.3f} ms {:7.1f} GFLOP/s {:5.2f}   cpu {:9.3f} ms {:5.2f}   x {:2}\n", c.name, best * 1e3, gflops,
                 gflops / ceilings.matrix_gflops, best_cpu * 1e3, cpu_gflops / ceilings.matrix_gflops, std::max(c.unet, c.vae));
  }
  if (options.json) {
    fmt::print("{{\"machine\": {{\"isa\": \"{}\", \"threads\": {}, \"matrix_gflops\": {:.1f}, \"read_gbs\": {:.1f}}}, \"ops\": [{}\n]}}\n",
               device->features(), threads, ceilings.matrix_gflops, ceilings.read_gbs, rows);
  } else {
    for (const auto& [name, t] : {std::pair("UNet step", unet), std::pair("VAE decode", vae)})
      fmt::print("{:11} sum of ops: {:.3f} s, {:.0f} GFLOP, {:.2f} of the ceiling   cpu {:.3f} s {:.2f}\n", name, t.seconds, t.flop * 1e-9,
                 t.flop * 1e-9 / t.seconds / ceilings.matrix_gflops, t.cpu_seconds, t.flop * 1e-9 / t.cpu_seconds / ceilings.matrix_gflops);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return bench(parse(argc, argv));
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
