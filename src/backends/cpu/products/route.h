// Which product kernel handles a weight and its left side. Only this file decides it: first the layout of a weight when it is
// prepared (layout_of), then the route by that layout, its factors and the rows of the left side (route_of), or by the convolution's shape
// (conv_route_of). None of it depends on threads, batch or values.
#pragma once

#include "core/backend.h"

namespace hearth::cpu {

enum class Layout {
  panels,       // PackedWeight (product.h): columns of f32, f16 or bf16 for products of f32
  bf16_panels,  // Bf16Weight (bf16.h): pairs of k for products of bf16
  rows,         // RowsWeight (rows.h): as in the file
};

// Base of every weight that this backend has prepared.
struct CpuWeight : PreparedWeight {
  explicit CpuWeight(Layout l) : layout(l) {}
  const Layout layout;
};

// w: the shape in the checkpoint. prefers_bf16: Backend::prefers_bf16().
Layout layout_of(const Shape& w, WeightKind kind, const WeightForm& form, bool prefers_bf16);

// Routes of a linear layer.
//
//   layout        factors (core/factors.h)   rows of x      route
//   panels        f32                        any            panels
//   bf16_panels   bf16                       any            bf16_panels
//   rows, of a gated linear unit             any            gated_rows: the route of the whole weight, then the epilogue
//   rows          f32                        1              one_row
//                                            2 … 47         rows
//                                            48 and more    turned_rows
//                 bf16                       1              one_rounded_row
//                                            2 … 15         rounded_rows
//                                            16 and more    paired_rows
//                 i16                        1 and 2        few_integers
//                                            3 and more     integers
//
// Weights of panels may have bf16 factors in their form and f32 here: those of convolutions with Winograd (layout_of).
enum class Route {
  panels,           // product.cpp
  bf16_panels,      // product_bf16.cpp
  one_row,          // few_rows.cpp: rows of w, one by one, as they arrive from memory
  one_rounded_row,  // the same; x is rounded to bf16 first, and multiplied in f32
  few_integers,     // few_rows.cpp, with the stored integers
  rows,             // rows.cpp: a few rows of w at a time, widened
  rounded_rows,     // the same; x is rounded to bf16 first, and multiplied in f32
  turned_rows,      // rows_turned.cpp: w and x transposed into columns, which pays for many rows
  paired_rows,      // rows_bf16.cpp: products of bf16, w as pairs of k
  integers,         // rows_integers.cpp
  gated_rows,       // rows_gated.cpp
};

// rows: of x, over all images.
Route route_of(const Weight& w, int64_t rows);

// Whether few_rows.cpp handles it, together with other products of the same x.
inline bool is_few(Route r) { return r == Route::one_row || r == Route::one_rounded_row || r == Route::few_integers; }
inline bool rounds_x(Route r) { return r == Route::one_rounded_row || r == Route::rounded_rows; }

// Routes of a convolution.
enum class ConvRoute {
  transposed,  // conv_transposed.cpp
  depthwise,   // conv.cpp: one group per channel
  grouped,     // conv.cpp: one product per group
  bf16,        // conv_bf16.cpp: weights of bf16_panels
  winograd,    // winograd.cpp: if winograd_pays
  gathered,    // product.cpp, if a tap has fewer than few_channels: the taps of a row are copied next to each other
  taps,        // product.cpp: each tap is a run of k, read from x in place
};
ConvRoute conv_route_of(const Weight& w, const ConvSpec& spec);

// Whether a convolution with f32 factors uses Winograd's F(4×4, 3×3). w: its shape in the checkpoint.
bool winograd_pays(const Shape& w, const ConvSpec& spec);

inline constexpr int64_t few_channels = 16;  // of a convolution's input: runs of fewer channels are too short

}  // namespace hearth::cpu
