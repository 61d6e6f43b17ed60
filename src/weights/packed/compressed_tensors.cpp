#include "weights/packed/compressed_tensors.h"

#include <algorithm>
#include <optional>

#include "weights/layout/float8.h"
#include "weights/packed/block_float8.h"
#include "weights/packed/byte_weights.h"
#include "weights/packed/grouped_weights.h"

namespace hearth {
namespace {

// What the groups of the configuration say of weights.
struct StatedWeights {
  std::vector<int64_t> bits;       // that occur
  std::optional<Rectangle> block;  // of 8-bit floats that share a scale
  bool one_number_of_bits() const { return bits.size() == 1; }
};

// Fields of 4 or 8 bits in words, lowest first, as signed integers.
struct PackedFields {
  Tensor words;
  int64_t line = 0;  // words of a line
  int bits = 4;
  int at(int64_t row, int64_t i) const {
    const int64_t per = 32 / bits;
    return int(words.data<uint32_t>()[row * line + i / per] >> (bits * int(i % per)) & ((1u << bits) - 1)) - (1 << (bits - 1));
  }
};

// A layer of grouped_weights.h.
struct IntegerLayer {
  int64_t N, K, G;
  int least_code, most_code;
  PackedFields packed, packed_zeros;  // one of packed and bytes
  Tensor bytes;                       // [N, K]
  std::vector<int8_t> zeros;          // [N, G], unless packed; empty without
  std::vector<float> scales;          // [N, G]
  std::vector<int32_t> group;         // [K]

  int code(int64_t n, int64_t k) const { return bytes ? bytes.data<int8_t>()[n * K + k] : packed.at(n, k); }
  int zero(int64_t n, int64_t g) const {
    if (packed_zeros.words) {  // along the outputs
      const int64_t per = 32 / packed_zeros.bits;
      const uint32_t word = packed_zeros.words.data<uint32_t>()[n / per * G + g];
      return int(word >> (packed_zeros.bits * int(n % per)) & ((1u << packed_zeros.bits) - 1)) - (1 << (packed_zeros.bits - 1));
    }
    return zeros.empty() ? 0 : zeros[size_t(n * G + g)];
  }
  float scale(int64_t n, int64_t g) const { return scales[size_t(n * G + g)]; }
};

class CompressedLayers {
 public:
  CompressedLayers(std::shared_ptr<TensorSource> source, StatedWeights stated, DType computes)
      : source_(std::move(source)), parts_(std::make_shared<const Parts>(source_)), stated_(std::move(stated)), computes_(computes) {
    for (const auto& [name, info] : parts_->listed()) {
      if (const auto layer = before_ending(name, ".weight_packed")) add_packed(*layer, info);
      else if (const auto bytes = before_ending(name, ".weight"); bytes && info.dtype == DType::i8) add_bytes(*bytes);
      else if (const auto floats = before_ending(name, ".weight"); floats && is_8bit_float(info.dtype)) add_floats(*floats);
    }
  }

  std::shared_ptr<TensorSource> source() { return with_float8_scales(with_made(source_, made_, dropped_)); }

 private:
  std::string describe() const { return parts_->describe(); }

  // Inputs that share a scale, by the shape of the scales: [N, G], [N, 1] or one for all. WeightError for another.
  int64_t groups_of(const std::string& layer, int64_t N, int64_t K) const {
    const std::string scale = layer + ".weight_scale";
    if (!parts_->has(scale)) fail<WeightError>("{}: '{}' is missing, but '{}.weight' is quantized", describe(), scale, layer);
    const Shape& shape = parts_->info(scale).shape;
    if (!is_float(parts_->info(scale).dtype)) parts_->require(scale, DType::f32, {N, 1}, layer + ".weight");
    if (shape.numel() == 1) return 1;
    const int64_t G = shape.rank() == 2 ? shape[1] : 0;
    if (shape.rank() != 2 || shape[0] != N || G < 1 || G > K || K % G != 0)
      fail<WeightError>("{}: '{}' is {}, expected [{}, G] with G a divisor of {}", describe(), scale, shape, N, K);
    return G;
  }
  void drop_activations(const std::string& layer) {
    for (const char* beside : {".input_scale", ".input_zero_point", ".output_scale", ".output_zero_point", ".input_global_scale"})
      dropped_.insert(layer + beside);
  }

  int bits_of(const std::string& layer, int64_t K, int64_t words) const {
    if (stated_.one_number_of_bits()) return int(stated_.bits[0]);
    for (const int bits : {4, 8})
      if (words == (K * bits + 31) / 32) return bits;
    fail<WeightError>("{}: '{}.weight_packed' has {} words for {} inputs, expected codes of 4 or 8 bits", describe(), layer, words, K);
  }

  void add_packed(const std::string& layer, const TensorInfo& info) {
    const std::string packed = layer + ".weight_packed", shape_of = layer + ".weight_shape", zero = layer + ".weight_zero_point";
    if (info.shape.rank() != 2) fail<WeightError>("{}: '{}' is {}, expected two axes", describe(), packed, info.shape);
    if (!parts_->has(shape_of)) fail<WeightError>("{}: '{}' is missing, but '{}' exists", describe(), shape_of, packed);
    const Shape shape = stored_shape(shape_of);
    const int64_t N = shape[0], K = shape[1];
    const int bits = bits_of(layer, K, info.shape[1]);
    parts_->require(packed, DType::i32, {N, (K * bits + 31) / 32}, shape_of);
    const int64_t G = groups_of(layer, N, K);
    const bool has_zero = parts_->has(zero), packed_zero = has_zero && parts_->info(zero).dtype == DType::i32;
    if (has_zero) parts_->require(zero, packed_zero ? DType::i32 : DType::i8, {packed_zero ? (N * bits + 31) / 32 : N, G}, packed);
    add_integers(layer, {N, K}, G, {packed, shape_of}, has_zero,
                 bits == 8  ? DType::q8_0
                 : has_zero ? DType::q5_0
                            : DType::q4_0,
                 [=, parts = parts_](IntegerLayer& l, Backend& backend) {
                   l.least_code = -(1 << (bits - 1)), l.most_code = (1 << (bits - 1)) - 1;
                   l.packed = {.words = parts->read(packed, backend), .line = (K * bits + 31) / 32, .bits = bits};
                   if (packed_zero) l.packed_zeros = {.words = parts->read(zero, backend), .line = G, .bits = bits};
                 });
  }

  void add_bytes(const std::string& layer) {
    const std::string weight = layer + ".weight", zero = layer + ".weight_zero_point", scale = layer + ".weight_scale";
    const Shape shape = parts_->info(weight).shape;
    if (shape.rank() != 2) fail<WeightError>("{}: '{}' is {}, expected two axes", describe(), weight, shape);
    const int64_t G = groups_of(layer, shape[0], shape[1]);
    const bool has_zero = parts_->has(zero);
    if (has_zero) parts_->require(zero, DType::i8, parts_->info(scale).shape, weight);
    if (G == 1 && !has_zero && !parts_->has(layer + ".weight_g_idx")) {
      made_[weight] = byte_weight(parts_, weight, scale);
      drop_activations(layer);
      return;
    }
    add_integers(layer, shape, G, {weight}, has_zero, DType::q8_0, [weight, parts = parts_](IntegerLayer& l, Backend& backend) {
      l.least_code = -128, l.most_code = 127;
      l.bytes = parts->read(weight, backend);
    });
  }

  template <class Fill>
  void add_integers(const std::string& layer, const Shape& shape, int64_t G, std::vector<std::string> names, bool has_zero, DType usual,
                    Fill fill) {
    const std::string scale = layer + ".weight_scale", zero = layer + ".weight_zero_point", order = layer + ".weight_g_idx";
    const int64_t N = shape[0], K = shape[1], group = K / G;
    const bool ordered = parts_->has(order);
    if (ordered) {
      const DType dtype = parts_->info(order).dtype;
      parts_->require(order, dtype == DType::i64 ? DType::i64 : DType::i32, {K}, scale);
      names.push_back(order);
    }
    names.push_back(scale);
    if (has_zero) names.push_back(zero);
    drop_activations(layer);
    const auto read = [=, parts = parts_](Backend& backend) {
      IntegerLayer l{.N = N,
                     .K = K,
                     .G = G,
                     .least_code = 0,
                     .most_code = 0,
                     .packed = {},
                     .packed_zeros = {},
                     .bytes = {},
                     .zeros = {},
                     .scales = parts->numbers(scale, backend),
                     .group = std::vector<int32_t>(size_t(K))};
      if (l.scales.size() == 1) l.scales.assign(size_t(N * G), l.scales[0]);
      fill(l, backend);
      if (has_zero && !l.packed_zeros.words) {
        const Tensor zeros = parts->read(zero, backend);
        l.zeros.assign(zeros.data<int8_t>(), zeros.data<int8_t>() + zeros.numel());
        if (l.zeros.size() == 1) l.zeros.assign(size_t(N * G), l.zeros[0]);
      }
      const Tensor groups = ordered ? parts->read(order, backend) : Tensor();
      for (int64_t k = 0; k < K; ++k) {
        int64_t g = k / group;
        if (groups) g = groups.dtype() == DType::i64 ? groups.data<int64_t>()[k] : int64_t(groups.data<int32_t>()[k]);
        if (g < 0 || g >= G) fail<WeightError>("{}: '{}' has the group {} of {} groups", parts->describe(), order, g, G);
        l.group[size_t(k)] = int32_t(g);
      }
      return grouped_weight(l, backend);
    };
    const DType dtype = ordered || group % 32 != 0 ? DType::f32 : usual;
    made_[layer + ".weight"] = MadeTensor(dtype, shape, std::move(names), read);
  }

  void add_floats(const std::string& layer) {
    const std::string weight = layer + ".weight", scale = layer + ".weight_scale", zero = layer + ".weight_zero_point";
    if (!parts_->has(scale)) fail<WeightError>("{}: '{}' is missing, but '{}' is quantized", describe(), scale, weight);
    drop_activations(layer);
    dropped_.insert(zero);  // of a symmetric type
    const Shape &shape = parts_->info(weight).shape, &scales = parts_->info(scale).shape;
    const bool of_rows = scales.numel() == 1 || (shape.rank() == 2 && scales.rank() == 2 && scales == Shape{shape[0], 1});
    if (of_rows) return;  // with_float8_scales()
    if (!stated_.block)
      fail<WeightError>("{}: '{}' is {}, expected one value or one for each of the {} rows", describe(), scale, scales,
                        shape.rank() > 0 ? shape[0] : 1);
    const DType dtype = parts_->info(scale).dtype;
    made_[weight] = widened_float8(parts_, weight, scale, *stated_.block, is_16bit_float(dtype) ? dtype : computes_);
  }

  Shape stored_shape(const std::string& name) const {
    const std::span<const std::byte> bytes = parts_->bytes(name);
    const DType dtype = parts_->info(name).dtype;
    std::vector<int64_t> sizes;
    if ((dtype == DType::i64 || dtype == DType::i32) && bytes.size() == 2 * size_of(dtype))
      for (size_t i = 0; i < 2; ++i) {
        int64_t wide = 0;
        int32_t narrow = 0;
        std::memcpy(dtype == DType::i64 ? static_cast<void*>(&wide) : &narrow, bytes.data() + i * size_of(dtype), size_of(dtype));
        sizes.push_back(dtype == DType::i64 ? wide : narrow);
      }
    if (sizes.size() != 2 || sizes[0] < 1 || sizes[1] < 1 || sizes[0] > INT32_MAX || sizes[1] > INT32_MAX)
      fail<WeightError>("{}: '{}' is no shape of a matrix", describe(), name);
    return {sizes[0], sizes[1]};
  }

  std::shared_ptr<TensorSource> source_;
  std::shared_ptr<const Parts> parts_;
  StatedWeights stated_;
  DType computes_;
  std::map<std::string, MadeTensor> made_;
  std::set<std::string> dropped_;
};

StatedWeights read_groups(const Config& groups) {
  StatedWeights stated;
  for (const std::string& name : groups.keys()) {
    const Config group = groups.object(name);
    group.no_effect({"targets", "input_activations", "output_activations", "format"});  // activations are not rounded
    const bool has_weights = group.has("weights");
    group.finish();
    if (!has_weights) continue;
    const Config c = group.object("weights");
    const int64_t bits = c.integer("num_bits");
    const std::string type = c.text("type", "int"), strategy = c.text("strategy", "tensor");
    if ((type != "int" || (bits != 4 && bits != 8)) && (type != "float" || bits != 8))
      fail<UnsupportedError>("{}: weights of type '{}' with {} bits are not supported, expected int with 4 or 8 bits or float with 8 bits",
                             c.where(), type, bits);
    c.only("strategy", {"tensor", "channel", "group", "block"});
    c.only("dynamic", false);
    c.no_effect({"actorder", "group_size", "observer", "observer_kwargs", "symmetric", "scale_dtype", "zp_dtype"});  // the tensors show it
    if (c.has("block_structure") && strategy == "block") {
      const std::vector<int64_t> size = c.integers("block_structure");
      if (size.size() != 2 || size[0] < 1 || size[1] < 1)
        fail<WeightError>("{}: 'block_structure' = {}, expected the rows and columns of a block", c.where(), c.dump("block_structure"));
      stated.block = Rectangle{size[0], size[1]};
    }
    c.no_effect({"block_structure"});
    c.no_effect_where_off();
    c.finish();
    if (std::ranges::find(stated.bits, bits) == stated.bits.end()) stated.bits.push_back(bits);
  }
  return stated;
}

}  // namespace

std::shared_ptr<TensorSource> unpacked_compressed_tensors(std::shared_ptr<TensorSource> source, const Config& model, const Config& c) {
  c.only("format", {"pack-quantized", "int-quantized", "float-quantized", "naive-quantized", "mixed-precision", "dense"});
  if (c.has("sparsity_config")) {
    const Config sparse = c.object("sparsity_config");
    sparse.only("format", {"dense"});
  }
  if (c.has("transform_config") && c.dump("transform_config") != "{}")
    fail<UnsupportedError>("{}: transforms ('transform_config') are not supported", c.where());
  c.no_effect({"quant_method", "global_compression_ratio", "ignore", "kv_cache_scheme", "quantization_status", "version"});
  StatedWeights stated = read_groups(c.object("config_groups"));
  c.no_effect_where_off();
  c.finish();
  const std::set<std::string> of_cache = check_float8_scales(*source, "weight_scale");
  if (!of_cache.empty()) source = with_made(std::move(source), {}, of_cache);
  return CompressedLayers(std::move(source), std::move(stated), stated_dtype(model)).source();
}

}  // namespace hearth
