#include "weights/inspection/inspection.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "weights/checkpoint.h"
#include "weights/gguf/gguf.h"
#include "weights/gguf/gguf_folder.h"
#include "weights/packed/quantization.h"
#include "weights/torch/torch_file.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;

std::string tensor_class(const std::string& name, const Shape& shape) {
  if (shape.rank() >= 4) return "kernels";
  if (name == "token_embd.weight") return "embeddings";  // in GGUF files
  if (shape.rank() == 2 && name.find("embedding.") != name.npos && name.find("time_embedding") == name.npos) return "embeddings";
  if (shape.rank() >= 2) return "matrices";
  if (name.find("norm") != name.npos || name.find(".ln_") != name.npos) return "norms";
  return name.ends_with("bias") ? "biases" : "others";
}

void count_tensors(const std::map<std::string, TensorInfo>& tensors, InspectedComponent& c) {
  for (const auto& [name, info] : tensors) {
    ++c.tensors;
    if (!info.unreadable.empty()) {
      c.unreadable.push_back(fmt::format("'{}' {}", name, info.unreadable));
      continue;
    }
    c.parameters += info.shape.numel();
    c.bytes += int64_t(bytes_of(info.dtype, info.shape.numel()));
    TypeCount& count = c.types[tensor_class(name, info.shape)][std::string(name_of(info.dtype))];
    ++count.tensors;
    count.parameters += info.shape.numel();
  }
}

// Recognizes networks by the stored names, or by the official ones if the class is unknown and the names are a known other spelling.
std::vector<Recognized> recognize_any(const std::map<std::string, TensorInfo>& tensors, std::span<const KnownFamily> families) {
  const std::vector<Signature> signatures = signatures_of(families);
  std::vector<Recognized> found = recognize(tensors, signatures);
  for (const NetworkFiles* network : networks_of(families)) {
    if (!found.empty()) break;
    if (network->aliases.empty()) continue;
    std::map<std::string, TensorInfo> official;
    for (const auto& [stored, name] : official_names(tensors, network->aliases)) official[name] = tensors.at(stored);
    found = recognize(official, signatures);
  }
  return found;
}

// Keys that affect the computation, in the order of the report.
constexpr std::array<const char*, 31> telling_keys{"sample_size",
                                                   "in_channels",
                                                   "out_channels",
                                                   "latent_channels",
                                                   "block_out_channels",
                                                   "layers_per_block",
                                                   "down_block_types",
                                                   "up_block_types",
                                                   "cross_attention_dim",
                                                   "attention_head_dim",
                                                   "num_attention_heads",
                                                   "norm_num_groups",
                                                   "use_linear_projection",
                                                   "scaling_factor",
                                                   "shift_factor",
                                                   "force_upcast",
                                                   "hidden_size",
                                                   "num_hidden_layers",
                                                   "intermediate_size",
                                                   "hidden_act",
                                                   "vocab_size",
                                                   "max_position_embeddings",
                                                   "projection_dim",
                                                   "prediction_type",
                                                   "beta_schedule",
                                                   "beta_start",
                                                   "beta_end",
                                                   "num_train_timesteps",
                                                   "timestep_spacing",
                                                   "steps_offset",
                                                   "set_alpha_to_one"};

void read_config(const Config& config, InspectedComponent& c) {
  for (const char* key : telling_keys)
    if (config.has(key)) c.config.emplace_back(key, config.dump(key));
}

void add_file(const fs::path& file, InspectedComponent& c) {
  std::error_code error;
  const auto bytes = fs::file_size(file, error);
  c.files.push_back({file.filename().string(), error ? 0 : int64_t(bytes)});
}

void read_weights(const WeightFiles& weights, std::span<const KnownFamily> families, InspectedComponent& c) {
  c.variant = weights.variant;
  c.index = weights.index.filename().string();
  for (const fs::path& file : weights.files) add_file(file, c);
  const auto source = open_weight_files(weights);
  if (const auto* single = dynamic_cast<const SafetensorsFile*>(source.get())) c.metadata = single->header().metadata;
  if (const auto* single = dynamic_cast<const TorchFile*>(source.get())) {
    c.layout = single->contents().format;
    for (const auto& [name, what] : single->contents().others) c.ignored.push_back(fmt::format("'{}' is {}", name, what));
  }
  const auto tensors = source->list();
  count_tensors(tensors, c);
  c.recognized = recognize_any(tensors, families);
}

void list_variants(const fs::path& folder, InspectedComponent& c) {
  for (const WeightFiles& set : find_weight_files(folder)) c.variants.push_back(set.variant);
}

InspectedCheckpoint inspect_root(const fs::path& root, std::span<const KnownFamily> families, const std::string& variant) {
  const Checkpoint checkpoint = Checkpoint::open(root, {.families = {families.begin(), families.end()}});
  const bool archived = checkpoint.is_file();
  InspectedCheckpoint found{
      .kind = archived ? "DDUF file" : "diffusers folder", .pipeline_class = checkpoint.pipeline_class(), .components = {}};
  for (const Component& component : checkpoint.components()) {
    InspectedComponent c{.name = component.name, .library = component.library, .class_name = component.class_name};
    try {
      if (has_weights(component)) {
        if (archived) {
          const auto source = checkpoint.tensors(component.name, variant);
          count_tensors(source->list(), c);
          c.recognized = recognize_any(source->list(), families);
        } else {
          list_variants(checkpoint.folder(component.name), c);
          read_weights(checkpoint.files(component.name, variant), families, c);
        }
      }
      read_config(checkpoint.config(component.name), c);
    } catch (const Error& e) { c.problem = e.what(); }
    found.components.push_back(std::move(c));
  }
  return found;
}

InspectedCheckpoint inspect_component(const fs::path& folder, std::span<const KnownFamily> families, const std::string& variant) {
  InspectedComponent c{.name = fs::weakly_canonical(folder).filename().string()};
  list_variants(folder, c);
  std::optional<Config> config_file;
  if (fs::exists(folder / "config.json")) {
    const Config& config = config_file.emplace(Config::load(folder / "config.json"));
    c.class_name = config.text("_class_name", "");
    if (const auto architectures = config.texts("architectures", std::vector<std::string>{});
        c.class_name.empty() && !architectures.empty())
      c.class_name = architectures[0];
    read_config(config, c);
  }
  const WeightFiles files = choose_weight_files(folder, variant);
  read_weights(files, families, c);
  if (config_file && config_file->has("model_type")) {
    try {
      c.quantized = unpacked_by_config(open_weight_files(files), *config_file, folder).quantized;
    } catch (const Error& e) { c.problem = e.what(); }
  }
  return {.kind = "component folder", .pipeline_class = {}, .components = {std::move(c)}};
}

// The value as JSON; for an array only type and length.
nlohmann::json value_json(const GgufMetadata& metadata, const std::string& key, const GgufValue& value) {
  switch (value.type) {
    case GgufType::text: return metadata.text(key);
    case GgufType::boolean: return metadata.boolean(key);
    case GgufType::array: return value.describe();
    case GgufType::f64: return metadata.number(key);
    case GgufType::f32: {  // with the digits of f32
      const auto number = float(metadata.number(key));
      return std::isfinite(number) ? nlohmann::json::parse(fmt::format("{}", number)) : nlohmann::json(nullptr);
    }
    case GgufType::u64: {
      uint64_t number;
      std::memcpy(&number, value.bytes.data(), sizeof number);
      return number;
    }
    default: return metadata.integer(key);
  }
}

InspectedCheckpoint inspect_gguf(const fs::path& path, std::span<const KnownFamily> families) {
  const auto file = GgufFile::open(path);
  const GgufMetadata& metadata = file->metadata();
  InspectedComponent c{.name = metadata.text("general.name", path.filename().string()),
                       .class_name = metadata.text("general.architecture", "")};
  for (const fs::path& part : file->paths()) add_file(part, c);
  count_tensors(file->list(), c);
  c.recognized = recognize_any(file->list(), families);
  for (const auto& [key, value] : metadata.values()) {
    if (key.starts_with("comfy.gguf.orig_shape.")) continue;  // one for each reshaped tensor
    const nlohmann::json json = value_json(metadata, key, value);
    const std::string text = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    c.metadata[key] = json.is_string() ? json.get<std::string>() : text;
    if (!c.class_name.empty() && key.starts_with(c.class_name + ".")) c.config.emplace_back(key.substr(c.class_name.size() + 1), text);
  }
  if (metadata.text("tokenizer.ggml.model", "no_vocab") != "no_vocab") {
    const std::string pre = metadata.text("tokenizer.ggml.pre", "");
    const GgufValue* tokens = metadata.find("tokenizer.ggml.tokens");
    c.tokenizer = fmt::format("{}{}, {} tokens", metadata.text("tokenizer.ggml.model"), pre.empty() ? "" : fmt::format(" ({})", pre),
                              tokens && tokens->type == GgufType::array ? tokens->count : 0);
  }
  return {.kind = "GGUF file", .pipeline_class = {}, .components = {std::move(c)}};
}

InspectedCheckpoint inspect_file(const fs::path& file, std::span<const KnownFamily> families, const std::string& variant) {
  if (DdufFile::is_one(file)) return inspect_root(file, families, variant);
  if (GgufFile::is_one(file)) return inspect_gguf(file, families);
  const std::string ending = file.extension().string();
  for (const char* other : {".onnx", ".msgpack", ".h5"})
    if (ending == other)
      fail<UnsupportedError>("{}: files of this kind cannot be read, expected safetensors, GGUF or a PyTorch checkpoint", file.string());
  InspectedComponent c{.name = file.filename().string()};
  read_weights({.variant = {}, .index = {}, .files = {file}}, families, c);
  const char* kind = c.layout.empty() ? "safetensors file" : "PyTorch checkpoint";
  return {.kind = kind, .pipeline_class = {}, .components = {std::move(c)}};
}

}  // namespace

InspectedCheckpoint inspect_checkpoint(const fs::path& given, std::span<const KnownFamily> families, const std::string& variant) {
  const fs::path path = gguf_file_of(given);
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) fail<IoError>("{}: no such file or folder", path.string());
  if (!fs::is_directory(status)) return inspect_file(path, families, variant);
  const bool root = fs::exists(path / "model_index.json", error);
  if (root || (fs::is_empty(path, error) && !error)) return inspect_root(path, families, variant);
  return inspect_component(path, families, variant);
}

}  // namespace hearth
