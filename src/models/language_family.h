// The interface of a family of language models to the registry: data and two functions.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "models/language_model.h"
#include "parts/decoder/config.h"
#include "weights/language_checkpoint.h"

namespace hearth::models {

// A size that config.json states and the tensors imply.
struct LanguageSize {
  std::string_view key;     // "hidden_size"
  std::string_view tensor;  // a published name, or a pattern of weights/aliases.h: the first match, or the number of all
  int axis = counted;       // of the tensor
  std::string_view per{};   // the axis is the product with this key's size

  static constexpr int counted = -1;
};

// A published architecture, which `hearth bench` measures with generated weights.
struct LanguageGeometry {
  std::string_view name;    // "tiny-1b"
  std::string_view config;  // the network's keys of its config.json
};

// A further name of a family's models in GGUF files, whose keys and tensors are those of LanguageFamily::gguf.
struct OtherGguf {
  std::string_view name;                      // general.architecture
  std::vector<std::string_view> model_types;  // of the family's, those that are written under this name; the first is that of its files
};

struct LanguageFamily {
  std::vector<std::string_view> model_types;  // in config.json; the first is that of GGUF files
  std::string_view class_name;                // the first of config.json's `architectures`
  std::string_view tokenizer_class = {};      // transformers' class if a folder's files name none; empty: the plain one
  std::string_view own_tokenizer_class = {};  // text::FamilyClass::own_class
  // Classes of models that see images, too, and whose language model is this family's.
  std::span<const std::string_view> within = {};
  std::span<const LanguageSize> sizes = {};  // sizes whose default may differ from the tensors
  // The number of experts and the router's matrix, which must agree even if config.json states the number.
  std::optional<LanguageSize> experts = {};
  GgufArchitecture gguf = {};
  std::vector<OtherGguf> other_gguf = {};
  std::span<const LanguageGeometry> geometries = {};

  // The config with defaults filled in, from which `sizes` and the rows of `gguf` are read. Keys without meaning are omitted.
  // Throws for an invalid config.
  Config (*spell_out)(const Config& config) = nullptr;
  // The published tensors, under their official names, as those of the network, if they differ.
  std::shared_ptr<TensorSource> (*present)(std::shared_ptr<TensorSource> published, const Config& config) = nullptr;
  // The network of this config, if it is a parts::Decoder, which can be the text encoder of an image model.
  parts::DecoderConfig (*decoder)(const Config& config) = nullptr;
  // The model of this config; requests all its tensors from `weights`. The caller finishes them, unless it needs only names and shapes.
  std::unique_ptr<LanguageModel> (*build)(const Config& config, Weights& weights) = nullptr;
};

}  // namespace hearth::models
