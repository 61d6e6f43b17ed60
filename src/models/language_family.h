// What a family of language models tells the registry: all that is known of it anywhere, as data and two functions.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "models/language_model.h"
#include "weights/language_checkpoint.h"

namespace hearth::models {

// A size that config.json states and the tensors show.
struct LanguageSize {
  std::string_view key;     // "hidden_size"
  std::string_view tensor;  // a published name, or a pattern of weights/aliases.h where its fits are counted
  int axis = counted;       // of the tensor
  std::string_view per{};   // the axis is a product with this key's size

  static constexpr int counted = -1;
};

// A published geometry, which `hearth bench` measures with generated weights.
struct LanguageGeometry {
  std::string_view name;    // "tiny-1b"
  std::string_view config;  // what its config.json says of the network
};

struct LanguageFamily {
  std::vector<std::string_view> model_types;  // in config.json; the first is that of GGUF files
  std::string_view class_name;                // the first of config.json's `architectures`
  std::string_view tokenizer_class = {};      // transformers' for a folder whose files name none; empty: the plain one
  std::span<const LanguageSize> sizes = {};   // those whose default may be far from what the tensors have
  GgufArchitecture gguf = {};
  std::span<const LanguageGeometry> geometries = {};

  // The config with all that holds by default: what `sizes` and the rows of `gguf` are read from. Keys that say nothing are left out.
  // Errors are those of a config that cannot be.
  Config (*spell_out)(const Config& config) = nullptr;
  // The model of this config with all its tensors asked of `weights`. The caller finishes them, or was after names and shapes alone.
  std::unique_ptr<LanguageModel> (*build)(const Config& config, Weights& weights) = nullptr;
};

}  // namespace hearth::models
