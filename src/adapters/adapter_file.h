// A file of an adapter: its modules, each with the tensors that change one weight. Which weight that is depends on the model
// (adapters/module_names.h); what the tensors are to it, on the kind of adapter (adapters/deltas.h).
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weights/weights.h"

namespace hearth::adapters {

struct Module {
  std::string name;  // as in the file: "lora_unet_down_blocks_0_attentions_0_proj_in", "unet.down_blocks.0.attentions.0.proj_in"
  std::map<std::string, std::string, std::less<>> tensors;  // what it is, "up", "hada_w1_a" → its name in the file

  bool has(std::string_view part) const { return tensors.contains(part); }
};

struct AdapterFile {
  std::filesystem::path path;  // as given
  std::shared_ptr<TensorSource> source;
  std::map<std::string, TensorInfo> tensors;
  std::map<std::string, std::string> metadata;   // of a safetensors file
  bool gguf = false;                             // whether it is a GGUF file
  std::vector<Module> modules;                   // by name
  std::vector<std::string> unknown;              // tensors whose names end in nothing that adapters have
  std::shared_ptr<const nlohmann::json> stated;  // ranks and alphas beside the tensors (adapters/stated.h); null: none

  const TensorInfo& info(const Module& module, std::string_view part) const { return tensors.at(module.tensors.find(part)->second); }
  // All values of a tensor, f32, row-major.
  std::vector<float> values(const Module& module, std::string_view part, Backend& host) const;
  double number(const Module& module, std::string_view part) const;  // of a tensor with one value; WeightError for more
  bool truth(const Module& module, std::string_view part) const;     // of a tensor of any type: whether it is not zero
};

// safetensors, PyTorch or GGUF; or PEFT's folder with adapter_config.json. IoError, WeightError; UnsupportedError for a kind of adapter
// that hearth does not have.
AdapterFile open_adapter(const std::filesystem::path& path);

// The file itself, or the one with the tensors in PEFT's folder. IoError.
std::filesystem::path file_of(const std::filesystem::path& path);

// Whether the tensors are those of an adapter: most of their names end as adapters' do.
bool looks_like_adapter(const std::map<std::string, TensorInfo>& tensors);

}  // namespace hearth::adapters
