#include "api/gguf_export.h"

#include <algorithm>
#include <cmath>

#include "models/llama/config.h"
#include "models/mistral/config.h"
#include "models/qwen2/config.h"
#include "models/qwen3/config.h"
#include "parts/decoder/decoder.h"
#include "weights/gguf_names.h"
#include "weights/listing.h"

namespace hearth::api {
namespace {

using parts::DecoderConfig;
using parts::RotaryConfig;

struct Architecture {
  std::string_view model_type, name;
  DecoderConfig (*read)(const Config&);
  bool pairs;   // q and k are stored for rotary positions of adjacent pairs
  bool window;  // has a key for one window of all layers
};
constexpr Architecture architectures[] = {{"llama", "llama", models::llama::read_config, true, false},
                                          {"mistral", "llama", models::mistral::read_config, true, true},
                                          {"qwen2", "qwen2", models::qwen2::read_config, false, false},
                                          {"qwen3", "qwen3", models::qwen3::read_config, false, false}};

const Architecture& architecture_of(const LanguageCheckpoint& checkpoint) {
  const auto* found = std::ranges::find(architectures, checkpoint.model_type(), &Architecture::model_type);
  if (found == std::end(architectures))
    fail<UnsupportedError>("{}: models of type '{}' cannot be written as GGUF, only llama, mistral, qwen2 and qwen3",
                           checkpoint.root().string(), checkpoint.model_type());
  return *found;
}

// The keys that begin with the architecture's name.
class Keys {
 public:
  Keys(GgufExport& to, const std::string& where) : to_(to), where_(where) {}
  void integer(std::string_view key, int64_t value) { to_.values.integer(full(key), value); }
  void f32(std::string_view key, double value) { to_.values.f32(full(key), float(value)); }
  void text(std::string_view key, std::string_view value) { to_.values.text(full(key), value); }
  [[noreturn]] void no_words_for(std::string_view what) const {
    fail<UnsupportedError>("{}: GGUF files of the architecture {} cannot say {}", where_, to_.architecture, what);
  }

 private:
  std::string full(std::string_view key) const { return fmt::format("{}.{}", to_.architecture, key); }
  GgufExport& to_;
  const std::string& where_;
};

void add_rotary(const RotaryConfig& r, Keys& keys, GgufExport& to) {
  using Kind = RotaryConfig::Kind;
  keys.integer("rope.dimension_count", r.size);
  keys.f32("rope.freq_base", r.theta);
  if (r.kind == Kind::dynamic) keys.no_words_for("rope scaling of the type dynamic");
  if (r.kind == Kind::linear || r.kind == Kind::yarn) {
    keys.text("rope.scaling.type", r.kind == Kind::linear ? "linear" : "yarn");
    keys.f32("rope.scaling.factor", r.factor);
  }
  if (r.kind == Kind::yarn) {
    RotaryConfig natural = r;  // what is derived from factor and original length alone
    natural.fast = 32;
    natural.slow = 1;
    natural.truncate = true;
    natural.attention_factor = r.factor <= 1 ? 1 : 0.1 * std::log(r.factor) + 1;
    if (!(natural == r)) keys.no_words_for("yarn with another beta_fast, beta_slow, truncate or attention factor than the usual");
    keys.integer("rope.scaling.original_context_length", int64_t(r.original_positions));
  }
  if (r.kind == Kind::llama3) {  // what plain frequencies are divided by
    RotaryConfig plain = r;
    plain.kind = Kind::plain;
    const std::vector<float> before = plain.frequencies(0), after = r.frequencies(0);
    ExportedTensor factors{.name = "rope_freqs.weight", .stored = {}, .shape = {r.size / 2}, .values = {}};
    for (size_t i = 0; i < before.size(); ++i) factors.values.push_back(before[i] / after[i]);
    to.tensors.push_back(std::move(factors));
  }
}

void add_sizes(const DecoderConfig& c, const Architecture& architecture, Keys& keys, GgufExport& to) {
  if (c.activation != Activation::silu) keys.no_words_for("an activation other than silu");
  keys.integer("context_length", c.positions);
  keys.integer("embedding_length", c.width);
  keys.integer("block_count", c.layers);
  keys.integer("feed_forward_length", c.mlp_width);
  keys.integer("attention.head_count", c.heads);
  keys.integer("attention.head_count_kv", c.groups);
  keys.integer("attention.key_length", c.head);
  keys.integer("attention.value_length", c.head);
  keys.f32("attention.layer_norm_rms_epsilon", double(c.eps));
  keys.integer("vocab_size", c.vocabulary);
  const int64_t window = c.windows.empty() ? 0 : c.windows[0];
  if (std::ranges::any_of(c.windows, [&](int64_t w) { return w != window; })) keys.no_words_for("windows that differ by layer");
  if (window && !architecture.window) keys.no_words_for("a sliding window");
  if (window) keys.integer("attention.sliding_window", window);
  add_rotary(c.rotary, keys, to);
}

// Published name → GGUF name.
std::string gguf_name(const std::string& published, const std::string& where) {
  for (const Alias& alias : gguf_decoder_names())
    if (const auto name = rewrite(published, alias.official, alias.stored)) return *name;
  fail<UnsupportedError>("{}: '{}' has no name in GGUF files", where, published);
}

// Every tensor that the network needs, in its order; all are there and have their shapes, and nothing is left over.
std::map<std::string, TensorInfo> checked_tensors(const LanguageCheckpoint& checkpoint, const DecoderConfig& config, Backend& device) {
  const LoadOptions options{.types = {.in_place = true}, .ignore = checkpoint.unneeded(config.tied)};
  Weights weights(checkpoint.tensors(), device, options, Weights::Reading::names);
  const parts::Decoder network(Scope(weights), config);
  weights.finish();
  std::map<std::string, TensorInfo> needed = checkpoint.tensors()->list();
  std::erase_if(needed, [&](const auto& t) { return !weights.names_read().contains(t.first); });
  return needed;
}

}  // namespace

GgufExport export_checkpoint(const LanguageCheckpoint& checkpoint, Backend& device) {
  const Architecture& architecture = architecture_of(checkpoint);
  const DecoderConfig config = architecture.read(checkpoint.config());
  const std::string where = checkpoint.root().string();
  GgufExport to{.architecture = std::string(architecture.name), .values = {}, .source = checkpoint.tensors(), .tensors = {}, .notes = {}};
  to.values.text("general.architecture", to.architecture);
  to.values.text("general.type", "model");
  to.values.text("general.name", std::filesystem::weakly_canonical(checkpoint.root()).filename().string());
  Keys keys(to, where);
  add_sizes(config, architecture, keys, to);
  for (const auto& [name, info] : checked_tensors(checkpoint, config, device)) {
    ExportedTensor t{.name = gguf_name(name, where), .stored = name, .dtype = info.dtype, .shape = info.shape, .values = {}};
    if (architecture.pairs && name.find(".q_proj.") != name.npos) t.heads = config.heads;
    if (architecture.pairs && name.find(".k_proj.") != name.npos) t.heads = config.groups;
    to.tensors.push_back(std::move(t));
  }
  export_tokenizer(checkpoint.root(), checkpoint.config(), config.vocabulary, to);
  return to;
}

GgufExport export_gguf(const std::shared_ptr<GgufFile>& file) {
  const GgufMetadata& metadata = file->metadata();
  GgufExport to{.architecture = metadata.text("general.architecture", ""), .values = {}, .source = file, .tensors = {}, .notes = {}};
  for (const auto& [key, value] : metadata.values()) {
    const bool of_the_file =
        key.starts_with("split.") || key == "general.alignment" || key == "general.file_type" || key == "general.quantization_version";
    if (!of_the_file) to.values.copy(key, value);
  }
  std::vector<std::string> encoded;
  for (const auto& [name, info] : file->list()) {
    if (!info.unreadable.empty()) fail<UnsupportedError>("{}: '{}' {}", file->describe(), name, info.unreadable);
    to.tensors.push_back({.name = name, .stored = name, .dtype = info.dtype, .shape = info.shape, .values = {}});
    if (is_blocked(info.dtype)) encoded.push_back(name);
  }
  if (!encoded.empty())
    to.notes.push_back(fmt::format("{} tensors come in block types and lose once more: {}", encoded.size(), shortened_list(encoded)));
  return to;
}

}  // namespace hearth::api
