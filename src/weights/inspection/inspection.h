// What a checkpoint is, read from headers and configurations alone, also where parts are broken. What a model would miss or
// leave unread only the model knows: models/registry.h.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

#include "weights/layout/image_files.h"

namespace hearth {

struct InspectedFile {
  std::string name;
  int64_t bytes = 0;  // on the disk
};

struct TypeCount {
  int64_t tensors = 0, parameters = 0;
};

struct InspectedComponent {
  std::string name, library, class_name;  // "unet", "diffusers", "UNet2DConditionModel"; empty where nothing says so
  std::string problem;                    // one line where its files cannot be used; then what follows may be empty
  std::string unused;                     // the same of a component that nothing is made of
  std::string variant;                    // looked at
  std::vector<std::string> variants;      // there are, "" for full precision
  std::string index;                      // the shards' index, if any
  std::vector<InspectedFile> files;
  std::vector<Recognized> recognized;
  int64_t tensors = 0, parameters = 0, bytes = 0;  // of the tensors
  // Tensor class ("matrices", "kernels", "norms", "biases", "embeddings", "others") → type ("f16") → how many.
  std::map<std::string, std::map<std::string, TypeCount>> types;
  std::vector<std::string> unreadable;                      // "'x' has the type 'F4', which is not supported"
  std::string layout;                                       // of a PyTorch checkpoint: "zip", "legacy" or "raw"
  std::vector<std::string> ignored;                         // what it holds besides tensors: "'epoch' is the integer 6"
  std::map<std::string, std::string> metadata;              // of a single file; of a GGUF file's arrays only type and length
  std::string tokenizer;                                    // of a GGUF file: "gpt2 (tekken), 131072 tokens"
  std::vector<std::pair<std::string, std::string>> config;  // what shapes the computation: key, value as JSON
};

struct InspectedCheckpoint {
  std::string kind;            // "diffusers folder", "component folder", "safetensors file", "PyTorch checkpoint" or "GGUF file"
  std::string pipeline_class;  // of a diffusers folder
  std::vector<InspectedComponent> components;
};

// IoError when there is nothing at the path, or nothing that a checkpoint has; a file must be sound. UnsupportedError for a file
// in another format. In a diffusers folder what is wrong with one component is that component's `problem`. `families`: whose networks are
// recognized, and by whose tables names are read.
InspectedCheckpoint inspect_checkpoint(const std::filesystem::path& path, std::span<const KnownFamily> families,
                                       const std::string& variant = {});

nlohmann::ordered_json to_json(const InspectedCheckpoint& found);
std::string to_text(const InspectedCheckpoint& found);  // several lines, for people

}  // namespace hearth
