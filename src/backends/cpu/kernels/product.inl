// The product tile and its epilogue. Included once by each instruction set.

namespace hearth::cpu {
namespace {

constexpr int64_t steps_ahead = 8;  // of k to prefetch: the right side of a tile is in L2

template <int rows, int registers> void tile(const Segment* segment, int64_t count, const float* b, float* c, bool add) {
  V acc[rows][registers];
  unroll<rows>([&](auto r) { unroll<registers>([&](auto j) { acc[r][j] = zero(); }); });
  unroll<rows>([&](auto r) { unroll<registers * W / 16>([&](auto j) { __builtin_prefetch(c + r * panel_width + j * 16, 1); }); });
  for (; count > 0; --count, ++segment) {
    const float* a[rows];
    unroll<rows>([&](auto r) { a[r] = segment->row[r]; });
#pragma GCC unroll steps_unrolled
    for (int64_t k = 0, n = segment->length; k < n; ++k, b += registers * W) {
      V right[registers];
      unroll<registers>([&](auto j) { right[j] = load(b + j * W); });
      if constexpr (fetches_panels)
        unroll<registers * W / 16>([&](auto j) { __builtin_prefetch(b + j * 16 + steps_ahead * registers * W); });
      unroll<rows>([&](auto r) {
        const V left = set(a[r][k]);
        unroll<registers>([&](auto j) { acc[r][j] = fma(left, right[j], acc[r][j]); });
      });
    }
  }
  unroll<rows>([&](auto r) {
    unroll<registers>([&](auto j) {
      float* p = c + r * panel_width + j * W;
      store(p, add ? load(p) + acc[r][j] : acc[r][j]);
    });
  });
}

using Tile = void (*)(const Segment*, int64_t, const float*, float*, bool);

struct TileTable {
  Tile wide[max_tile_rows + 1] = {}, narrow[max_tile_rows + 1] = {};
};

template <int rows> constexpr void fill(TileTable& table) {
  if constexpr (rows > 0) {
    table.wide[rows] = tile<rows, 2>;
    table.narrow[rows] = tile<rows, 1>;
    fill<rows - 1>(table);
  }
}
constexpr TileTable make_tiles() {
  TileTable table;
  fill<tile_height>(table);
  return table;
}
constexpr TileTable tiles = make_tiles();

void any_tile(int64_t rows, bool wide, const Segment* segments, int64_t count, const float* b, float* c, bool add) {
  (wide ? tiles.wide : tiles.narrow)[rows](segments, count, b, c, add);
}

template <Act act> void tile_epilogue(const float* acc, int64_t rows, int64_t columns, const TileEpilogue& e) {
  const V alpha = set(e.alpha);
  for (int64_t r = 0; r < rows; ++r) {
    // Column n of acc, whose scale, bias and per_image are at m.
    const auto shifted = [&](int64_t n, int64_t m, int64_t left) {
      V v = load(acc + r * panel_width + n) * alpha;
      if (e.scale) v = v * load_upto(e.scale + m, left);
      if (e.bias) v = v + load_upto(e.bias + m, left);
      if (e.per_image) v = v + load_upto(e.per_image[r] + m, left);
      return v;
    };
    for_lanes(columns, [&](int64_t n, int64_t left) {
      V v = e.gates ? shifted(n, n, left) * activated<act>(shifted(W + n, e.gates + n, left)) : activated<act>(shifted(n, n, left));
      if (e.factor) v = v * load_upto(e.factor[r] + n, left);
      if (e.residual) v = v + load_upto(e.residual + r * e.residual_stride + n, left);
      store_upto(e.y + r * e.y_stride + n, left, v);
    });
  }
}

void any_epilogue(const float* acc, int64_t rows, int64_t columns, const TileEpilogue& e) {
  with_activation(e.activation, [&](auto act) { tile_epilogue<decltype(act)::value>(acc, rows, columns, e); });
}

}  // namespace
}  // namespace hearth::cpu
