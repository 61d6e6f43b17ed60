#include "adapters/deltas.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "adapters/stated.h"
#include "core/error.h"
#include "core/on_host.h"
#include "core/threads.h"

namespace hearth::adapters {
namespace {

// A matrix [rows, columns] of a module, or a kernel seen as one: columns are inputs and taps.
struct Matrix {
  int64_t rows = 0, columns = 0;
  std::vector<float> values;
};

// The shape of the tensor that the module changes.
Shape stored_shape(const Delta& d) {
  Shape s = d.shape;
  switch (d.form.kind) {
    case Form::Kind::rows: s[0] = s[0] * d.form.parts / (d.form.end - d.form.first); break;
    case Form::Kind::transposed: s = {s[1], s[0]}; break;
    default: break;
  }
  return s;
}

[[noreturn]] void misfit(const Delta& d, std::string_view part, const Shape& expected) {
  fail<WeightError>("{}: '{}' has shape {}, the model's weight needs {}", d.file->path.string(), d.module->tensors.find(part)->second,
                    d.file->info(*d.module, part).shape, expected);
}

const Shape& shape_of(const Delta& d, std::string_view part) {
  if (!d.module->has(part)) fail<WeightError>("{}: module '{}' lacks '{}'", d.file->path.string(), d.module->name, part);
  return d.file->info(*d.module, part).shape;
}

int64_t columns_of(const Shape& s) { return s[0] == 0 ? 0 : s.numel() / s[0]; }

bool is_tucker_loha(const Delta& d) { return d.module->has("hada_t1") || d.module->has("hada_t2"); }

int64_t rank_of(const Delta& d) {
  const Module& m = *d.module;
  if (m.has("down") || m.has("up")) return shape_of(d, "down")[0];
  if (m.has("hada_w1_b")) return shape_of(d, "hada_w1_b")[0];
  if (m.has("lokr_w2_b")) return shape_of(d, "lokr_w2_b")[0];
  if (m.has("lokr_w1_b")) return shape_of(d, "lokr_w1_b")[0];
  return 0;
}

// α/r.
double scale_of(const Delta& d) {
  const int64_t rank = rank_of(d);
  if (rank == 0) return 1;  // nothing is a product
  return d.module->has("alpha") ? d.file->number(*d.module, "alpha") / double(rank) : stated_scale(*d.file, *d.module, rank);
}

Matrix matrix_of(const Delta& d, std::string_view part, Backend& host) {
  const Shape& s = shape_of(d, part);
  return {s[0], columns_of(s), d.file->values(*d.module, part, host)};
}

// a · b
Matrix product(const Matrix& a, const Matrix& b, Backend& host) {
  Matrix y{a.rows, b.columns, std::vector<float>(size_t(a.rows * b.columns))};
  host.threads().for_ranges(a.rows, std::max<int64_t>(1, 65536 / std::max<int64_t>(1, b.columns * a.columns)),
                            [&](int64_t begin, int64_t end) {
                              for (int64_t n = begin; n < end; ++n) {
                                float* const row = y.values.data() + n * b.columns;
                                for (int64_t r = 0; r < a.columns; ++r) {
                                  const float factor = a.values[size_t(n * a.columns + r)];
                                  const float* const from = b.values.data() + r * b.columns;
                                  for (int64_t k = 0; k < b.columns; ++k) row[k] += factor * from[k];
                                }
                              }
                            });
  return y;
}

Matrix turned(const Matrix& a) {
  Matrix y{a.columns, a.rows, std::vector<float>(a.values.size())};
  for (int64_t r = 0; r < a.rows; ++r)
    for (int64_t c = 0; c < a.columns; ++c) y.values[size_t(c * a.rows + r)] = a.values[size_t(r * a.columns + c)];
  return y;
}

// Σᵢⱼ core[i, j, tap] · a[i, p] · b[j, r] → [p, r, tap]: a Tucker decomposition of a kernel.
Matrix tucker(const Matrix& core, int64_t taps, const Matrix& a, const Matrix& b, Backend& host) {
  const int64_t J = core.columns / taps;
  // [i, j, tap] · b → [i, r, tap]
  Matrix half{core.rows, b.columns * taps, std::vector<float>(size_t(core.rows * b.columns * taps))};
  for (int64_t i = 0; i < core.rows; ++i)
    for (int64_t j = 0; j < J; ++j)
      for (int64_t r = 0; r < b.columns; ++r)
        for (int64_t t = 0; t < taps; ++t)
          half.values[size_t((i * b.columns + r) * taps + t)] +=
              core.values[size_t((i * J + j) * taps + t)] * b.values[size_t(j * b.columns + r)];
  return product(turned(a), half, host);
}

int64_t taps_of(const Shape& s) { return s.rank() < 3 ? 1 : s.numel() / (s[0] * s[1]); }

// The low rank of a LoRA: down as [r, inputs and taps], with `mid` in it.
Matrix down_of(const Delta& d, Backend& host) {
  const Matrix down = matrix_of(d, "down", host);
  if (!d.module->has("mid")) return down;
  const Shape& mid = shape_of(d, "mid");
  const int64_t R = mid[0], J = mid[1], taps = taps_of(mid);
  const Matrix core = matrix_of(d, "mid", host);
  Matrix y{R, down.columns * taps, std::vector<float>(size_t(R * down.columns * taps))};
  for (int64_t i = 0; i < R; ++i)
    for (int64_t j = 0; j < J; ++j)
      for (int64_t k = 0; k < down.columns; ++k)
        for (int64_t t = 0; t < taps; ++t)
          y.values[size_t((i * down.columns + k) * taps + t)] +=
              core.values[size_t((i * J + j) * taps + t)] * down.values[size_t(j * down.columns + k)];
  return y;
}

Matrix kronecker(const Matrix& a, const Matrix& b, int64_t taps) {
  const int64_t inputs = b.columns / taps;
  Matrix y{a.rows * b.rows, a.columns * b.columns, {}};
  y.values.resize(size_t(y.rows * y.columns));
  size_t at = 0;
  for (int64_t i = 0; i < a.rows; ++i)
    for (int64_t p = 0; p < b.rows; ++p)
      for (int64_t j = 0; j < a.columns; ++j)
        for (int64_t q = 0; q < inputs * taps; ++q)
          y.values[at++] = a.values[size_t(i * a.columns + j)] * b.values[size_t(p * b.columns + q)];
  return y;
}

// A factor of LoKr: itself, or the product of two, or of a core and two.
Matrix factor_of(const Delta& d, const std::string& name, const std::string& core, Backend& host) {
  if (d.module->has(name)) return matrix_of(d, name, host);
  const Matrix a = matrix_of(d, name + "_a", host), b = matrix_of(d, name + "_b", host);
  if (!d.module->has(core)) return product(a, b, host);
  return tucker(matrix_of(d, core, host), taps_of(shape_of(d, core)), a, b, host);
}

// Whether a kernel's taps are in the columns of LoKr's second factor.
int64_t lokr_taps(const Delta& d) { return taps_of(stored_shape(d)); }

// Δ of the stored tensor without strength and α/r, as [N, inputs and taps].
Matrix whole_delta(const Delta& d, Backend& host) {
  const Module& m = *d.module;
  if (m.has("up") || m.has("down")) return product(matrix_of(d, "up", host), down_of(d, host), host);
  if (m.has("hada_w1_a")) {
    const auto factor = [&](const std::string& w, const std::string& t) {
      const Matrix a = matrix_of(d, w + "_a", host), b = matrix_of(d, w + "_b", host);
      return is_tucker_loha(d) ? tucker(matrix_of(d, t, host), taps_of(shape_of(d, t)), a, b, host) : product(a, b, host);
    };
    Matrix y = factor("hada_w1", "hada_t1");
    const Matrix other = factor("hada_w2", "hada_t2");
    if (other.values.size() != y.values.size()) misfit(d, "hada_w2_a", stored_shape(d));
    for (size_t i = 0; i < y.values.size(); ++i) y.values[i] *= other.values[i];
    return y;
  }
  if (m.has("lokr_w1") || m.has("lokr_w1_a"))
    return kronecker(factor_of(d, "lokr_w1", "", host), factor_of(d, "lokr_w2", "lokr_t2", host), lokr_taps(d));
  return matrix_of(d, "diff", host);
}

bool is_product(const Delta& d) { return rank_of(d) > 0 || d.module->has("lokr_w1") || d.module->has("hada_w1_a"); }

// The official part of a matrix of the stored tensor, with its rows in their order.
Matrix part_in_form(const Delta& d, Matrix y) {
  switch (d.form.kind) {
    case Form::Kind::rows: {
      const int64_t part = y.rows / d.form.parts, begin = d.form.first * part, end = d.form.end * part;
      Matrix rows{end - begin, y.columns, {}};
      rows.values.assign(y.values.begin() + begin * y.columns, y.values.begin() + end * y.columns);
      return rows;
    }
    case Form::Kind::swapped:
      std::rotate(y.values.begin(), y.values.begin() + std::ptrdiff_t(y.values.size() / 2), y.values.end());
      return y;
    case Form::Kind::transposed: return turned(y);
    default: return y;
  }
}

Matrix official_part(const Delta& d, Matrix y) {
  Matrix part = part_in_form(d, std::move(y));
  if (d.row_order.empty()) return part;
  Matrix ordered{part.rows, part.columns, std::vector<float>(part.values.size())};
  for (int64_t r = 0; r < part.rows; ++r)
    std::copy_n(part.values.begin() + d.row_order[size_t(r)] * part.columns, part.columns, ordered.values.begin() + r * part.columns);
  return ordered;
}

std::string_view magnitude_part(const Delta& d) { return d.module->has("magnitude") ? "magnitude" : "dora_scale"; }

// Whether there is a magnitude of each row, rather than of each column.
bool magnitudes_by_row(const Delta& d) {
  const Shape& s = shape_of(d, magnitude_part(d));
  const Shape stored = stored_shape(d);
  const bool by_row = magnitude_part(d) == "magnitude" || s.rank() < 2 || s[0] == stored[0];
  const int64_t needed = stored[by_row ? 0 : 1];
  if (s.numel() != needed) misfit(d, magnitude_part(d), by_row ? Shape{needed, 1} : Shape{1, needed});
  if (!by_row && d.form.kind != Form::Kind::same && d.form.kind != Form::Kind::kernel)
    fail<UnsupportedError>("{}: '{}' has norms of columns of a weight that the model stores in parts", d.file->path.string(),
                           d.module->name);
  if (by_row && d.form.kind == Form::Kind::transposed)
    fail<UnsupportedError>("{}: '{}' has norms of rows of a weight that the model stores transposed", d.file->path.string(),
                           d.module->name);
  return by_row;
}

Matrix magnitudes(const Delta& d, Backend& host) {
  Matrix m{shape_of(d, magnitude_part(d)).numel(), 1, d.file->values(*d.module, magnitude_part(d), host)};
  return magnitudes_by_row(d) ? official_part(d, std::move(m)) : m;
}

bool has_magnitudes(const Delta& d) { return d.module->has("dora_scale") || d.module->has("magnitude"); }

void add_dora(const Delta& d, const float* own, const Matrix& delta, double scale, std::vector<float>& sum, Backend& host) {
  const bool by_row = magnitudes_by_row(d);
  const Matrix m = magnitudes(d, host);
  const int64_t N = d.shape[0], K = int64_t(sum.size()) / N, taps = taps_of(d.shape), inputs = K / taps;
  std::vector<double> squares(size_t(by_row ? N : inputs));
  const auto at = [&](int64_t n, int64_t k) { return size_t(by_row ? n : k / taps); };
  const auto updated = [&](int64_t n, int64_t k) { return double(own[n * K + k]) + scale * double(delta.values[size_t(n * K + k)]); };
  for (int64_t n = 0; n < N; ++n)
    for (int64_t k = 0; k < K; ++k) squares[at(n, k)] += updated(n, k) * updated(n, k);
  for (int64_t n = 0; n < N; ++n)
    for (int64_t k = 0; k < K; ++k) {
      const size_t i = at(n, k);
      const double norm = std::sqrt(squares[i]), whole = norm > 0 ? updated(n, k) * double(m.values[i]) / norm : 0;
      sum[size_t(n * K + k)] += float(d.strength * (whole - double(own[n * K + k])));
    }
}

// (IA)³: whether there is a factor of each column, rather than of each row.
bool factors_on_input(const Delta& d, std::string_view part) {
  const Shape& s = shape_of(d, part);
  const Shape stored = stored_shape(d);
  const bool on_input = part == "weight" ? d.file->truth(*d.module, "on_input") : s.rank() > 1 && s[0] == 1;
  if (on_input && stored.rank() < 2) misfit(d, part, {stored[0]});
  if (s.numel() != stored[on_input ? 1 : 0]) misfit(d, part, {stored[on_input ? 1 : 0]});
  if (d.form.kind == Form::Kind::transposed)
    fail<UnsupportedError>("{}: '{}' scales a weight that the model stores transposed", d.file->path.string(), d.module->name);
  return on_input;
}

void add_scaled(const Delta& d, std::string_view part, double less, const float* own, std::vector<float>& sum, Backend& host) {
  const bool on_input = factors_on_input(d, part);
  Matrix w{shape_of(d, part).numel(), 1, d.file->values(*d.module, part, host)};
  if (!on_input) w = official_part(d, std::move(w));
  const int64_t N = d.shape[0], K = int64_t(sum.size()) / N, taps = taps_of(d.shape);
  for (int64_t n = 0; n < N; ++n)
    for (int64_t k = 0; k < K; ++k) {
      const double factor = double(w.values[size_t(on_input ? k / taps : n)]) - less;
      sum[size_t(n * K + k)] += float(d.strength * factor * double(own[n * K + k]));
    }
}

}  // namespace

bool changes_bias(const Delta& d) { return d.module->has("diff_b"); }

bool changes_weight(const Delta& d) {
  const Module& m = *d.module;
  return is_product(d) || m.has("diff") || m.has("set_weight") || m.has("ia3") || m.has("weight");
}

int64_t low_rank(const Delta& d) {
  const bool plain = d.module->has("up") && d.module->has("down") && !has_magnitudes(d) && d.form.kind != Form::Kind::transposed;
  return plain && d.shape.rank() >= 2 ? shape_of(d, "down")[0] : 0;
}

namespace {

// The shape of a part that must have some axes.
const Shape& axes_of(const Delta& d, std::string_view part, int least, const Shape& expected) {
  const Shape& s = shape_of(d, part);
  if (s.rank() < least) misfit(d, part, expected);
  return s;
}

void check_low_rank(const Delta& d, const Shape& stored) {
  const int64_t N = stored[0], K = columns_of(stored), taps = taps_of(stored), inputs = K / taps;
  const Shape needed_down = stored.rank() > 2 ? Shape{1, inputs, taps} : Shape{1, K};
  const Shape &up = axes_of(d, "up", 2, {N, 1}), &down = axes_of(d, "down", 2, needed_down);
  const int64_t R = down[0];
  if (R < 1) misfit(d, "down", needed_down);
  if (!d.module->has("mid")) {
    if (columns_of(down) != K) misfit(d, "down", stored.rank() > 2 ? Shape{R, inputs, taps} : Shape{R, K});
    if (up[0] != N || columns_of(up) != R) misfit(d, "up", {N, R});
    return;
  }
  const Shape& mid = axes_of(d, "mid", 3, {R, R, taps});
  if (mid[0] < 1 || mid[1] != R || taps_of(mid) != taps) misfit(d, "mid", {R, R, taps});
  if (columns_of(down) != inputs) misfit(d, "down", {R, inputs});
  if (up[0] != N || columns_of(up) != mid[0]) misfit(d, "up", {N, mid[0]});
}

void check_hadamard(const Delta& d, const Shape& stored) {
  const int64_t N = stored[0], K = columns_of(stored), taps = taps_of(stored), inputs = K / taps;
  for (const std::string i : {"1", "2"}) {
    const std::string a_name = "hada_w" + i + "_a", b_name = "hada_w" + i + "_b", core_name = "hada_t" + i;
    const Shape &a = axes_of(d, a_name, 2, {N, 1}), &b = axes_of(d, b_name, 2, {1, K});
    if (!is_tucker_loha(d)) {
      if (a.rank() != 2 || a[0] != N || a[1] < 1) misfit(d, a_name, {N, b[0]});
      if (columns_of(b) != K || b[0] != a[1]) misfit(d, b_name, {a[1], K});
      continue;
    }
    const Shape& core = axes_of(d, core_name, 3, {a[0], b[0], taps});
    if (core[0] != a[0] || core[1] != b[0] || core[0] < 1 || core[1] < 1 || taps_of(core) != taps) misfit(d, core_name, {a[0], b[0], taps});
    if (columns_of(a) != N) misfit(d, a_name, {a[0], N});
    if (columns_of(b) != inputs) misfit(d, b_name, {b[0], inputs});
  }
}

// Rows and columns of a factor of LoKr.
std::array<int64_t, 2> kronecker_factor(const Delta& d, const std::string& name, const std::string& core_name) {
  if (d.module->has(name)) {
    const Shape& whole = axes_of(d, name, 2, {1, 1});
    return {whole[0], columns_of(whole)};
  }
  const Shape &a = axes_of(d, name + "_a", 2, {1, 1}), &b = axes_of(d, name + "_b", 2, {1, 1});
  if (!d.module->has(core_name)) {
    if (a.rank() != 2 || a[1] != b[0] || a[1] < 1) misfit(d, name + "_a", {a[0], b[0]});
    return {a[0], columns_of(b)};
  }
  const Shape& core = axes_of(d, core_name, 3, {a[0], b[0], 1});
  if (core[0] != a[0] || core[1] != b[0] || core[0] < 1 || core[1] < 1) misfit(d, core_name, {a[0], b[0], taps_of(core)});
  return {columns_of(a), columns_of(b) * taps_of(core)};
}

void check_kronecker(const Delta& d, const Shape& stored) {
  const int64_t N = stored[0], K = columns_of(stored), taps = taps_of(stored);
  const auto [a, b] = kronecker_factor(d, "lokr_w1", "");
  const auto [c, e] = kronecker_factor(d, "lokr_w2", "lokr_t2");
  if (a * c != N || b * e != K || e % taps != 0)
    fail<WeightError>("{}: '{}' has factors [{}, {}] and [{}, {}], the model's weight needs products [{}, {}]", d.file->path.string(),
                      d.module->name, a, b, c, e, N, K);
}

void check_whole(const Delta& d, std::string_view part, const Shape& stored) {
  const Shape& s = axes_of(d, part, 1, stored);
  if (s[0] != stored[0] || s.numel() != stored.numel()) misfit(d, part, stored);
}

// The parts of each kind, the first of which identifies it.
struct Kind {
  std::vector<std::string_view> parts;
  bool product;  // has α and may have magnitudes
};
const Kind& kind_of(const Delta& d) {
  static const std::vector<Kind> kinds{
      {{"up", "down", "mid"}, true},
      {{"down", "up", "mid"}, true},
      {{"hada_w1_a", "hada_w1_b", "hada_w2_a", "hada_w2_b", "hada_t1", "hada_t2"}, true},
      {{"lokr_w1", "lokr_w1_a", "lokr_w1_b", "lokr_w2", "lokr_w2_a", "lokr_w2_b", "lokr_t2"}, true},
      {{"lokr_w1_a", "lokr_w1", "lokr_w1_b", "lokr_w2", "lokr_w2_a", "lokr_w2_b", "lokr_t2"}, true},
      {{"diff"}, false},
      {{"set_weight"}, false},
      {{"weight", "on_input"}, false},
      {{"ia3"}, false},
      {{"diff_b"}, false},
  };
  for (const Kind& kind : kinds)
    if (d.module->has(kind.parts[0])) return kind;
  fail<WeightError>("{}: module '{}' has only '{}', which changes nothing", d.file->path.string(), d.module->name,
                    d.module->tensors.begin()->first);
}

}  // namespace

void check(const Delta& d) {
  const Kind& kind = kind_of(d);
  const Shape stored = stored_shape(d);
  const std::string_view first = kind.parts[0];
  for (const auto& [part, name] : d.module->tensors) {
    const bool own = std::ranges::find(kind.parts, std::string_view(part)) != kind.parts.end() || part == "diff_b" || part == "alpha" ||
                     (kind.product && (part == "dora_scale" || part == "magnitude"));
    if (!own) fail<WeightError>("{}: '{}' does not belong to the other tensors of its module", d.file->path.string(), name);
  }
  if (d.module->has("alpha")) d.file->number(*d.module, "alpha");
  if (stored.rank() < 1 || (kind.product && stored.rank() < 2))
    fail<WeightError>("{}: '{}' changes a matrix, but the model's has shape {}", d.file->path.string(), d.module->name, d.shape);
  if (first == "up" || first == "down") check_low_rank(d, stored);
  else if (first == "hada_w1_a") check_hadamard(d, stored);
  else if (first.starts_with("lokr")) check_kronecker(d, stored);
  else if (first == "diff" || first == "set_weight") check_whole(d, first, stored);
  else if (first == "weight" || first == "ia3") factors_on_input(d, first);
  if (has_magnitudes(d)) magnitudes_by_row(d);
}

LowRank joined(std::vector<Delta> deltas) {
  int64_t rank = 0;
  for (const Delta& d : deltas) rank += d.module->has("mid") ? shape_of(d, "mid")[0] : shape_of(d, "down")[0];
  const Shape& official = deltas[0].shape;
  LowRank low;
  low.down = official, low.up = {official[0], rank};
  low.down[0] = rank;
  low.read = [deltas = std::move(deltas), down_shape = low.down, up_shape = low.up](Backend& host) {
    const Tensor down = Tensor::empty(host, down_shape), up = Tensor::empty(host, up_shape);
    const int64_t rank_of_all = up_shape[1], N = up_shape[0];
    int64_t first = 0;
    for (const Delta& d : deltas) {
      const Matrix low_side = down_of(d, host), high_side = official_part(d, matrix_of(d, "up", host));
      std::ranges::copy(low_side.values, down.data<float>() + first * low_side.columns);
      const double scale = d.strength * scale_of(d);
      const int64_t R = low_side.rows;
      for (int64_t n = 0; n < N; ++n)
        for (int64_t r = 0; r < R; ++r)
          up.data<float>()[n * rank_of_all + first + r] = float(scale * double(high_side.values[size_t(n * R + r)]));
      first += R;
    }
    return std::pair{down, up};
  };
  return low;
}

void add_to_weight(const Delta& d, const float* own, std::vector<float>& sum, Backend& host) {
  const Module& m = *d.module;
  if (m.has("weight")) return add_scaled(d, "weight", 0, own, sum, host);
  if (m.has("ia3")) return add_scaled(d, "ia3", 1, own, sum, host);
  if (m.has("set_weight")) {
    const Matrix set = official_part(d, matrix_of(d, "set_weight", host));
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += float(d.strength * (double(set.values[i]) - double(own[i])));
    return;
  }
  const Matrix delta = official_part(d, whole_delta(d, host));
  const double scale = scale_of(d);
  if (has_magnitudes(d)) return add_dora(d, own, delta, scale, sum, host);
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += float(d.strength * scale * double(delta.values[i]));
}

void add_to_bias(const Delta& d, const float*, std::vector<float>& sum, Backend& host) {
  const std::vector<float> stored = d.file->values(*d.module, "diff_b", host);
  const Matrix own = official_part(d, {int64_t(stored.size()), 1, stored});
  if (own.values.size() != sum.size()) misfit(d, "diff_b", {int64_t(sum.size())});
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += float(d.strength * double(own.values[i]));
}

}  // namespace hearth::adapters
