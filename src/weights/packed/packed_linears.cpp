#include "weights/packed/packed_linears.h"

#include <algorithm>
#include <array>

#include "weights/packed/grouped_weights.h"
#include "weights/packed/made_tensors.h"

namespace hearth {
namespace {

using Kind = PackedFormat::Kind;

constexpr std::string_view marks[] = {".qweight", ".qzeros", ".scales", ".g_idx"};

int four_bits(uint32_t word, int place) { return int(word >> (4 * place) & 15); }

// Gives access to the single values of a layer's packed tensors.
struct Layer {
  Kind kind;
  int64_t N, K, G;  // outputs, inputs, groups
  Tensor qweight, qzeros;
  std::vector<float> scales;   // [G, N]
  std::vector<int32_t> group;  // [K]

  static int place_in_word(int64_t n, Kind kind) {
    constexpr std::array<int, 8> awq{0, 4, 1, 5, 2, 6, 3, 7};  // positions of columns 0 … 7
    return kind == Kind::awq ? awq[size_t(n % 8)] : int(n % 8);
  }
  int code(int64_t n, int64_t k) const {
    const uint32_t* words = qweight.data<uint32_t>();
    if (kind == Kind::awq) return four_bits(words[k * (N / 8) + n / 8], place_in_word(n, kind));
    return four_bits(words[k / 8 * N + n], int(k % 8));
  }
  int zero(int64_t n, int64_t g) const {
    const int stored = four_bits(qzeros.data<uint32_t>()[g * (N / 8) + n / 8], place_in_word(n, kind));
    return kind == Kind::gptq ? (stored + 1) & 15 : stored;
  }
  float scale(int64_t n, int64_t g) const { return scales[size_t(g * N + n)]; }

  static constexpr int least_code = 0, most_code = 15;
};

class UnpackedSource final : public TensorSource {
 public:
  UnpackedSource(std::shared_ptr<TensorSource> source, const PackedFormat& format)
      : source_(std::move(source)), format_(format), stored_(source_->list()) {
    for (const auto& [name, info] : stored_)
      if (const auto layer = before_ending(name, ".qweight")) check(*layer, info.shape);
  }

  std::string describe() const override { return source_->describe(); }
  std::map<std::string, TensorInfo> list() const override {
    std::map<std::string, TensorInfo> all;
    for (const auto& [name, info] : stored_)
      if (!is_packed(name)) all.emplace(name, info);
    for (const auto& [layer, shape] : layers_) all[layer + ".weight"] = {.dtype = expected(shape), .shape = shape, .unreadable = {}};
    return all;
  }
  bool has(const std::string& name) const override { return layer_named(name) || source_->has(name); }
  bool mapped(const std::string& name) const override { return !layer_named(name) && source_->mapped(name); }
  void release_all() override { source_->release_all(); }
  void require_unchanged() const override { source_->require_unchanged(); }
  void release(const std::string& name) override {
    const auto layer = layer_named(name);
    if (!layer) return source_->release(name);
    for (std::string_view mark : marks) source_->release(*layer + std::string(mark));
  }
  Tensor read(const std::string& name, const Shape& wanted, Backend& backend) override {
    const auto layer = layer_named(name);
    return layer ? grouped_weight(open(*layer, backend), backend) : source_->read(name, wanted, backend);
  }

 private:
  std::optional<std::string> layer_named(const std::string& name) const {
    const auto layer = before_ending(name, ".weight");
    return layer && layers_.contains(*layer) ? layer : std::nullopt;
  }
  bool is_packed(const std::string& name) const {
    return std::ranges::any_of(marks, [&](std::string_view mark) {
      const auto layer = before_ending(name, mark);
      return layer && layers_.contains(*layer);
    });
  }
  int64_t group_size(int64_t K) const { return format_.group > 0 ? std::min(format_.group, K) : K; }
  DType expected(const Shape& shape) const {
    const int64_t K = shape[1], group = group_size(K);
    if (K % 32 != 0 || (group % 32 != 0 && group != K) || format_.act_order) return DType::f32;
    return format_.symmetric && format_.kind != Kind::awq ? DType::q4_0 : DType::q5_0;
  }

  void require(const std::string& layer, std::string_view mark, DType dtype, const Shape& shape) const {
    const auto found = stored_.find(layer + std::string(mark));
    if (found == stored_.end()) fail<WeightError>("{}: '{}{}' is missing, but '{}.qweight' exists", describe(), layer, mark, layer);
    const TensorInfo& info = found->second;
    const bool fits = info.shape == shape && (dtype == DType::f32 ? is_float(info.dtype) : info.dtype == dtype);
    if (!fits)
      fail<WeightError>("{}: '{}{}' is {} {}, expected {} {}", describe(), layer, mark, name_of(info.dtype), info.shape,
                        dtype == DType::f32 ? "numbers" : name_of(dtype), shape);
  }
  // Records the layer if all its tensors exist and are consistent.
  void check(const std::string& layer, const Shape& codes) {
    if (codes.rank() != 2) fail<WeightError>("{}: '{}.qweight' is {}, expected two axes", describe(), layer, codes);
    const bool awq = format_.kind == Kind::awq;
    const int64_t N = awq ? codes[1] * 8 : codes[1], K = awq ? codes[0] : codes[0] * 8, group = group_size(K);
    if (N % 8 != 0 || K == 0 || N == 0)
      fail<WeightError>("{}: '{}.qweight' is {}, expected a multiple of 8 outputs", describe(), layer, codes);
    const int64_t G = (K + group - 1) / group;
    require(layer, ".qweight", DType::i32, codes);
    require(layer, ".qzeros", DType::i32, {G, N / 8});
    require(layer, ".scales", DType::f32, {G, N});
    if (stored_.contains(layer + ".g_idx")) require(layer, ".g_idx", DType::i32, {K});
    else if (format_.act_order) fail<WeightError>("{}: '{}.g_idx' is missing, which act-order needs", describe(), layer);
    if (stored_.contains(layer + ".weight")) fail<WeightError>("{}: '{}' is stored both packed and as 'weight'", describe(), layer);
    layers_[layer] = {N, K};
  }

  Layer open(const std::string& layer, Backend& backend) const {
    const auto tensor = [&](std::string_view mark) {
      const std::string name = layer + std::string(mark);
      return source_->read(name, stored_.at(name).shape, backend);
    };
    const Shape shape = layers_.at(layer);
    const int64_t group = group_size(shape[1]);
    Layer l{.kind = format_.kind,
            .N = shape[0],
            .K = shape[1],
            .G = (shape[1] + group - 1) / group,
            .qweight = tensor(".qweight"),
            .qzeros = tensor(".qzeros"),
            .scales = {},
            .group = {}};
    for (int64_t k = 0; k < l.K; ++k) l.group.push_back(int32_t(k / group));
    l.scales = unless_dry(backend, std::vector<float>(size_t(l.G * l.N), 1), [&] { return tensor(".scales").to_vector(); });
    unless_dry(backend, [&] {
      if (!stored_.contains(layer + ".g_idx")) return;
      const Tensor groups = tensor(".g_idx");
      l.group.assign(groups.data<int32_t>(), groups.data<int32_t>() + l.K);
      for (int32_t g : l.group)
        if (g < 0 || g >= l.G) fail<WeightError>("{}: '{}.g_idx' has the group {} of {} groups", describe(), layer, g, l.G);
    });
    return l;
  }

  std::shared_ptr<TensorSource> source_;
  PackedFormat format_;
  std::map<std::string, TensorInfo> stored_;
  std::map<std::string, Shape> layers_;  // name → [N, K]
};

}  // namespace

std::optional<PackedFormat> read_packed_format(const Config& config, const std::filesystem::path& folder) {
  std::error_code error;
  const std::filesystem::path beside = folder / "quantize_config.json";
  const bool inside = config.has("quantization_config");
  if (!inside && !std::filesystem::exists(beside, error)) return std::nullopt;
  const Config c = inside ? config.object("quantization_config") : Config::load(beside);

  PackedFormat format;
  const std::string method = inside ? c.text("quant_method") : c.text("quant_method", "gptq");
  if (method != "gptq" && method != "awq")
    fail<UnsupportedError>("{}: the quantization method '{}' is not supported, expected gptq or awq", c.where(), method);
  if (const int64_t bits = c.integer("bits"); bits != 4)
    fail<UnsupportedError>("{}: {} codes of {} bits are not supported, expected 4", c.where(), method, bits);
  const int64_t group = c.integer("group_size", 128);
  if (group < -1 || group == 0) fail<WeightError>("{}: 'group_size' = {}, expected -1 or more than 0", c.where(), group);
  format.group = std::max<int64_t>(group, 0);
  if (method == "awq") {
    format.kind = Kind::awq;
    for (const char* key : {"version", "format", "checkpoint_format"}) c.only(key, {"gemm", "GEMM"});
    if (c.text("backend", "") == "llm-awq") fail<UnsupportedError>("{}: 'backend' = \"llm-awq\" is not supported", c.where());
  } else {
    const std::string layout = c.text("checkpoint_format", c.text("format", "gptq"));
    if (layout != "gptq" && layout != "gptq_v2")
      fail<UnsupportedError>("{}: 'checkpoint_format' = \"{}\" is not supported, expected gptq or gptq_v2", c.where(), layout);
    c.only("format", {layout});
    format.kind = layout == "gptq" ? Kind::gptq : Kind::gptq_v2;
    format.symmetric = c.boolean("sym", true);
    format.act_order = c.boolean("desc_act", false);
    if (c.has("dynamic") && c.dump("dynamic") != "{}")
      fail<UnsupportedError>("{}: settings for individual modules ('dynamic') are not supported", c.where());
  }
  c.only("method", {method});
  if (const int64_t bits = c.integer("act_bits", 16); bits < 16)
    fail<UnsupportedError>("{}: activations of {} bits ('act_bits') are not supported", c.where(), bits);
  // These keys describe how the file was created and run; the tensors show which modules are packed.
  c.no_effect({"act_group_aware",
               "amp",
               "autoround_version",
               "backend",
               "batch_size",
               "block_name_to_quantize",
               "cache_block_outputs",
               "checkpoint_format",
               "damp_auto_increment",
               "damp_percent",
               "data_type",
               "dataset",
               "desc_act",
               "disable_exllama",
               "do_fuse",
               "dynamic",
               "enable_minmax_tuning",
               "enable_norm_bias_tuning",
               "enable_quanted_input",
               "exllama_config",
               "fuse_max_seq_len",
               "gradient_accumulate_steps",
               "hyb_act",
               "is_marlin_format",
               "iters",
               "lm_head",
               "low_gpu_mem_usage",
               "lr",
               "max_input_length",
               "meta",
               "minmax_lr",
               "model_file_base_name",
               "model_name_or_path",
               "model_seqlen",
               "module_name_preceding_first_block",
               "modules_in_block_to_quantize",
               "modules_to_fuse",
               "modules_to_not_convert",
               "mse",
               "nsamples",
               "offload_to_disk",
               "offload_to_disk_path",
               "pack_dtype",
               "packing_format",
               "pad_token_id",
               "provider",
               "quant_block_list",
               "quant_method",
               "quantizer",
               "scale_dtype",
               "seqlen",
               "static_attention_granularity",
               "static_groups",
               "static_kv_granularity",
               "supported_types",
               "sym",
               "to_quant_block_names",
               "tokenizer",
               "train_bs",
               "true_sequential",
               "use_cuda_fp16",
               "use_exllama",
               "version",
               "zero_point"});
  c.no_effect_where_off();
  c.finish();
  return format;
}

std::shared_ptr<TensorSource> unpacked(std::shared_ptr<TensorSource> source, const PackedFormat& format) {
  return std::make_shared<UnpackedSource>(std::move(source), format);
}

std::vector<std::string> zero_biases(const TensorSource& packed) {
  std::vector<std::string> names;
  for (const auto& [name, info] : packed.list()) {
    const auto layer = before_ending(name, ".bias");
    if (!layer || !packed.has(*layer + ".qweight")) continue;
    const std::span<const std::byte> bytes = packed.stored_bytes(name);
    const auto is_zero = [](std::byte b) { return b == std::byte{0}; };
    if (!bytes.empty() && std::ranges::all_of(bytes, is_zero)) names.push_back(name);
  }
  return names;
}

}  // namespace hearth
