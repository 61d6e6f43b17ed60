#include "api/files/gguf_export.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "models/language_loading.h"
#include "models/language_registry.h"
#include "weights/gguf/gguf_language.h"
#include "weights/listing.h"
#include "weights/stacked.h"

namespace hearth::api {
namespace {

// "a, b and c"
std::string enumerated(const std::vector<std::string_view>& items) {
  if (items.size() < 2) return fmt::format("{}", fmt::join(items, ""));
  return fmt::format("{} and {}", fmt::join(std::span(items).first(items.size() - 1), ", "), items.back());
}

const models::LanguageFamily& writable_family(const LanguageCheckpoint& checkpoint) {
  std::vector<std::string_view> known;
  for (const auto& [name, family] : models::language_families()) {
    if (family.gguf.name.empty()) continue;
    if (std::ranges::find(family.model_types, checkpoint.model_type()) != family.model_types.end()) return family;
    known.insert(known.end(), family.model_types.begin(), family.model_types.end());
  }
  fail<UnsupportedError>("{}: models of type '{}' cannot be written as GGUF; supported are {}", checkpoint.root().string(),
                         checkpoint.model_type(), enumerated(known));
}

std::string gguf_name(const std::string& published, const GgufArchitecture& architecture, const std::string& where) {
  for (const Alias& alias : architecture.names)
    if (const auto name = rewrite(published, alias.official, alias.stored)) return *name;
  fail<UnsupportedError>("{}: '{}' has no name in GGUF files", where, published);
}

// Whether a tensor is a matrix of a product. Gates, convolutions and tables of which few rows are read keep their precision.
bool is_matrix(const ExportedTensor& t) {
  if (t.shape.rank() < 2 || !t.name.ends_with(".weight")) return false;
  for (const char* exact :
       {"_norm.",       "ffn_gate_inp.", "ssm_conv1d.",  "time_mix_first.",   "time_mix_lerp_", "time_mix_decay", "time_mix_w0.",
        "time_mix_w1.", "time_mix_w2.",  "time_mix_a0.", "time_mix_a1.",      "time_mix_a2.",   "time_mix_v0.",   "time_mix_v1.",
        "time_mix_v2.", "time_mix_g1.",  "time_mix_g2.", "channel_mix_lerp_", "position_embd.", "token_types.",   "rope_"})
    if (t.name.find(exact) != t.name.npos) return false;
  return true;
}

// By the names of language models in GGUF files. Values and the projection back to the stream lose most, as in llama.cpp's mixes.
void set_roles(std::vector<ExportedTensor>& tensors) {
  using Role = ExportedTensor::Role;
  const bool tied = std::ranges::find(tensors, "output.weight", &ExportedTensor::name) == tensors.end();
  const std::string_view output = tied ? "token_embd.weight" : "output.weight";
  for (ExportedTensor& t : tensors) {
    const bool important = t.name.ends_with("attn_v.weight") || t.name.find(".ffn_down") != t.name.npos;
    if (is_matrix(t)) t.role = t.name == output ? Role::output : important ? Role::important : Role::matrix;
  }
}

// Exports the network by its family's table. `config` must be complete; `tensors` have their published names.
GgufExport export_network(const GgufArchitecture& architecture, const Config& config, const std::string& name,
                          const std::shared_ptr<TensorSource>& source, const std::map<std::string, TensorInfo>& tensors) {
  GgufExport to{.architecture = std::string(architecture.name), .values = {}, .tensors = {}, .notes = {}};
  to.values.text("general.architecture", to.architecture);
  to.values.text("general.type", "model");
  to.values.text("general.name", name);
  write_gguf_config(config, architecture, to.values);
  for (auto& [tensor, divisors] : gguf_divisors(config, architecture)) {
    const Shape shape = {std::ssize(divisors)};
    to.tensors.push_back({.name = tensor, .shape = shape, .values = std::move(divisors)});
  }
  std::map<std::string, size_t> stacks;  // their indices in to.tensors
  for (const auto& [published, info] : tensors) {
    if (const auto slice = stack_of(published, architecture.stacks)) {
      const auto [stack, added] = stacks.emplace(slice->stack, to.tensors.size());
      if (added) to.tensors.push_back({.name = slice->stack, .source = source, .dtype = info.dtype, .shape = info.shape});
      std::vector<std::string>& names = to.tensors[stack->second].stored;
      names.resize(std::max(names.size(), size_t(slice->index) + 1));
      names[size_t(slice->index)] = published;
      continue;
    }
    ExportedTensor t{.name = gguf_name(published, architecture, config.where()),
                     .source = source,
                     .stored = {published},
                     .dtype = info.dtype,
                     .shape = info.shape};
    for (const auto& [pattern, count] : architecture.neighbors)
      if (rewrite(published, pattern, pattern)) t.heads = config.integer(std::string(count));
    if (t.shape.rank() == 2 && t.shape[0] == 1) t.shape = {t.shape[1]};  // ggml's converter leaves out axes of size 1
    if (std::ranges::any_of(architecture.plus_one, [&](std::string_view p) { return rewrite(published, p, p).has_value(); })) t.offset = 1;
    t.negative_exp = is_negative_exp(published, architecture.forms);
    t.shape = gguf_shape(published, t.shape, architecture.forms, [&](std::string_view key) { return config.integer(key); });
    to.tensors.push_back(std::move(t));
  }
  for (const auto& [stack, index] : stacks) {
    ExportedTensor& t = to.tensors[index];
    Shape all{std::ssize(t.stored)};
    for (const int64_t size : t.shape) all.push_back(size);
    t.shape = all;
  }
  set_roles(to.tensors);
  return to;
}

}  // namespace

void GgufExport::note_quantized(const std::vector<std::string>& names) {
  if (!names.empty())
    notes.push_back(
        fmt::format("{} tensors are already quantized and lose precision if their type changes: {}", names.size(), shortened_list(names)));
}

GgufExport export_checkpoint(const LanguageCheckpoint& checkpoint, Backend& device) {
  const models::LanguageFamily& family = writable_family(checkpoint);
  const Config config = family.spell_out(checkpoint.config());
  const std::string name = std::filesystem::weakly_canonical(checkpoint.root()).filename().string();
  const GgufArchitecture architecture = models::gguf_architecture_for(family, checkpoint.model_type());
  GgufExport to = export_network(architecture, config, name, checkpoint.tensors(), models::needed_tensors(family, checkpoint, device));
  const auto embedding = std::ranges::find(to.tensors, "token_embd.weight", &ExportedTensor::name);
  if (embedding != to.tensors.end()) export_tokenizer(checkpoint.root(), checkpoint.config(), embedding->shape[0], to);
  return to;
}

GgufExport export_geometry(const models::LanguageFamily& family, const models::LanguageGeometry& geometry) {
  const Config config = Config::parse(geometry.config, std::string(geometry.name));
  std::map<std::string, TensorInfo> tensors;
  for (const auto& [name, shape] : models::network_shapes(family, config)) tensors[name] = {.shape = shape, .unreadable = {}};
  return export_network(family.gguf, family.spell_out(config), std::string(geometry.name), nullptr, tensors);
}

GgufExport export_gguf(const std::shared_ptr<GgufFile>& file) {
  const GgufMetadata& metadata = file->metadata();
  GgufExport to{.architecture = metadata.text("general.architecture", ""), .values = {}, .tensors = {}, .notes = {}};
  for (const auto& [key, value] : metadata.values()) {
    const bool of_the_file = key.starts_with("split.") || key.starts_with("quantize.imatrix.") || key == "general.alignment" ||
                             key == "general.file_type" || key == "general.quantization_version";
    if (!of_the_file) to.values.copy(key, value);
  }
  std::vector<std::string> encoded;
  for (const auto& [name, info] : file->list()) {
    if (!info.unreadable.empty()) fail<UnsupportedError>("{}: '{}' {}", file->describe(), name, info.unreadable);
    to.tensors.push_back({.name = name, .source = file, .stored = {name}, .dtype = info.dtype, .shape = info.shape});
    if (is_blocked(info.dtype)) encoded.push_back(name);
  }
  to.note_quantized(encoded);
  set_roles(to.tensors);
  return to;
}

}  // namespace hearth::api
