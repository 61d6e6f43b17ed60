// The same sums as rows.inl, bit-identical, for many rows of x: rows of w are the lanes of a register, and a lane of k there
// is a run of k here. Included once by each instruction set.

namespace hearth::cpu {
namespace {

// The index of the run of lane l among the W runs of a chunk: quarter_sums adds lanes 0 and 2, 1 and 3 of a quarter, and further sums
// add neighbors.
constexpr int64_t place_of(int64_t l) { return (l & ~int64_t(3)) | (l & 1) << 1 | (l >> 1 & 1); }

// Transposes register j of each of W rows into column j of each run; runs have `length` values.
template <class Load> HEARTH_INLINE void turn_registers(int64_t j, int64_t length, int64_t width, const Load& load_row, float* to) {
  V r[W];
  unroll<W>([&](auto i) { r[i] = load_row(i, j * W); });
  turn(r);
  unroll<W>([&](auto l) { store_upto(to + place_of(l) * length + j * width, width, r[l]); });
}

void turn_left(const float* x, int64_t x_stride, int64_t rows, int64_t n, float* to) {
  const int64_t steps = (n + W - 1) / W;
  for (int64_t j = 0; j < steps; ++j)
    turn_registers(
        j, steps * tile_height, tile_height,
        [&](int64_t i, int64_t k) { return i < rows ? load_upto(x + i * x_stride + k, n - k) : zero(); }, to);
}

template <class Format>
concept IsWords = Format::bytes == 2 * Format::values;

// Transposes 2·W words of each of W rows of 16-bit floats into columns j and j + 1 of each run.
template <class Format>
HEARTH_INLINE void turn_words_of(int64_t j, int64_t length, int64_t width, const char* rows, int64_t row_bytes, float* to) {
  I r[W];
  unroll<W>([&](auto i) { r[i] = load_i(rows + i * row_bytes); });
  turn_words(r);
  alignas(64) uint16_t columns[2 * W][W];
  unroll<W>([&](auto i) { store_i(columns[2 * i], r[i]); });
  unroll<2 * W>([&](auto i) {
    constexpr int64_t column = i / 16 * 16 + i % 16 / 2 + i % 2 * 8;
    store(to + place_of(column % W) * length + (j + column / W) * width, Format::bf16 ? load_bf16(columns[i]) : load_f16(columns[i]));
  });
}

void turn_right(RowType type, const void* w, int64_t row_bytes, int64_t rows, int64_t n, float* to) {
  constexpr int64_t piece = 256, stride = piece + 16;  // whole blocks of every type; rows fall into different cache sets
  const int64_t steps = (n + W - 1) / W, run = steps * panel_width + turned_gap;
  alignas(64) float wide[W * stride];
  with_format(type, [&](auto format) {
    using Format = decltype(format);
    for (int64_t first = 0; first < panel_width; first += W)
      for (int64_t k0 = 0; k0 < n; k0 += piece) {
        const int64_t count = n - k0 < piece ? n - k0 : piece;
        const char* column = static_cast<const char*>(w) + first * row_bytes + k0 * Format::bytes / Format::values;
        int64_t done = 0;
        if constexpr (IsWords<Format>)
          for (; first + W <= rows && done + 2 * W <= count; done += 2 * W)
            turn_words_of<Format>((k0 + done) / W, run, panel_width, column + 2 * done, row_bytes, to + first);
        if (done == count) continue;
        for (int64_t i = 0; i < W && first + i < rows; ++i) widen_of<Format>(column + i * row_bytes, count, wide + i * stride);
        for (int64_t k = done; k < count; k += W)
          turn_registers((k0 + k) / W, run, panel_width,
                         [&](int64_t i, int64_t) { return first + i < rows ? load_upto(wide + i * stride + k, count - k) : zero(); },
                         to + first);
      }
  });
}

template <int rows>
void turned_tile_of(const float* left, const float* right, int64_t steps, float* sums, bool add, const char* next, int64_t next_bytes) {
  constexpr int levels = W == 16 ? 4 : 3;
  alignas(64) float waiting[levels][rows * panel_width];  // sums of the last 1, 2, 4 … lanes, to be added to their neighbors
  for (int run = 0; run < W; ++run) {
    for (int64_t line = run * 64; line < next_bytes; line += W * 64) __builtin_prefetch(next + line, 0, 2);
    V acc[rows][2];
    unroll<rows>([&](auto r) { unroll<2>([&](auto j) { acc[r][j] = zero(); }); });
#pragma GCC unroll steps_unrolled
    for (int64_t step = 0; step < steps; ++step, left += tile_height, right += panel_width) {
      const V w[2] = {load(right), load(right + W)};
      if constexpr (fetches_panels) {
        unroll<panel_width / 16>([&](auto line) { __builtin_prefetch(right + steps_ahead * panel_width + line * 16); });
        __builtin_prefetch(left + steps_ahead * tile_height);
      }
      unroll<rows>([&](auto r) {
        const V x = set(left[r]);
        unroll<2>([&](auto j) { acc[r][j] = fma(x, w[j], acc[r][j]); });
      });
    }
    right += turned_gap;
    const auto plus = [&](const float* p) {
      unroll<rows>([&](auto r) { unroll<2>([&](auto j) { acc[r][j] = load(p + r * panel_width + j * W) + acc[r][j]; }); });
    };
    int level = 0;
    for (; run >> level & 1; ++level) plus(waiting[level]);
    const bool last = run == W - 1;
    if (last && add) plus(sums);
    float* const to = last ? sums : waiting[level];
    unroll<rows>([&](auto r) { unroll<2>([&](auto j) { store(to + r * panel_width + j * W, acc[r][j]); }); });
  }
}

using TurnedTile = void (*)(const float*, const float*, int64_t, float*, bool, const char*, int64_t);

struct TurnedTiles {
  TurnedTile of[max_tile_rows + 1] = {};
};

template <int rows> constexpr void fill(TurnedTiles& table) {
  if constexpr (rows > 0) {
    table.of[rows] = turned_tile_of<rows>;
    fill<rows - 1>(table);
  }
}
constexpr TurnedTiles make_turned_tiles() {
  TurnedTiles table;
  fill<tile_height>(table);
  return table;
}
constexpr TurnedTiles turned_tiles = make_turned_tiles();

void turned_tile(int64_t rows, const float* left, const float* right, int64_t steps, float* sums, bool add, const void* next,
                 int64_t next_bytes) {
  turned_tiles.of[rows](left, right, steps, sums, add, static_cast<const char*>(next), next_bytes);
}

void pair_rows(const void* w, int64_t w_stride, int64_t rows, int64_t n, int64_t width, int64_t depth, uint16_t* to) {
  const auto* const words = static_cast<const uint16_t*>(w);
  for (int64_t first = 0; first < width; first += W)
    for (int64_t k = 0; k < depth; k += 2 * W) {
      const int64_t count = n - k < 2 * W ? n - k : 2 * W;
      V r[W];
      for (int64_t i = 0; i < W; ++i) {
        const uint16_t* const from = words + (first + i) * w_stride + k;
        alignas(64) uint16_t last[2 * W] = {};
        if (first + i < rows && count > 0 && count < 2 * W) __builtin_memcpy(last, from, size_t(count) * sizeof(uint16_t));
        r[i] = as_floats(load_i(first + i < rows && count == 2 * W ? from : last));
      }
      turn(r);
      for (int64_t j = 0; j < W && k + 2 * j < depth; ++j) store(reinterpret_cast<float*>(to) + (k / 2 + j) * width + first, r[j]);
    }
}

}  // namespace
}  // namespace hearth::cpu
