#include "weights/packed/byte_weights.h"

#include <cstring>

#include "core/on_host.h"
#include "core/quantized/block_layouts.h"
#include "core/threads.h"

namespace hearth {

MadeTensor byte_weight(const std::shared_ptr<const Parts>& parts, const std::string& weight, const std::string& scale, float factor) {
  const Shape shape = parts->info(weight).shape;
  if (shape.rank() != 2) fail<WeightError>("{}: '{}' is {}, expected two axes", parts->describe(), weight, shape);
  const int64_t N = shape[0], K = shape[1];
  const bool one = parts->has(scale) && parts->info(scale).shape.numel() == 1 && N != 1;
  const int rank = parts->has(scale) ? parts->info(scale).shape.rank() : 1;
  parts->require(scale, DType::f32, rank == 2 ? Shape{one ? 1 : N, 1} : Shape{one ? 1 : N}, weight);
  const auto scales = [=](Backend& backend) {
    std::vector<float> values = parts->numbers(scale, backend);
    for (float& v : values) v *= factor;
    return values;
  };
  const bool whole = K % 32 == 0;
  const auto read = [=](Backend& backend) {
    const Tensor x = parts->read(weight, backend);
    const std::vector<float> own = whole ? std::vector<float>() : scales(backend);
    return written_on_host(backend, shape, whole ? DType::q8_0 : DType::f32, [&](Tensor& y) {
      const auto* const codes = x.data<int8_t>();
      backend.threads().for_ranges(N, 16, [&](int64_t first, int64_t last) {
        if (!whole)
          for (int64_t i = first * K; i < last * K; ++i) y.data<float>()[i] = float(codes[i]) * own[size_t(one ? 0 : i / K)];
        for (int64_t i = first * K; whole && i < last * K; i += 32) {
          blocks::Q80 block{.d = f32_to_f16(1), .qs = {}};
          std::memcpy(block.qs, codes + i, 32);
          std::memcpy(y.raw() + i / 32 * int64_t(sizeof block), &block, sizeof block);
        }
      });
    });
  };
  MadeTensor made(whole ? DType::q8_0 : DType::f32, shape, {weight, scale}, read);
  made.info.scaled = whole;
  if (whole)
    made.scale = [=](Backend& backend) {
      const std::vector<float> values = scales(backend);
      return Tensor::from(backend.host(), {std::ssize(values)}, values);
    };
  return made;
}

}  // namespace hearth
