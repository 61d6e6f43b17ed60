// Convolutions against PyTorch (golden/make.py), on every backend that supports the spec's fields.
#include "ops/conv.h"
#include "ops/spec_test.h"
#include "support/golden.h"
#include "support/tolerance.h"

namespace hearth {
namespace {

using Axis = ConvSpec::Axis;
constexpr auto nearest = ConvSpec::Edge::nearest;

class Case {
 public:
  explicit Case(Backend& device) : device_(device), golden_(__FILE__, "conv", device) {}

  Tensor operator[](const std::string& name) const { return golden_.tensor(name); }
  Weight weight(const char* name, WeightKind kind, int64_t groups) const {
    const Tensor w = golden_.tensor(name);
    const WeightForm form{.groups = groups};
    return {.name = name, .shape = w.shape(), .form = form, .prepared = device_.prepare(w, kind, form), .backend = &device_, .kind = kind};
  }
  // Checks that `y` is the convolution of `x` with `w`.
  void check(const char* y, const char* x, const char* w, const Tensor& bias, const ConvSpec& spec, int64_t groups = 1,
             const Epilogue& e = {}) const {
    compare(y, x, w, bias, spec, WeightKind::conv, groups, e);
  }
  void check_transposed(const char* y, const char* x, const char* w, const Tensor& bias, const ConvSpec& spec, int64_t groups = 1) const {
    compare(y, x, w, bias, spec, WeightKind::conv_transposed, groups, {});
  }

 private:
  void compare(const char* y, const char* x, const char* w, const Tensor& bias, const ConvSpec& spec, WeightKind kind, int64_t groups,
               const Epilogue& e) const {
    SCOPED_TRACE(y);
    test::supported(device_, [&] {
      EXPECT_CLOSE(ops::conv(golden_.tensor(x), weight(w, kind, groups), bias, spec, e), golden_.values(y),
                   1e-6);  // observed 1.4e-7
    });
  }

  Backend& device_;
  const test::Golden golden_;
};

BACKEND_TEST(ConvGolden, over_one_axis) {
  const Case golden(device);
  const Tensor b = golden["line.b"];
  golden.check("line.plain", "line.x", "line.w", b, {});
  golden.check("line.far", "line.x", "line.w", b, {.columns = {.stride = 2, .before = 3, .after = 1, .dilation = 2}});
  golden.check("line.nearest", "line.x", "line.w", b, {.columns = {.before = 2, .after = 3, .edge = nearest}});
  golden.check("line.grouped", "line.x", "line.pairs", b, {.columns = {.before = 1, .after = 1}}, 2);
  golden.check("line.causal", "line.x", "line.each", {}, {.columns = {.before = 3}}, 6);
}

BACKEND_TEST(ConvGolden, over_two_axes) {
  const Case golden(device);
  golden.check("plane.grouped", "plane.x", "plane.w", golden["plane.b"],
               {.rows = {.stride = 2, .before = 2, .after = 1}, .columns = {.before = 1, .dilation = 2}}, 3);
  golden.check("plane.each_y", "plane.x", "plane.each", {}, ConvSpec::same(3), 6);
  golden.check("plane.nearest", "plane.x", "plane.whole", {},
               {.rows = {.after = 1, .edge = nearest}, .columns = {.before = 1, .after = 2, .edge = nearest}});
  golden.check("plane.nearest_far", "plane.x", "plane.whole", {},
               {.rows = {.stride = 3, .before = 8, .after = 9, .dilation = 2, .edge = nearest},
                .columns = {.stride = 3, .before = 6, .after = 7, .dilation = 2, .edge = nearest}});
}

BACKEND_TEST(ConvGolden, over_three_axes) {
  const Case golden(device);
  const Tensor b = golden["space.b"];
  const Axis rows{.before = 1, .after = 1}, columns{.before = 1};
  golden.check("space.plain", "space.x", "space.w", b, {});
  golden.check("space.causal", "space.x", "space.w", b, {.frames = {.before = 2}, .rows = rows, .columns = columns});
  golden.check("space.causal_nearest", "space.x", "space.w", b,
               {.frames = {.before = 2, .edge = nearest},
                .rows = {.before = 1, .after = 1, .edge = nearest},
                .columns = {.before = 1, .edge = nearest}});
  golden.check("space.far", "space.x", "space.w", {},
               {.frames = {.stride = 2, .after = 1},
                .rows = {.before = 2, .after = 1, .dilation = 2},
                .columns = {.stride = 3, .before = 1, .after = 1}});
  golden.check("space.grouped", "space.x", "space.halves", {}, {.frames = {.before = 1}, .columns = {.before = 1, .after = 1}}, 2);
  // The first frame is repeated; rows and columns are padded with zeros.
  golden.check("space.full", "space.x", "space.w", b, {.frames = {.before = 2, .edge = nearest}, .rows = rows, .columns = columns}, 1,
               {.activation = Activation::silu, .per_image = golden["space.per_image"], .residual = golden["space.residual"]});
}

BACKEND_TEST(ConvGolden, transposed) {
  const Case golden(device);
  const Tensor b = golden["line_up.b"];
  golden.check_transposed("line_up.plain", "line_up.x", "line_up.w", b, {});
  golden.check_transposed("line_up.wide", "line_up.x", "line_up.w", b, {.columns = {.stride = 4, .before = 2, .after = 1}});
  golden.check_transposed("line_up.grouped", "line_up.x", "line_up.w", {},
                          {.columns = {.stride = 3, .before = 1, .after = 1, .dilation = 2}}, 2);
  golden.check_transposed("plane_up.y", "plane_up.x", "plane_up.w", {},
                          {.rows = {.stride = 2, .before = 1, .dilation = 2}, .columns = {.stride = 3, .after = -2}}, 3);
  golden.check_transposed("space_up.y", "space_up.x", "space_up.w", {},
                          {.frames = {.before = 1, .after = 1}, .rows = {.stride = 2, .after = -1}, .columns = {.stride = 2, .before = 1}});
}

}  // namespace
}  // namespace hearth
