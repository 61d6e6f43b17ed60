// The block of bf16.h in AMX's shape: 2 × 2 tiles of 16 × 16 sums. `T` provides the tile instructions, real (amx.cpp) or
// emulated (bf16_emulated.cpp); its eight tiles are 0–3 sums (2 · half + column), 4–5 left, 6–7 right.

namespace hearth::cpu {
namespace {

template <class T, int halves, int columns>
void tile_block(const Bf16Run* run, int64_t count, const uint16_t* b, const Bf16Sums& sums, bool add) {
  constexpr size_t right_step = size_t(columns) * 64;  // bytes from one pair of k to the next
  const size_t row_bytes = size_t(sums.row_step) * sizeof(float);
  float* const c00 = sums.c;
  float* const c01 = c00 + sums.column_step;
  float* const c10 = c00 + 16 * sums.row_step;
  float* const c11 = c10 + sums.column_step;
  if (add) {
    T::template load<0>(c00, row_bytes);
    if constexpr (columns == 2) T::template load<1>(c01, row_bytes);
    if constexpr (halves == 2) T::template load<2>(c10, row_bytes);
    if constexpr (halves == 2 && columns == 2) T::template load<3>(c11, row_bytes);
  } else {
    T::template zero<0>();
    if constexpr (columns == 2) T::template zero<1>();
    if constexpr (halves == 2) T::template zero<2>();
    if constexpr (halves == 2 && columns == 2) T::template zero<3>();
  }
  for (; count > 0; --count, ++run) {
    const size_t stride0 = size_t(run->stride[0]) * 2, stride1 = size_t(run->stride[1]) * 2;
    for (int64_t k = 0; k < run->length; k += 32, b += columns * 512) {
      T::template load<4>(run->half[0] + k, stride0);
      T::template load<6>(b, right_step);
      if constexpr (columns == 2) T::template load<7>(b + 32, right_step);
      for (int line = 0; line < 16 * columns; ++line) T::prefetch(b + columns * 512 + line * 32);  // of the next step, from L2
      T::template multiply<0, 4, 6>();
      if constexpr (halves == 2) T::template load<5>(run->half[1] + k, stride1);
      if constexpr (columns == 2) T::template multiply<1, 4, 7>();
      if constexpr (halves == 2) T::template multiply<2, 5, 6>();
      if constexpr (halves == 2 && columns == 2) T::template multiply<3, 5, 7>();
    }
  }
  T::template store<0>(c00, row_bytes);
  if constexpr (columns == 2) T::template store<1>(c01, row_bytes);
  if constexpr (halves == 2) T::template store<2>(c10, row_bytes);
  if constexpr (halves == 2 && columns == 2) T::template store<3>(c11, row_bytes);
}

template <class T>
void any_tile_block(int64_t rows, bool wide, const Bf16Run* runs, int64_t count, const uint16_t* b, const Bf16Sums& sums, bool add) {
  const auto block = rows > 16 ? (wide ? tile_block<T, 2, 2> : tile_block<T, 2, 1>) : (wide ? tile_block<T, 1, 2> : tile_block<T, 1, 1>);
  block(runs, count, b, sums, add);
}

}  // namespace
}  // namespace hearth::cpu
