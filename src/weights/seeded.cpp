#include "weights/seeded.h"

#include <cmath>

#include "core/on_host.h"
#include "core/threads.h"

namespace hearth {
namespace {

// The i-th uniform of the stream h, in [0, 1).
float uniform(uint64_t h, int64_t i) {
  uint64_t z = h + (uint64_t(i) + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  z ^= z >> 31;
  return float(z >> 40) * 0x1p-24f;
}

class SeededSource : public TensorSource {
 public:
  std::string describe() const override { return "seeded weights"; }
  std::map<std::string, TensorInfo> list() const override { return {}; }
  bool has(const std::string&) const override { return true; }
  Tensor read(const std::string& name, const Shape& wanted, Backend& backend) override {
    return written_on_host(backend, wanted, DType::f32, [&](Tensor& x) {
      backend.threads().for_ranges(x.numel(), 1 << 16,
                                   [&](int64_t begin, int64_t end) { fill_seeded(name, wanted, begin, end, x.data<float>() + begin); });
    });
  }
};

}  // namespace

uint64_t fnv1a(std::string_view name) {
  uint64_t h = 0xCBF29CE484222325u;
  for (char c : name) h = (h ^ uint8_t(c)) * 0x100000001B3u;
  return h;
}

std::vector<float> seeded_uniforms(std::string_view name, int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) values[size_t(i)] = uniform(fnv1a(name), i);
  return values;
}

// The same arithmetic as in tools/name_weights.py, in f32.
void fill_seeded(std::string_view name, const Shape& shape, int64_t begin, int64_t end, float* values) {
  const uint64_t h = fnv1a(name);
  int64_t fan_in = 1;
  for (int axis = 1; axis < shape.rank(); ++axis) fan_in *= shape[axis];
  const bool matrix = shape.rank() >= 2, scale = shape.rank() == 1 && name.ends_with("weight");
  const float factor = matrix ? float(std::sqrt(3.0) / std::sqrt(double(fan_in))) : 0.2f, offset = scale ? 1.0f : 0.0f;
  for (int64_t i = begin; i < end; ++i) values[i - begin] = offset + factor * (2 * uniform(h, i) - 1);
}

std::vector<float> seeded_values(std::string_view name, const Shape& shape) {
  std::vector<float> values(size_t(shape.numel()));
  fill_seeded(name, shape, 0, shape.numel(), values.data());
  return values;
}

std::shared_ptr<TensorSource> seeded_source() { return std::make_shared<SeededSource>(); }

}  // namespace hearth
