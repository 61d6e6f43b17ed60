// The tables of route.h, and prepare()'s layouts on every kernel path, which must match them.
#include "backends/cpu/products/route.h"

#include <gtest/gtest.h>

#include "backends/cpu/cpu_backend.h"
#include "core/factors.h"
#include "support/backend_test.h"

namespace hearth::cpu {
namespace {

Weight weight_of(Layout layout, const WeightForm& form, const Shape& shape = {96, 256}) {
  return {.name = "w", .shape = shape, .form = form, .prepared = std::make_shared<CpuWeight>(layout)};
}

constexpr int64_t any = 0;

TEST(Route, of_a_linear_layer) {
  const struct {
    Layout layout;
    DType hold, factors;
    int64_t first, last;  // rows of x
    Route route;
  } table[] = {
      {Layout::panels, DType::f32, DType::f32, 1, any, Route::panels},
      {Layout::panels, DType::f16, DType::f32, 1, any, Route::panels},
      {Layout::panels, DType::bf16, DType::f32, 1, any, Route::panels},
      {Layout::panels, DType::bf16, DType::bf16, 1, any, Route::panels},
      {Layout::bf16_panels, DType::bf16, DType::bf16, 1, any, Route::bf16_panels},

      {Layout::rows, DType::f32, DType::f32, 1, 1, Route::one_row},
      {Layout::rows, DType::f32, DType::f32, 2, 47, Route::rows},
      {Layout::rows, DType::f32, DType::f32, 48, any, Route::turned_rows},
      {Layout::rows, DType::bf16, DType::f32, 1, 1, Route::one_row},
      {Layout::rows, DType::bf16, DType::f32, 2, 47, Route::rows},
      {Layout::rows, DType::bf16, DType::f32, 48, any, Route::turned_rows},
      {Layout::rows, DType::q4_k, DType::f32, 1, 1, Route::one_row},
      {Layout::rows, DType::q4_k, DType::f32, 2, 47, Route::rows},
      {Layout::rows, DType::q4_k, DType::f32, 48, any, Route::turned_rows},

      {Layout::rows, DType::f8_e4m3, DType::f32, 1, 1, Route::one_row},
      {Layout::rows, DType::f8_e5m2, DType::f32, 48, any, Route::turned_rows},
      {Layout::rows, DType::f8_e4m3, DType::bf16, 1, 1, Route::one_rounded_row},
      {Layout::rows, DType::f8_e4m3, DType::bf16, 2, 15, Route::rounded_rows},
      {Layout::rows, DType::f8_e4m3, DType::bf16, 16, any, Route::paired_rows},

      {Layout::rows, DType::bf16, DType::bf16, 1, 1, Route::one_rounded_row},
      {Layout::rows, DType::bf16, DType::bf16, 2, 15, Route::rounded_rows},
      {Layout::rows, DType::bf16, DType::bf16, 16, any, Route::paired_rows},

      {Layout::rows, DType::q8_0, DType::i16, 1, 2, Route::few_integers},
      {Layout::rows, DType::q8_0, DType::i16, 3, any, Route::integers},
      {Layout::rows, DType::q8_0, DType::bf16, 1, 2, Route::few_integers},
      {Layout::rows, DType::q8_0, DType::bf16, 3, 15, Route::integers},
      {Layout::rows, DType::q8_0, DType::bf16, 16, any, Route::paired_rows},
  };
  for (const auto& t : table) {
    const Weight w = weight_of(t.layout, {.hold = t.hold, .factors = t.factors, .in_place = t.layout == Layout::rows});
    for (const int64_t rows : {t.first, t.last == any ? int64_t(100000) : t.last})
      EXPECT_EQ(int(route_of(w, rows)), int(t.route))
          << "layout " << int(t.layout) << ", " << name_of(t.hold) << ", factors " << name_of(t.factors) << ", " << rows << " rows";
  }
}

TEST(Route, few_rows_of_the_same_x_are_combined) {
  const struct {
    Route route;
    bool few, rounds;
  } table[] = {{Route::panels, false, false},        {Route::bf16_panels, false, false}, {Route::one_row, true, false},
               {Route::one_rounded_row, true, true}, {Route::few_integers, true, false}, {Route::rows, false, false},
               {Route::rounded_rows, false, true},   {Route::turned_rows, false, false}, {Route::paired_rows, false, false},
               {Route::integers, false, false},      {Route::gated_rows, false, false}};
  for (const auto& t : table) {
    EXPECT_EQ(is_few(t.route), t.few) << int(t.route);
    EXPECT_EQ(rounds_x(t.route), t.rounds) << int(t.route);
  }
}

TEST(Route, of_a_convolution) {
  const auto of = [](Layout layout, const Shape& shape, int64_t stride = 1) {
    const bool bf16 = layout == Layout::bf16_panels;
    const WeightForm form{.hold = bf16 ? DType::bf16 : DType::f32, .factors = bf16 ? DType::bf16 : DType::f32};
    return conv_route_of(weight_of(layout, form, shape), ConvSpec::plane(stride));
  };
  EXPECT_EQ(of(Layout::panels, {64, 64, 3, 3}), ConvRoute::winograd);
  EXPECT_EQ(of(Layout::panels, {64, 64, 3, 3}, 2), ConvRoute::taps);
  EXPECT_EQ(of(Layout::panels, {63, 64, 3, 3}), ConvRoute::taps);
  EXPECT_EQ(of(Layout::panels, {64, 63, 3, 3}), ConvRoute::taps);
  EXPECT_EQ(of(Layout::panels, {64, 64, 1, 1}), ConvRoute::taps);
  EXPECT_EQ(of(Layout::panels, {64, 64, 3, 1}), ConvRoute::taps);
  EXPECT_EQ(of(Layout::panels, {320, 16, 3, 3}), ConvRoute::taps);
  EXPECT_EQ(of(Layout::panels, {320, 15, 3, 3}), ConvRoute::gathered);
  EXPECT_EQ(of(Layout::panels, {320, 4, 1, 1}), ConvRoute::gathered);
  EXPECT_EQ(of(Layout::bf16_panels, {64, 64, 3, 3}), ConvRoute::bf16);
  EXPECT_EQ(of(Layout::bf16_panels, {320, 4, 3, 3}, 2), ConvRoute::bf16);
}

// Without matrix tiles, convolutions with Winograd keep f32 factors.
TEST(Route, layout_of_a_weight) {
  const WeightForm f32{.hold = DType::f32}, half{.hold = DType::f16}, bf16{.hold = DType::bf16, .factors = DType::bf16},
      rows{.hold = DType::q4_0, .factors = DType::bf16, .in_place = true};
  const Shape matrix{128, 64}, served{64, 64, 3, 3}, other{64, 64, 1, 1};
  const struct {
    const Shape& shape;
    WeightKind kind;
    const WeightForm& form;
    Layout preferring, not_preferring;
  } table[] = {{matrix, WeightKind::linear, f32, Layout::panels, Layout::panels},
               {matrix, WeightKind::glu, half, Layout::panels, Layout::panels},
               {served, WeightKind::conv, half, Layout::panels, Layout::panels},
               {matrix, WeightKind::linear, bf16, Layout::bf16_panels, Layout::bf16_panels},
               {matrix, WeightKind::glu, bf16, Layout::bf16_panels, Layout::bf16_panels},
               {other, WeightKind::conv, bf16, Layout::bf16_panels, Layout::bf16_panels},
               {served, WeightKind::conv, bf16, Layout::bf16_panels, Layout::panels},
               {matrix, WeightKind::linear, rows, Layout::rows, Layout::rows}};
  for (const auto& t : table) {
    SCOPED_TRACE(fmt::format("{} factors {}", t.shape, name_of(t.form.factors)));
    EXPECT_EQ(layout_of(t.shape, t.kind, t.form, true), t.preferring);
    EXPECT_EQ(layout_of(t.shape, t.kind, t.form, false), t.not_preferring);
  }
}

HOST_TEST(Layouts, match_prepare) {
  if (device.name() != "cpu") GTEST_SKIP() << "no layouts";
  for (const WeightForm& form :
       {WeightForm{}, WeightForm{.hold = DType::f16}, WeightForm{.hold = DType::bf16, .factors = DType::bf16},
        WeightForm{.hold = DType::bf16, .in_place = true}, WeightForm{.hold = DType::q8_0, .factors = DType::i16, .in_place = true}}) {
    if (!has_products(device, form)) continue;
    for (const auto& [shape, kind] : std::vector<std::pair<Shape, WeightKind>>{
             {{64, 64}, WeightKind::linear}, {{64, 64, 3, 3}, WeightKind::conv}, {{64, 64, 1, 1}, WeightKind::conv}}) {
      if (form.in_place && kind != WeightKind::linear) continue;
      const auto prepared = device.prepare(Tensor::zeros(device, shape, form.in_place ? form.hold : DType::f32), kind, form);
      EXPECT_EQ(static_cast<const CpuWeight&>(*prepared).layout, layout_of(shape, kind, form, device.prefers_bf16()))
          << fmt::format("{} as {} with factors {}", shape, name_of(form.hold), name_of(form.factors));
    }
  }
}

}  // namespace
}  // namespace hearth::cpu
