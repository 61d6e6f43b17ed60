#include "backends/cpu/products/route.h"

#include "backends/cpu/convolution/conv_weights.h"
#include "core/factors.h"

namespace hearth::cpu {
namespace {

constexpr int64_t most_few = 2;             // rows of x that are multiplied with the stored integers one by one
constexpr int64_t fewest_turned_rows = 48;  // rows of x from which transposing w pays

Layout layout_of(const Weight& w) { return static_cast<const CpuWeight&>(*w.prepared).layout; }

}  // namespace

Layout layout_of(const Shape& w, WeightKind kind, const WeightForm& form, bool prefers_bf16) {
  if (form.in_place) return Layout::rows;
  if (form.factors != DType::bf16) return Layout::panels;
  // Without tiles, Winograd's quarter of the multiplications in f32 is less work than all of them in bf16.
  return kind == WeightKind::conv && winograd_pays(w, {}) && !prefers_bf16 ? Layout::panels : Layout::bf16_panels;
}

Route route_of(const Weight& w, int64_t rows) {
  switch (layout_of(w)) {
    case Layout::panels: return Route::panels;
    case Layout::bf16_panels: return Route::bf16_panels;
    case Layout::rows: break;
  }
  if (w.kind == WeightKind::glu) return Route::gated_rows;
  switch (factors_of(w.form, rows)) {
    case DType::i16: return rows <= most_few ? Route::few_integers : Route::integers;
    case DType::bf16: return rows >= fewest_bf16_rows ? Route::paired_rows : rows > 1 ? Route::rounded_rows : Route::one_rounded_row;
    default: return rows >= fewest_turned_rows ? Route::turned_rows : rows > 1 ? Route::rows : Route::one_row;
  }
}

ConvRoute conv_route_of(const Weight& w, const ConvSpec& spec) {
  if (w.kind == WeightKind::conv_transposed) return ConvRoute::transposed;
  if (w.form.groups > 1) return is_depthwise(w) ? ConvRoute::depthwise : ConvRoute::grouped;
  if (layout_of(w) == Layout::bf16_panels) return ConvRoute::bf16;
  if (winograd_pays(w.shape, spec)) return ConvRoute::winograd;
  return w.in() < few_channels ? ConvRoute::gathered : ConvRoute::taps;
}

bool winograd_pays(const Shape& w, const ConvSpec& spec) {
  const auto plain = [](const ConvSpec::Axis& a) { return a.stride == 1 && a.dilation == 1; };
  return w.rank() >= 4 && w[-1] == 3 && w[-2] == 3 && plain(spec.rows) && plain(spec.columns) && w[0] >= 64 && w[1] >= 64;
}

}  // namespace hearth::cpu
