#include "backends/vulkan/tiles.h"
#include "backends/vulkan/vulkan_class.h"
#include "core/factors.h"

namespace hearth::vulkan {

EpilogueParameters VulkanBackend::epilogue(const Epilogue& e, const Weight& w, const Tensor& bias, int64_t image_rows,
                                           const Tensor& y) const {
  return {.bias = address(bias),
          .scale = address(w.scale),
          .per_image = address(e.per_image),
          .addend = address(e.addend),
          .gate = address(e.gate),
          .residual = address(e.residual),
          .alpha = e.alpha,
          .scale_each = w.scale && w.scale.numel() > 1,
          .image_rows = uint32_t(image_rows),
          .activation = code(e.activation),
          .y_type = code(y.dtype()),
          .residual_type = e.residual ? code(e.residual.dtype()) : 0};
}

Tensor VulkanBackend::to_integers(const Tensor& x) {
  const int64_t rows = x.size(0) * x.size(1), K = x.size(2);
  const Tensor y = Tensor::empty(*this, {rows, K / 32 * 20}, DType::f32);  // as shaders/quads.glsl says
  struct Parameters {
    uint64_t x, y;
    uint32_t rows, depth, x_type, few, digits, aligned;
  } const p{address(x),
            address(y),
            uint32_t(rows),
            uint32_t(K),
            code(x.dtype()),
            rows <= most_few_rows,
            card_ && card_->description().dots,
            address(x) % 16 == 0};
  stream_->run(Shader::to_integers, {}, p, parts(rows * K / 8, pointwise_size), double(x.numel()) * 20);
  return y;
}

void VulkanBackend::linear(const Tensor& input, const Weight& w, const Tensor& bias, const Epilogue& e, const GroupNormSpec& norm,
                           Tensor& y) {
  const DType factors = factors_of(w.form, input.size(0) * input.size(1));
  const Tensor x = normalized(input, norm, factors);
  multiply(x, factors == DType::i16 ? to_integers(x) : Tensor(), w, bias, e, y);
}

void VulkanBackend::multiply(const Tensor& x, const Tensor& integers, const Weight& w, const Tensor& bias, const Epilogue& e, Tensor& y) {
  const int64_t rows = x.size(0) * x.size(1), K = x.size(2);
  // Models have no narrow products of blocks, and each tile of each of their types is a compiled shader.
  const Tile tile = is_compact(w.form.hold) ? wide_tile(rows) : tile_of(rows, w.out());
  const bool bf16 = factors_of(w.form, rows) == DType::bf16;
  struct Parameters {
    EpilogueParameters epilogue;
    uint64_t x, w, y, grids;
    uint32_t row_tiles, rows, outputs, depth, x_type, plain_type, gated, aligned, rounds, padding;
  } const p{epilogue(e, w, bias, x.size(1), y),
            address(integers ? integers : x),
            address(w),
            address(y),
            grids(w.form.hold),
            uint32_t(parts(rows, tile.rows())),
            uint32_t(rows),
            uint32_t(w.outputs()),
            uint32_t(K),
            code(x.dtype()),
            code(w.form.hold),
            w.kind == WeightKind::glu,
            K % 8 == 0 && address(x) % 16 == 0,
            bf16 ? left_to_round(x) | (is_blocked(w.form.hold) ? round_right : 0) : 0,
            0};
  const bool dots = card_ && card_->description().dots;
  const double work = 2.0 * double(rows) * double(K) * double(w.out());
  if (rows <= most_few_rows && integers) {
    constexpr int64_t columns = 8;  // of a workgroup
    stream_->run(dots ? Shader::dots_few_rows : Shader::integer_few_rows, w.form.hold, {}, p, parts(w.out(), columns), work);
  } else if (rows <= most_few_rows) {
    // Of a group of invocations: short rows of w have no work for more. Those of blocks are long.
    const uint32_t lanes = K <= 256 && !is_compact(w.form.hold) ? 8 : 32;
    const int64_t columns = 2 * (128 / lanes);  // of a workgroup
    stream_->run(Shader::few_rows, w.form.hold, {uint32_t(rows == 1 && lanes == 8 ? 1 : most_few_rows), lanes}, p, parts(w.out(), columns),
                 work);
  } else {
    const Shader shader = !integers ? Shader::product : dots ? Shader::dots_product : Shader::integer_product;
    stream_->run(shader, w.form.hold, {tile.invocations(), tile.across, tile.own_rows, tile.own_columns}, p,
                 p.row_tiles * parts(w.out(), tile.columns()), work);
  }
}

// What several products read is computed before them: they do not wait for each other.
void VulkanBackend::linears(const Tensor& x, std::span<LinearCall> calls) {
  const auto of_integers = [&](const LinearCall& c) { return factors_of(c.w.form, x.size(0) * x.size(1)) == DType::i16; };
  Tensor integers;
  for (const LinearCall& c : calls) {
    if (of_integers(c) && !integers) integers = to_integers(x);
    grids(c.w.form.hold);
  }
  const Stream::Unordered unordered(*stream_);
  for (LinearCall& c : calls) multiply(x, of_integers(c) ? integers : Tensor(), c.w, c.bias, c.e, c.y);
}

}  // namespace hearth::vulkan
