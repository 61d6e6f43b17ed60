#include "weights/packed/bitsandbytes.h"

#include <algorithm>

#include "core/on_host.h"
#include "core/threads.h"
#include "weights/packed/byte_weights.h"

namespace hearth {
namespace {

constexpr std::string_view state_mark = ".quant_state.bitsandbytes__";

// What the JSON text of a weight of 4 bits says.
struct FourBitState {
  std::string kind;  // nf4 or fp4
  DType dtype = DType::f32;
  Shape shape;
  int64_t block = 0, nested_block = 0;  // values that share a scale; 0: the scales are f32
  float offset = 0;
};

FourBitState read_state(const Parts& parts, const std::string& name) {
  const std::span<const std::byte> text = parts.bytes(name);
  const Config c =
      Config::parse({reinterpret_cast<const char*>(text.data()), text.size()}, fmt::format("{}: '{}'", parts.describe(), name));
  FourBitState s{.kind = c.text("quant_type"), .dtype = {}, .shape = {}};
  if (s.kind != "nf4" && s.kind != "fp4")
    fail<UnsupportedError>("{}: 'quant_type' = \"{}\" is not supported, expected nf4 or fp4", c.where(), s.kind);
  const std::string dtype = c.text("dtype");
  const auto known = torch_dtype_named(dtype);
  if (!known) fail<UnsupportedError>("{}: 'dtype' = \"{}\" is not supported, expected float16, bfloat16 or float32", c.where(), dtype);
  s.dtype = *known;
  const std::vector<int64_t> sizes = c.integers("shape");
  if (sizes.empty() || std::ssize(sizes) > Shape::max_rank ||
      std::ranges::any_of(sizes, [](int64_t n) { return n < 1 || n > int64_t(1) << 31; }))
    fail<WeightError>("{}: 'shape' = {}, expected sizes above 0", c.where(), c.dump("shape"));
  for (const int64_t n : sizes) s.shape.push_back(n);
  const auto positive = [&](const char* key) {
    const int64_t n = c.integer(key);
    if (n < 1) fail<WeightError>("{}: '{}' = {}, expected more than 0", c.where(), key, n);
    return n;
  };
  s.block = positive("blocksize");
  if (c.has("nested_blocksize")) {
    s.nested_block = positive("nested_blocksize");
    s.offset = float(c.number("nested_offset"));
    c.only("nested_dtype", {"float32"});
  }
  c.finish();
  return s;
}

MadeTensor four_bit_weight(const std::shared_ptr<const Parts>& parts, const std::string& weight, const FourBitState& s,
                           const std::string& state) {
  const int64_t count = s.shape.numel(), bytes = (count + 1) / 2, scales = (count + s.block - 1) / s.block;
  const TensorInfo& is = parts->info(weight);
  if (int64_t(bytes_of(is.dtype, is.shape.numel())) != bytes)
    fail<WeightError>("{}: '{}' is {} {}, expected {} bytes for {} values of 4 bits", parts->describe(), weight, name_of(is.dtype),
                      is.shape, bytes, count);
  const std::string absmax = weight + ".absmax", map = weight + ".quant_map", nested = weight + ".nested_absmax",
                    nested_map = weight + ".nested_quant_map";
  const bool is_nested = s.nested_block > 0;
  std::vector<std::string> names{weight, absmax, map, state};
  parts->require(absmax, is_nested ? DType::u8 : DType::f32, {scales}, weight);
  parts->require(map, DType::f32, {16}, weight);
  if (is_nested) {
    parts->require(nested, DType::f32, {(scales + s.nested_block - 1) / s.nested_block}, weight);
    parts->require(nested_map, DType::f32, {256}, weight);
    names.insert(names.end(), {nested, nested_map});
  }
  const auto read = [=](Backend& backend) {
    const Tensor codes = parts->read(weight, backend), largest = parts->read(absmax, backend);
    const std::vector<float> levels = parts->numbers(map, backend);
    std::vector<float> scale(static_cast<size_t>(scales));
    if (is_nested) {
      const std::vector<float> outer = parts->numbers(nested, backend), outer_levels = parts->numbers(nested_map, backend);
      for (size_t b = 0; b < scale.size(); ++b)
        scale[b] = outer_levels[largest.data<uint8_t>()[b]] * outer[b / size_t(s.nested_block)] + s.offset;
    } else {
      scale = largest.to_vector();
    }
    return written_on_host(backend, s.shape, s.dtype, [&](Tensor& y) {
      const auto* const pairs = reinterpret_cast<const uint8_t*>(codes.raw());
      backend.threads().for_ranges(count, 1 << 14, [&](int64_t first, int64_t last) {
        std::vector<float> values(static_cast<size_t>(last - first));
        for (int64_t i = first; i < last; ++i)
          values[size_t(i - first)] = levels[i % 2 == 0 ? pairs[i / 2] >> 4 : pairs[i / 2] & 15] * scale[size_t(i / s.block)];
        narrow_to(s.dtype, values.data(), last - first, y.raw() + first * int64_t(size_of(s.dtype)));
      });
    });
  };
  return {s.dtype, s.shape, names, read};
}

}  // namespace

std::shared_ptr<TensorSource> unpacked_bitsandbytes(std::shared_ptr<TensorSource> source, const Config& c) {
  // The tensors show which layers are quantized, and how. The threshold is for activations of products in 8 bits, which hearth does not
  // have.
  c.no_effect({"quant_method", "load_in_4bit", "load_in_8bit", "_load_in_4bit", "_load_in_8bit", "bnb_4bit_compute_dtype",
               "bnb_4bit_quant_storage", "bnb_4bit_quant_type", "bnb_4bit_use_double_quant", "llm_int8_enable_fp32_cpu_offload",
               "llm_int8_has_fp16_weight", "llm_int8_skip_modules", "llm_int8_threshold"});
  c.finish();

  const auto parts = std::make_shared<const Parts>(source);
  std::map<std::string, MadeTensor> made;
  std::set<std::string> dropped;
  for (const auto& [name, info] : parts->listed()) {
    if (const size_t at = name.find(state_mark); at != name.npos) {
      const std::string weight = name.substr(0, at);
      if (!parts->has(weight)) fail<WeightError>("{}: '{}' is missing, but '{}' exists", parts->describe(), weight, name);
      const FourBitState state = read_state(*parts, name);
      if (name.substr(at + state_mark.size()) != state.kind)
        fail<WeightError>("{}: '{}' has the quant_type \"{}\"", parts->describe(), name, state.kind);
      made[weight] = four_bit_weight(parts, weight, state, name);
    } else if (const auto layer = before_ending(name, ".SCB")) {
      if (!parts->has(*layer + ".weight"))
        fail<WeightError>("{}: '{}.weight' is missing, but '{}' exists", parts->describe(), *layer, name);
      parts->require(*layer + ".weight", DType::i8, parts->info(*layer + ".weight").shape, name);
      made[*layer + ".weight"] = byte_weight(parts, *layer + ".weight", name, 1 / 127.0f);
      const std::string format = *layer + ".weight_format";
      if (parts->has(format) && std::ranges::any_of(parts->bytes(format), [](std::byte b) { return b != std::byte(0); }))
        fail<UnsupportedError>("{}: '{}' is not row by row, which is not supported", parts->describe(), format);
      dropped.insert(format);
    }
  }
  return with_made(std::move(source), std::move(made), dropped);
}

}  // namespace hearth
