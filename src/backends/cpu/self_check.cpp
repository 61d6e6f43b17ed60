#include "backends/cpu/self_check.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "backends/cpu/kernels/bf16.h"
#include "backends/cpu/self_check_values.h"
#include "core/dtype.h"

namespace hearth::cpu {
namespace {

double plain_activation(double x, Act act) {
  switch (act) {
    case Act::none: return x;
    case Act::silu: return x / (1 + std::exp(-x));
    case Act::gelu: return 0.5 * x * (1 + std::erf(x * M_SQRT1_2));
    case Act::gelu_tanh: return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case Act::quick_gelu: return x / (1 + std::exp(-1.702 * x));
    case Act::relu: return std::max(x, 0.0);
    case Act::sigmoid: return 1 / (1 + std::exp(-x));
    case Act::tanh: return std::tanh(x);
    case Act::softplus: return std::log1p(std::exp(x));
    case Act::squared_relu: return std::max(x, 0.0) * std::max(x, 0.0);
  }
  return x;
}

std::string names(std::span<const Path> paths) {
  std::string list;
  for (size_t i = 0; i < paths.size(); ++i) list += (i == 0 ? "" : i + 1 < paths.size() ? ", " : " or ") + paths[i].name;
  return list;
}

void check_product(const Kernels& kernel) {
  constexpr int64_t depth = 19, split = 8;
  for (const bool wide : {true, false})
    for (int64_t rows = 1; rows <= kernel.tile_rows; ++rows) {
      const int64_t width = wide ? kernel.panel : kernel.lanes;
      const auto a = values(rows * depth), b = values(depth * width, 7);
      auto c = values(rows * kernel.panel, 3);
      const auto before = c;
      Segment segments[2];
      for (int64_t r = 0; r < rows; ++r) segments[0].row[r] = a.data() + r * depth, segments[1].row[r] = a.data() + r * depth + split;
      segments[0].length = split, segments[1].length = depth - split;
      kernel.tile(rows, wide, segments, 2, b.data(), c.data(), true);

      const auto bias = values(width, 1), image = values(width, 2), gate = values(width, 6), residual = values(rows * width, 5);
      std::vector<const float*> images(size_t(rows), image.data()), gates(size_t(rows), gate.data());
      std::vector<float> y(static_cast<size_t>(rows * width));
      const int64_t columns = width - 1;
      kernel.epilogue(c.data(), rows, columns,
                      {.alpha = 0.5f,
                       .activation = Act::silu,
                       .bias = bias.data(),
                       .per_image = images.data(),
                       .factor = gates.data(),
                       .residual = residual.data(),
                       .residual_stride = width,
                       .y = y.data(),
                       .y_stride = width});
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t n = 0; n < columns; ++n) {
          double sum = before[size_t(r * kernel.panel + n)];
          for (int64_t k = 0; k < depth; ++k) sum += double(a[size_t(r * depth + k)]) * b[size_t(k * width + n)];
          expect("product tile", c[size_t(r * kernel.panel + n)], sum);
          expect("product epilogue", y[size_t(r * width + n)],
                 gate[size_t(n)] * plain_activation(0.5 * sum + bias[size_t(n)] + image[size_t(n)], Act::silu) +
                     residual[size_t(r * width + n)]);
        }
    }
}

void check_gates(const Kernels& kernel) {
  const int64_t rows = 3, lanes = kernel.lanes, columns = lanes - 1, width = 2 * lanes;
  const auto acc = values(rows * kernel.panel), bias = values(width, 1), image = values(width, 2), residual = values(rows * lanes, 5);
  const std::vector<const float*> images(size_t(rows), image.data());
  std::vector<float> y(static_cast<size_t>(rows * lanes));
  kernel.epilogue(acc.data(), rows, columns,
                  {.alpha = 0.5f,
                   .activation = Act::gelu,
                   .gates = lanes,
                   .bias = bias.data(),
                   .per_image = images.data(),
                   .residual = residual.data(),
                   .residual_stride = lanes,
                   .y = y.data(),
                   .y_stride = lanes});
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t n = 0; n < columns; ++n) {
      const auto sum = [&](int64_t i) { return 0.5 * acc[size_t(r * kernel.panel + i)] + bias[size_t(i)] + image[size_t(i)]; };
      expect("gated epilogue", y[size_t(r * lanes + n)],
             sum(n) * plain_activation(sum(lanes + n), Act::gelu) + residual[size_t(r * lanes + n)]);
    }
}

// Every shape of a block, with left rows in two pieces and accumulated sums.
void check_bf16(const Kernels& kernel) {
  if (!kernel.bf16) return;
  const Bf16Kernels& bf16 = *kernel.bf16;
  const int64_t depth = 96, split = 64, stride = depth + 2;
  for (const bool wide : {true, false})
    for (const int64_t rows : {1, 11, 16, 17, 32}) {
      const int64_t width = wide ? bf16_panel : bf16_panel / 2;
      const auto left = values(bf16_rows * stride), right = values(depth * width, 7);
      std::vector<uint16_t> a(left.size()), b(right.size());
      kernel.round_bf16(left.data(), int64_t(left.size()), a.data());
      for (int64_t k = 0; k < depth; ++k)
        for (int64_t n = 0; n < width; ++n) b[size_t((k / 2 * width + n) * 2 + k % 2)] = f32_to_bf16(right[size_t(k * width + n)]);
      auto c = values(bf16_rows * bf16_panel, 3);
      const auto before = c;
      const Bf16Run runs[] = {
          {.half = {a.data(), a.data() + 16 * stride}, .stride = {stride, stride}, .length = split},
          {.half = {a.data() + split, a.data() + 16 * stride + split}, .stride = {stride, stride}, .length = depth - split}};
      bf16.begin();
      bf16.block(rows, wide, runs, 2, b.data(), {.c = c.data(), .row_step = bf16_panel, .column_step = bf16_panel / 2}, true);
      bf16.end();
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t n = 0; n < width; ++n) {
          double sum = before[size_t(r * bf16_panel + n)];
          for (int64_t k = 0; k < depth; ++k) sum += double(left[size_t(r * stride + k)]) * right[size_t(k * width + n)];
          expect("bf16 block", c[size_t(r * bf16_panel + n)], sum);
        }
    }
}

// Two rows of scores, the second with hidden keys.
void check_softmax_rows(const Kernels& kernel) {
  constexpr int64_t keys = 32, columns = 16, visible[] = {keys, 21};
  const auto s = values(2 * keys);
  auto o = values(2 * columns, 9);
  const auto before = o;
  std::vector<float> m(2, float(M_LOG2E)), l(2, 2), y(size_t(2 * keys));
  std::vector<uint16_t> weights(static_cast<size_t>(2 * keys));
  kernel.softmax_rows(s.data(), keys, 2, keys, visible, m.data(), l.data(), o.data(), columns, weights.data());
  kernel.widen_bf16(weights.data(), 2 * keys, y.data());
  for (int64_t r = 0; r < 2; ++r) {
    double high = 1, sum = 0;
    for (int64_t k = 0; k < visible[r]; ++k) high = std::max(high, double(s[size_t(r * keys + k)]));
    for (int64_t k = 0; k < keys; ++k) {
      const double weight = k < visible[r] ? std::exp(s[size_t(r * keys + k)] - high) : 0;
      expect("softmax row", y[size_t(r * keys + k)], weight, 0x1p-8);
      sum += weight;
    }
    expect("softmax row's sum", l[size_t(r)], 2 * std::exp(1 - high) + sum);
    for (int64_t c = 0; c < columns; ++c)
      expect("softmax row's output", o[size_t(r * columns + c)], before[size_t(r * columns + c)] * std::exp(1 - high));
  }
}

// One patch of one channel against the nine taps of each output column, read twice: as a wide and as a narrow tile.
void check_winograd(const Kernels& kernel) {
  const int64_t channels = kernel.lanes + 3, panel = kernel.panel;
  const auto x = values(36 * channels), g = values(9 * panel, 5);
  const float* pixels[36];
  for (int64_t i = 0; i < 36; ++i) pixels[i] = i == 7 ? nullptr : x.data() + i * channels;
  std::vector<float> v(size_t(36 * channels)), u(size_t(36 * panel)), m(size_t(36 * panel)), y(size_t(16 * panel));
  kernel.winograd_input(pixels, channels, v.data(), channels);
  kernel.winograd_weight(g.data(), panel, panel, u.data(), panel);
  for (const int64_t c : {int64_t(0), channels - 1})
    for (const bool wide : {true, false}) {
      for (int64_t i = 0; i < 36 * panel; ++i) m[size_t(i)] = u[size_t(i)] * v[size_t(i / panel * channels + c)];
      kernel.winograd_output(m.data(), panel, wide, y.data());
      for (int64_t i = 0; i < 16; ++i)
        for (int64_t n = 0; n < (wide ? panel : kernel.lanes); ++n) {
          double sum = 0;
          for (int64_t tap = 0; tap < 9; ++tap) {
            const int64_t pixel = (i / 4 + tap / 3) * 6 + i % 4 + tap % 3;
            if (pixels[pixel]) sum += double(pixels[pixel][c]) * g[size_t(tap * panel + n)];
          }
          expect("winograd", y[size_t(i * panel + n)], sum);
        }
    }
}

void check_depthwise(const Kernels& kernel) {
  constexpr int64_t taps = 3;
  const int64_t n = kernel.lanes + 3;
  const auto x = values(6 * n), w = values(taps * n, 5);
  for (int64_t rows = 1; rows <= 4; ++rows) {
    std::vector<const float*> pixels;
    for (int64_t i = 0; i < rows * taps; ++i) pixels.push_back(x.data() + (i / taps + i % taps) * n);
    std::vector<float> y(static_cast<size_t>(rows * n));
    kernel.depthwise(pixels.data(), taps, rows, w.data(), n, n, y.data(), n);
    for (int64_t i = 0; i < rows * n; ++i) {
      double sum = 0;
      for (int64_t t = 0; t < taps; ++t) sum += double(x[size_t(i + t * n)]) * w[size_t(t * n + i % n)];
      expect("depthwise", y[size_t(i)], sum);
    }
  }
}

void check_softmax(const Kernels& kernel) {
  constexpr int64_t keys = 5, rows = 3;
  auto s = values(keys * kernel.panel), o = values(rows * kernel.panel, 9);
  const auto scores = s, output = o;
  std::vector<float> m(static_cast<size_t>(kernel.panel), 1), l(static_cast<size_t>(kernel.panel), 2);
  kernel.softmax_block(s.data(), keys, m.data(), l.data(), o.data(), rows);
  for (int64_t q = 0; q < kernel.panel; ++q) {
    double high = 1, sum = 0;
    for (int64_t k = 0; k < keys; ++k) high = std::max(high, double(scores[size_t(k * kernel.panel + q)]));
    for (int64_t k = 0; k < keys; ++k) {
      const double weight = std::exp(scores[size_t(k * kernel.panel + q)] - high);
      expect("softmax", s[size_t(k * kernel.panel + q)], weight);
      sum += weight;
    }
    expect("softmax maximum", m[size_t(q)], high);
    expect("softmax sum", l[size_t(q)], 2 * std::exp(1 - high) + sum);
    for (int64_t r = 0; r < rows; ++r)
      expect("softmax output", o[size_t(r * kernel.panel + q)], output[size_t(r * kernel.panel + q)] * std::exp(1 - high));
  }
}

void check_seen_rows(const Kernels& kernel) {
  constexpr int64_t keys = 5, rows = 3;
  auto s = values(keys * kernel.panel);
  auto v = values(rows * keys, 4);
  for (float& weight : s) weight = std::max(weight, 0.0f);
  std::fill_n(s.begin() + kernel.panel, kernel.panel, 0.0f);
  for (int64_t r = 0; r < rows; ++r) v[size_t(r * keys + 1)] = INFINITY;  // of a hidden key
  auto o = values(rows * kernel.panel, 9);
  const auto before = o;
  kernel.seen_rows(s.data(), keys, v.data(), keys, o.data(), rows);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t q = 0; q < kernel.panel; ++q) {
      double sum = before[size_t(r * kernel.panel + q)];
      for (int64_t k = 0; k < keys; ++k)
        if (k != 1) sum += double(v[size_t(r * keys + k)]) * s[size_t(k * kernel.panel + q)];
      expect("seen rows", o[size_t(r * kernel.panel + q)], sum);
    }
}

void check_norms(const Kernels& kernel) {
  constexpr int64_t rows = 6;
  const int64_t n = 5 * kernel.lanes + 3;
  const auto x = values(rows * n), gamma = values(n, 4), beta = values(n, 6);
  const auto moments = [&](auto at, int64_t count) {
    double mean = 0, squares = 0;
    for (int64_t i = 0; i < count; ++i) mean += at(i) / double(count);
    for (int64_t i = 0; i < count; ++i) squares += (at(i) - mean) * (at(i) - mean);
    return std::pair(mean, squares);
  };
  float mean, squares;
  kernel.moments(x.data(), n, &mean, &squares);
  const auto row = moments([&](int64_t i) { return x[size_t(i)]; }, n);
  expect("mean", mean, row.first);
  expect("variance", squares, row.second);
  std::vector<float> means(static_cast<size_t>(n)), all(static_cast<size_t>(n)), y(static_cast<size_t>(rows * n)),
      z(static_cast<size_t>(n));
  kernel.column_moments(x.data(), rows, n, means.data(), all.data());
  kernel.normalize(x.data(), n, 0.25f, 1.5f, {.gamma = gamma.data(), .beta = beta.data()}, z.data());
  kernel.normalize_columns(x.data(), rows, n, means.data(), gamma.data(), beta.data(), Act::silu, y.data());
  std::vector<float> modulated(static_cast<size_t>(n));
  kernel.normalize(x.data(), n, 0, 1.5f, {.gamma = gamma.data(), .scale = beta.data(), .shift = gamma.data()}, modulated.data());
  double sum = 0;
  for (int64_t c = 0; c < n; ++c) sum += double(x[size_t(c)]) * x[size_t(c)];
  expect("squares", kernel.squares(x.data(), n), sum);
  for (int64_t c = 0; c < n; ++c) {
    expect("modulated norm", modulated[size_t(c)], x[size_t(c)] * 1.5 * gamma[size_t(c)] * (1 + beta[size_t(c)]) + gamma[size_t(c)]);
    const auto column = moments([&](int64_t r) { return x[size_t(r * n + c)]; }, rows);
    expect("column mean", means[size_t(c)], column.first);
    expect("column variance", all[size_t(c)], column.second);
    expect("normalize", z[size_t(c)], (x[size_t(c)] - 0.25) * 1.5 * gamma[size_t(c)] + beta[size_t(c)]);
    for (int64_t r = 0; r < rows; ++r)
      expect("normalize columns", y[size_t(r * n + c)],
             plain_activation((x[size_t(r * n + c)] - column.first) * gamma[size_t(c)] + beta[size_t(c)], Act::silu));
  }
}

void check_pointwise(const Kernels& kernel) {
  const int64_t n = 2 * kernel.lanes + 5;
  const auto x = values(n), b = values(n, 3);
  std::vector<float> y(static_cast<size_t>(n)), t(static_cast<size_t>(3 * n));
  std::vector<uint16_t> half(static_cast<size_t>(n));
  const auto check = [&](const char* what, auto right) {
    for (int64_t i = 0; i < n; ++i) expect(what, y[size_t(i)], right(i));
  };
  for (Act act = Act::none; act <= Act::squared_relu; act = Act(int(act) + 1)) {
    kernel.activate(x.data(), n, act, y.data());
    check("activation", [&](int64_t i) { return plain_activation(x[size_t(i)], act); });
  }
  kernel.exp(x.data(), n, y.data());
  check("exp", [&](int64_t i) { return std::exp(double(x[size_t(i)])); });
  kernel.scale(x.data(), 3, n, y.data());
  check("scale", [&](int64_t i) { return 3 * x[size_t(i)]; });
  kernel.add_scaled(b.data(), 0.5f, n, y.data());
  check("add scaled", [&](int64_t i) { return 3 * x[size_t(i)] + 0.5 * b[size_t(i)]; });
  y = b;
  kernel.keep_larger(x.data(), n, y.data());
  check("larger", [&](int64_t i) { return std::max(x[size_t(i)], b[size_t(i)]); });
  kernel.multiply(x.data(), b.data(), n, y.data());
  check("multiply", [&](int64_t i) { return x[size_t(i)] * b[size_t(i)]; });
  kernel.affine(x.data(), n, b.data(), x.data(), y.data());
  check("affine", [&](int64_t i) { return x[size_t(i)] * b[size_t(i)] + x[size_t(i)]; });
  y = x;
  kernel.soft_cap(y.data(), n, 0.75f);
  check("soft cap", [&](int64_t i) { return 0.75 * std::tanh(x[size_t(i)] / 0.75); });
  kernel.narrow_f16(x.data(), n, half.data());
  for (int64_t i = 0; i < n; ++i) expect("to f16", half[size_t(i)], f32_to_f16(x[size_t(i)]), 0);
  kernel.widen_f16(half.data(), n, y.data());
  check("from f16", [&](int64_t i) { return x[size_t(i)]; });
  kernel.narrow_bf16(x.data(), n, half.data());
  for (int64_t i = 0; i < n; ++i) expect("to bf16", half[size_t(i)], f32_to_bf16(x[size_t(i)]), 0);
  kernel.widen_bf16(half.data(), n, y.data());
  check("from bf16", [&](int64_t i) { return x[size_t(i)]; });
  std::array<uint32_t, 64> words, turned;
  std::array<uint16_t, 64> halves, turned_halves;
  for (uint32_t i = 0; i < 64; ++i) words[i] = i, halves[i] = uint16_t(i);
  kernel.transpose_32(words.data(), 8, 8, 8, turned.data(), 8);
  kernel.transpose_16(halves.data(), 8, 8, 8, turned_halves.data(), 8);
  for (size_t i = 0; i < 64; ++i) {
    expect("transpose_32", float(turned[i % 8 * 8 + i / 8]), float(i));
    expect("transpose_16", float(turned_halves[i % 8 * 8 + i / 8]), float(i));
  }
  kernel.transpose(x.data(), n / 3, 3, n / 3, 2, t.data(), 3);
  for (int64_t r = 0; r < 3; ++r)
    for (int64_t c = 0; c < n / 3; ++c) expect("transpose", t[size_t(c * 3 + r)], 2 * x[size_t(r * (n / 3) + c)]);
}

}  // namespace

std::string check_kernels(const Kernels& kernels) {
  try {
    check_product(kernels);
    check_gates(kernels);
    check_delta_rule(kernels);
    check_language_kernels(kernels);
    check_recurrences(kernels);
    check_winograd(kernels);
    check_depthwise(kernels);
    check_softmax(kernels);
    check_seen_rows(kernels);
    check_bf16(kernels);
    check_softmax_rows(kernels);
    check_norms(kernels);
    check_pointwise(kernels);
  } catch (const Error& error) { return error.what(); }
  return "";
}

const Kernels& choose_path(std::span<const Path> paths, const std::string& requested, const std::function<void(const std::string&)>& warn) {
  auto path = paths.begin();
  if (requested.empty()) {
    path = std::find_if(paths.begin(), paths.end(), [](const Path& p) { return p.available; });
  } else {
    path = std::find_if(paths.begin(), paths.end(), [&](const Path& p) { return p.name == requested; });
    if (path == paths.end()) fail<UsageError>("backend: kernel path '{}' is unknown, expected {}", requested, names(paths));
    if (!path->available) fail<UnsupportedError>("backend: this CPU does not support the kernel path '{}'", requested);
  }
  for (; path != paths.end(); ++path) {
    if (!path->available) continue;
    const Kernels& kernels = path->kernels();
    const std::string wrong = check_kernels(kernels);
    if (wrong.empty()) return kernels;
    warn(fmt::format("hearth: the kernel path '{}' computes wrong results on this CPU and is switched off ({})", path->name, wrong));
  }
  fail<UnsupportedError>("backend: 'cpu' needs a CPU with AVX2, FMA and F16C on which the kernels pass their self-check");
}

}  // namespace hearth::cpu
