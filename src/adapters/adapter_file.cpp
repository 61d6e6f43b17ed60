#include "adapters/adapter_file.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "adapters/stated.h"
#include "core/error.h"
#include "core/files/json.h"
#include "weights/checkpoint_files.h"
#include "weights/dequantized.h"
#include "weights/gguf/gguf.h"
#include "weights/safetensors/safetensors.h"

namespace hearth::adapters {
namespace {

namespace fs = std::filesystem;

struct Ending {
  std::string_view text, part;
};
// Of the names of tensors. The longest that fits applies.
constexpr std::array endings = std::to_array<Ending>({
    {".lora_down.weight", "down"},
    {".lora_up.weight", "up"},
    {".lora_mid.weight", "mid"},
    {".lora_A.weight", "down"},
    {".lora_B.weight", "up"},
    {".lora_A.default.weight", "down"},
    {".lora_B.default.weight", "up"},
    {".lora_A", "down"},
    {".lora_B", "up"},
    {".lora_embedding_A", "embedding_down"},
    {".lora_embedding_B", "embedding_up"},
    {".lora.down.weight", "down"},
    {".lora.up.weight", "up"},
    {"_lora.down.weight", "down"},
    {"_lora.up.weight", "up"},
    {".lora_linear_layer.down.weight", "down"},
    {".lora_linear_layer.up.weight", "up"},
    {".weight.lora_a", "down"},  // GGUF
    {".weight.lora_b", "up"},
    {".alpha", "alpha"},
    {".dora_scale", "dora_scale"},
    {".lora_magnitude_vector", "magnitude"},
    {".lora_magnitude_vector.weight", "magnitude"},
    {".lora_magnitude_vector.default.weight", "magnitude"},
    {".hada_w1_a", "hada_w1_a"},
    {".hada_w1_b", "hada_w1_b"},
    {".hada_w2_a", "hada_w2_a"},
    {".hada_w2_b", "hada_w2_b"},
    {".hada_t1", "hada_t1"},
    {".hada_t2", "hada_t2"},
    {".lokr_w1", "lokr_w1"},
    {".lokr_w1_a", "lokr_w1_a"},
    {".lokr_w1_b", "lokr_w1_b"},
    {".lokr_w2", "lokr_w2"},
    {".lokr_w2_a", "lokr_w2_a"},
    {".lokr_w2_b", "lokr_w2_b"},
    {".lokr_t2", "lokr_t2"},
    {".diff", "diff"},
    {".diff_b", "diff_b"},
    {".w_norm", "diff"},
    {".b_norm", "diff_b"},
    {".set_weight", "set_weight"},
    {".on_input", "on_input"},
    {".weight", "weight"},
    {".ia3_l", "ia3"},
    {".ia3_l.weight", "ia3"},
    {".ia3_l.default", "ia3"},
});

struct Foreign {
  std::string_view text, kind;
};
constexpr std::array foreign = std::to_array<Foreign>({
    {".oft_blocks", "OFT"},
    {".oft_diag", "OFT"},
    {".boft_R", "BOFT"},
    {".a1.weight", "GLoRA"},
    {".reshape_weight", "a LoRA that reshapes weights"},
    {".lora_controlnet", "a ControlNet"},
    {"lora_controlnet", "a ControlNet"},
    {".lora_B.bias", "a LoRA with a bias of its own"},
    {".vera_lambda_b", "VeRA"},
});

const Ending* ending_of(std::string_view name) {
  const Ending* found = nullptr;
  for (const Ending& e : endings)
    if (name.ends_with(e.text) && name.size() > e.text.size() && (!found || e.text.size() > found->text.size())) found = &e;
  return found;
}

// The name without what older programs put between a module and its LoRA.
std::string module_name(std::string_view name) {
  std::string module(name);
  for (const std::string_view infix : {".processor.", ".base_layer."})
    if (const size_t at = module.find(infix); at != module.npos) module.replace(at, infix.size(), ".");
  return module;
}

// What a folder's adapter_config.json, or the header of a file that diffusers has written, says of ranks and alphas.
std::shared_ptr<const nlohmann::json> stated_in(const fs::path& folder, const Metadata& metadata, const std::string& where) {
  if (!folder.empty() && fs::exists(folder / "adapter_config.json"))
    return std::make_shared<nlohmann::json>(load_json(folder / "adapter_config.json"));
  const auto header = metadata.find("lora_adapter_metadata");
  return header == metadata.end() ? nullptr : std::make_shared<nlohmann::json>(parse_json(header->second, where));
}

// The keys of llama.cpp's converter.
std::shared_ptr<const nlohmann::json> stated_in_gguf(const GgufMetadata& metadata) {
  if (metadata.text("general.type", "") != "adapter" || metadata.text("adapter.type", "") != "lora")
    fail<WeightError>("{}: is no adapter: general.type is '{}' and adapter.type '{}', expected 'adapter' and 'lora'", metadata.where(),
                      metadata.text("general.type", ""), metadata.text("adapter.type", ""));
  return std::make_shared<nlohmann::json>(nlohmann::json{{"lora_alpha", metadata.number("adapter.lora.alpha")}});
}

}  // namespace

fs::path file_of(const fs::path& path) {
  if (!fs::is_directory(path)) return path;
  for (const char* name :
       {"adapter_model.safetensors", "pytorch_lora_weights.safetensors", "adapter_model.bin", "pytorch_lora_weights.bin"})
    if (fs::exists(path / name)) return path / name;
  fail<IoError>("{}: has no adapter, expected adapter_model.safetensors or pytorch_lora_weights.safetensors", path.string());
}

bool looks_like_adapter(const std::map<std::string, TensorInfo>& tensors) {
  int64_t some = 0;
  for (const auto& [name, info] : tensors)
    if (const Ending* e = ending_of(name)) some += e->part != "weight";
  return some > 0 && 2 * some >= int64_t(tensors.size());
}

AdapterFile open_adapter(const fs::path& path) {
  AdapterFile file{.path = path};
  const bool folder = fs::is_directory(path);
  file.source = open_tensor_file(file_of(path));
  file.tensors = file.source->list();
  if (const auto* safetensors = dynamic_cast<const SafetensorsFile*>(file.source.get())) file.metadata = safetensors->header().metadata;
  const auto* gguf = dynamic_cast<const GgufFile*>(file.source.get());
  file.gguf = gguf != nullptr;
  if (gguf) file.stated = stated_in_gguf(gguf->metadata());
  else file.stated = stated_in(folder ? path : fs::path(), file.metadata, path.string());
  check_stated(file);

  std::map<std::string, Module> modules;
  for (const auto& [name, info] : file.tensors) {
    for (const Foreign& f : foreign)
      if (name.ends_with(f.text))
        fail<UnsupportedError>("{}: '{}' belongs to {}, which hearth does not support", path.string(), name, f.kind);
    const Ending* ending = ending_of(name);
    if (!info.unreadable.empty() && !(ending && ending->part == "on_input"))
      fail<WeightError>("{}: '{}' {}", path.string(), name, info.unreadable);
    if (!ending) {
      file.unknown.push_back(name);
      continue;
    }
    const std::string own = module_name(std::string_view(name).substr(0, name.size() - ending->text.size()));
    Module& module = modules[own];
    module.name = own;
    if (const auto [twice, added] = module.tensors.emplace(ending->part, name); !added)
      fail<WeightError>("{}: '{}' and '{}' are the same part of one module", path.string(), twice->second, name);
  }
  for (auto& [name, module] : modules) {
    if (module.has("weight") && !module.has("on_input"))  // (IA)³ has both; other modules with a weight are no adapter's
      file.unknown.push_back(module.tensors.find("weight")->second), module.tensors.erase("weight");
    if (!module.tensors.empty()) file.modules.push_back(std::move(module));
  }
  if (file.modules.empty()) fail<WeightError>("{}: holds no adapter, expected tensors such as 'NAME.lora_up.weight'", path.string());
  return file;
}

double AdapterFile::number(const Module& module, std::string_view part) const {
  const std::string& name = module.tensors.find(part)->second;
  const TensorInfo& about = tensors.at(name);
  const std::span<const std::byte> bytes = source->stored_bytes(name);
  if (about.shape.numel() != 1 || !is_float(about.dtype) || bytes.size() != size_of(about.dtype))
    fail<WeightError>("{}: '{}' is {} {}, expected one number", path.string(), name, name_of(about.dtype), about.shape);
  const auto read = [&]<class T>(T value) { return std::memcpy(&value, bytes.data(), sizeof value), value; };
  const double value = about.dtype == DType::f64   ? read(0.0)
                       : about.dtype == DType::f32 ? double(read(0.0f))
                       : about.dtype == DType::f16 ? double(f16_to_f32(read(uint16_t())))
                                                   : double(bf16_to_f32(read(uint16_t())));
  if (!std::isfinite(value)) fail<WeightError>("{}: '{}' is {}, expected a number", path.string(), name, value);
  return value;
}

bool AdapterFile::truth(const Module& module, std::string_view part) const {
  const std::span<const std::byte> bytes = source->stored_bytes(module.tensors.find(part)->second);
  return std::ranges::any_of(bytes, [](std::byte b) { return b != std::byte{0}; });
}

std::vector<float> AdapterFile::values(const Module& module, std::string_view part, Backend& host) const {
  const std::string& name = module.tensors.find(part)->second;
  const Tensor x = dequantized(source->read(name, tensors.at(name).shape, host), source->scale(name, host), host);
  std::vector<float> values = x.to_vector();
  if (std::ranges::any_of(values, [](float v) { return !std::isfinite(v); }))
    fail<WeightError>("{}: '{}' has NaN or infinite values", path.string(), name);
  source->release(name);
  return values;
}

}  // namespace hearth::adapters
