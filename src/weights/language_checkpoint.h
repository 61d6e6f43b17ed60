// LanguageCheckpoint: a published language model: a folder with config.json and safetensors, whole or in shards, or a GGUF file (or a
// folder that holds only one), presented as such a folder. Weights in formats of their own are unpacked (weights/packed/quantization.h).
#pragma once

#include <filesystem>

#include "core/files/config.h"
#include "hearth/quantized_weights.h"
#include "weights/checkpoint_files.h"
#include "weights/gguf/gguf.h"
#include "weights/gguf/gguf_architecture.h"

namespace hearth {

class LanguageCheckpoint {
 public:
  // `architectures`: those of the supported GGUF files. IoError for a folder that is missing, empty or without config.json, for a file
  // that is not GGUF, and for weights that cannot be read; errors of weights/checkpoint_files.h and gguf_language.h.
  static LanguageCheckpoint open(const std::filesystem::path& path, const std::string& variant = {},
                                 std::span<const GgufArchitecture> architectures = {});
  // The same of an open file, which root() is the folder of.
  static LanguageCheckpoint from_gguf(std::shared_ptr<GgufFile> file, std::span<const GgufArchitecture> architectures);
  // Whether `path` looks like one: a folder with config.json and no model_index.json, or a GGUF file or a folder of GGUF files.
  static bool is_one(const std::filesystem::path& path);

  const std::filesystem::path& root() const { return root_; }  // the folder, or the folder of the file
  const Config& config() const { return config_; }
  const std::string& model_type() const { return model_type_; }  // `model_type` of config.json
  const std::string& class_name() const { return class_name_; }  // the first of its `architectures`
  const std::shared_ptr<TensorSource>& tensors() const { return tensors_; }
  // Tensors that may stay unread, as in LoadOptions::ignore: frequencies and masks in old exports, tensors that the configuration of a GGUF
  // file already contains, zero biases (weights/packed/packed_linears.h), the output matrix if it is tied to the embedding.
  std::vector<std::string> unneeded(bool tied) const;
  // Presents the tensors under their official names in another way, if there is one.
  using Present = std::shared_ptr<TensorSource> (*)(std::shared_ptr<TensorSource> published, const Config& config);
  void present(Present other);
  const QuantizedWeights& quantized() const { return quantized_; }
  const std::vector<std::string>& files() const { return files_; }  // of the tensors, relative to the root
  const GgufFile* gguf() const { return gguf_.get(); }              // nullptr for a folder

 private:
  std::filesystem::path root_;
  Config config_;
  std::string model_type_, class_name_;
  std::shared_ptr<TensorSource> tensors_;
  QuantizedWeights quantized_;
  std::vector<std::string> zero_biases_, divisors_, files_;
  std::shared_ptr<GgufFile> gguf_;
};

}  // namespace hearth
