#include "weights/packed/block_float8.h"

#include <array>

#include "core/on_host.h"
#include "core/threads.h"
#include "weights/layout/float8.h"

namespace hearth {
namespace {

std::array<float, 256> f8_values(DType dtype) {
  std::array<float, 256> values;
  for (size_t i = 0; i < values.size(); ++i) values[i] = f8_to_f32(dtype, uint8_t(i));
  return values;
}

int64_t blocks_in(int64_t values, int64_t block) { return (values + block - 1) / block; }

}  // namespace

MadeTensor widened_float8(const std::shared_ptr<const Parts>& parts, const std::string& weight, const std::string& scale,
                          const Rectangle& block, DType dtype) {
  const Shape shape = parts->info(weight).shape;
  if (shape.rank() != 2) fail<WeightError>("{}: '{}' is {}, expected two axes", parts->describe(), weight, shape);
  const int64_t N = shape[0], K = shape[1], across = blocks_in(K, block.columns);
  parts->require(scale, DType::f32, {blocks_in(N, block.rows), across}, weight);
  const auto read = [=](Backend& backend) {
    const Tensor x = parts->read(weight, backend);
    const std::vector<float> scales = parts->numbers(scale, backend);
    return written_on_host(backend, shape, dtype, [&](Tensor& y) {
      const std::array<float, 256> values = f8_values(x.dtype());
      backend.threads().for_ranges(N, 8, [&](int64_t first, int64_t last) {
        std::vector<float> row(static_cast<size_t>(K));
        for (int64_t n = first; n < last; ++n) {
          const auto* const bits = x.data<uint8_t>() + n * K;
          const float* const own = scales.data() + n / block.rows * across;
          for (int64_t k = 0; k < K; ++k) row[size_t(k)] = values[bits[k]] * own[k / block.columns];
          narrow_to(dtype, row.data(), K, y.raw() + n * int64_t(bytes_of(dtype, K)));
        }
      });
    });
  };
  return {dtype, shape, {weight, scale}, read};
}

std::set<std::string> check_float8_scales(const TensorSource& source, std::string_view scale) {
  std::set<std::string> of_cache;
  const std::map<std::string, TensorInfo> listed = source.list();
  for (const auto& [name, info] : listed) {
    for (const char* ending : {".k_scale", ".v_scale", ".kv_scale"})
      if (name.ends_with(ending)) of_cache.insert(name);
    const auto layer = before_ending(name, ".weight");
    if (layer && is_8bit_float(info.dtype) && !listed.contains(*layer + "." + std::string(scale)))
      fail<WeightError>("{}: '{}.{}' is missing, but '{}' is {}", source.describe(), *layer, scale, name, name_of(info.dtype));
  }
  return of_cache;
}

std::shared_ptr<TensorSource> unpacked_fp8(std::shared_ptr<TensorSource> source, const Config& model, const Config& c) {
  c.only("fmt", {"e4m3", "float8_e4m3fn"});
  c.only("weight_per_tensor", false);
  c.no_effect({"quant_method", "activation_scheme", "modules_to_not_convert", "ignored_layers", "dequantize"});
  const bool blocks = c.has("weight_block_size");
  const std::vector<int64_t> size = blocks ? c.integers("weight_block_size") : std::vector<int64_t>();
  if (blocks && (size.size() != 2 || size[0] < 1 || size[1] < 1))
    fail<WeightError>("{}: 'weight_block_size' = {}, expected the rows and columns of a block", c.where(), c.dump("weight_block_size"));
  c.no_effect_where_off();
  c.finish();

  const std::set<std::string> of_cache = check_float8_scales(*source, blocks ? "weight_scale_inv" : "weight_scale");
  if (!blocks) return with_float8_scales(with_made(std::move(source), {}, of_cache));
  const DType dtype = stated_dtype(model);
  const auto parts = std::make_shared<const Parts>(source);
  std::map<std::string, MadeTensor> made;
  std::set<std::string> dropped = of_cache;
  for (const auto& [name, info] : parts->listed()) {
    const auto layer = before_ending(name, ".weight");
    if (!layer || !is_8bit_float(info.dtype)) continue;
    made[name] = widened_float8(parts, name, name + "_scale_inv", {size[0], size[1]}, dtype);
    dropped.insert({*layer + ".input_scale", *layer + ".activation_scale"});
  }
  return with_made(std::move(source), std::move(made), dropped);
}

std::shared_ptr<TensorSource> unpacked_modelopt(std::shared_ptr<TensorSource> source, const Config& c) {
  const std::string algorithm = c.text("quant_algo");
  if (algorithm != "FP8")
    fail<UnsupportedError>("{}: the quantization algorithm '{}' of modelopt is not supported, expected FP8", c.where(), algorithm);
  c.no_effect({"quant_method", "kv_cache_quant_algo", "kv_cache_scheme", "exclude_modules", "ignore", "producer", "config_groups",
               "quantization_status"});
  c.no_effect_where_off();
  c.finish();
  const std::set<std::string> of_cache = check_float8_scales(*source, "weight_scale");
  return with_float8_scales(with_made(std::move(source), {}, of_cache));
}

}  // namespace hearth
