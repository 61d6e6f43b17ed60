#include "backends/vulkan/tiles.h"
#include "backends/vulkan/vulkan_class.h"

namespace hearth::vulkan {
namespace {

WindowParameters windows_of(const Tensor& x, const Shape& w, const ConvSpec& spec, const Tensor& y) {
  const ConvAxes axes(x, w, spec, y);
  WindowParameters p{.image = uint32_t(count_of(axes.in)), .channels = uint32_t(x.size(-1))};
  for (size_t i = 0; i < 3; ++i) {
    p.from[i] = uint32_t(axes.in[i]), p.to[i] = uint32_t(axes.out[i]), p.taps[i] = uint32_t(axes.taps[i]);
    p.stride[i] = uint32_t(axes.spec[i].stride), p.dilation[i] = uint32_t(axes.spec[i].dilation);
    p.nearest[i] = axes.spec[i].edge == ConvSpec::Edge::nearest, p.before[i] = int32_t(axes.spec[i].before);
  }
  if (spec.resize_to[0] > 0) {
    p.resized = 1;
    for (size_t i = 0; i < 2; ++i) {
      p.stored[i] = p.from[i + 1];
      p.from[i + 1] = uint32_t(spec.resize_to[i]);
      p.ratio[i] = float(p.stored[i]) / float(p.from[i + 1]);
    }
  }
  return p;
}

}  // namespace

void VulkanBackend::conv(const Tensor& input, const Weight& w, const Tensor& bias, const ConvSpec& spec, const Epilogue& e,
                         const GroupNormSpec& norm, Tensor& y) {
  const Tensor x = normalized(input, norm, w.form.factors);
  const int64_t O = y.size(-1), image_rows = y.numel() / (y.size(0) * O), rows = y.size(0) * image_rows, C = x.size(-1);
  const int64_t taps = taps_of(w.shape), of_group = C / w.form.groups, depth = taps * of_group;
  const uint64_t weight = address(w);
  const uint32_t rounds = w.form.factors == DType::bf16 ? left_to_round(x) : 0;  // w is bf16
  const double work = 2.0 * double(rows) * double(O) * double(depth);
  if (w.form.groups > 1 || w.kind == WeightKind::conv_transposed) {
    struct Parameters {
      EpilogueParameters epilogue;
      WindowParameters windows;
      uint64_t x, w, y;
      uint32_t count, outputs, taps, of_group, group_outputs, x_type, w_type, transposed, rounds, padding;
    } const p{epilogue(e, w, bias, image_rows, y),
              windows_of(x, w.shape, spec, y),
              address(x),
              weight,
              address(y),
              uint32_t(y.numel()),
              uint32_t(O),
              uint32_t(taps),
              uint32_t(of_group),
              uint32_t(O / w.form.groups),
              code(x.dtype()),
              code(w.form.hold),
              w.kind == WeightKind::conv_transposed,
              rounds,
              0};
    stream_->run(Shader::direct_convolution, {}, p, parts(y.numel(), pointwise_size), work);
    return;
  }
  const Tile tile = tile_of(rows, O);
  struct Parameters {
    EpilogueParameters epilogue;
    WindowParameters windows;
    uint64_t x, w, y;
    uint32_t row_tiles, rows, outputs, depth, x_type, w_type, aligned, rounds;
  } const p{epilogue(e, w, bias, image_rows, y),
            windows_of(x, w.shape, spec, y),
            address(x),
            weight,
            address(y),
            uint32_t(parts(rows, tile.rows())),
            uint32_t(rows),
            uint32_t(O),
            uint32_t(depth),
            code(x.dtype()),
            code(w.form.hold),
            C % 8 == 0 && address(x) % 16 == 0,
            rounds};
  stream_->run(Shader::convolution, {tile.invocations(), tile.across, tile.own_rows, tile.own_columns}, p,
               p.row_tiles * parts(O, tile.columns()), work);
}

}  // namespace hearth::vulkan
