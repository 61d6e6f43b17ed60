// Describes a checkpoint from its headers and configurations alone, even if some of its components are broken. Only a model can tell which
// tensors it misses or leaves unread: models/registry.h.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

#include "hearth/quantized_weights.h"
#include "weights/layout/image_files.h"

namespace hearth {

struct InspectedFile {
  std::string name;
  int64_t bytes = 0;  // on disk
};

struct TypeCount {
  int64_t tensors = 0, parameters = 0;
};

struct InspectedComponent {
  std::string name, library, class_name;  // "unet", "diffusers", "UNet2DConditionModel"; empty if unknown
  std::string problem;                    // one line if its files cannot be used; the following members may then be empty
  std::string unused;                     // the same for a component that nothing uses
  std::string variant;                    // the variant described here
  std::vector<std::string> variants;      // all variants, "" for full precision
  std::string index;                      // the shards' index, if any
  std::vector<InspectedFile> files;
  std::vector<Recognized> recognized;
  int64_t tensors = 0, parameters = 0, bytes = 0;  // of the tensors
  // Tensor class ("matrices", "kernels", "norms", "biases", "embeddings", "others") → dtype ("f16") → counts.
  std::map<std::string, std::map<std::string, TypeCount>> types;
  std::vector<std::string> unreadable;                      // "'x' has the type 'F4', which is not supported"
  std::string layout;                                       // of a PyTorch checkpoint: "zip", "legacy" or "raw"
  std::vector<std::string> ignored;                         // other contents of a PyTorch checkpoint: "'epoch' is the integer 6"
  std::map<std::string, std::string> metadata;              // of a single file; for arrays of a GGUF file only type and length
  QuantizedWeights quantized;                               // of a language model's folder
  std::string tokenizer;                                    // of a GGUF file: "gpt2 (tekken), 131072 tokens"
  std::vector<std::pair<std::string, std::string>> config;  // keys that affect the computation, with their values as JSON
};

struct InspectedCheckpoint {
  std::string kind;            // "diffusers folder", "component folder", "safetensors file", "PyTorch checkpoint" or "GGUF file"
  std::string pipeline_class;  // of a diffusers folder
  std::vector<InspectedComponent> components;
};

// `families`: those whose networks are recognized and whose tables are used to read names. IoError if the path does not exist or is no
// checkpoint, and for a malformed file; UnsupportedError for a file in another format. In a diffusers folder, an error in one component is
// reported as its `problem` instead.
InspectedCheckpoint inspect_checkpoint(const std::filesystem::path& path, std::span<const KnownFamily> families,
                                       const std::string& variant = {});

nlohmann::ordered_json to_json(const InspectedCheckpoint& found);
std::string to_text(const InspectedCheckpoint& found);  // several lines, human-readable

}  // namespace hearth
