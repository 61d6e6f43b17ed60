#include "weights/language_checkpoint.h"

#include "core/error.h"
#include "weights/gguf/gguf_folder.h"
#include "weights/gguf/gguf_language.h"
#include "weights/packed/quantization.h"
#include "weights/stacked.h"

namespace hearth {

namespace fs = std::filesystem;

bool LanguageCheckpoint::is_one(const fs::path& path) {
  std::error_code error;
  if (GgufFile::is_one(path) || is_gguf_folder(path)) return true;
  return fs::is_regular_file(path / "config.json", error) && !fs::exists(path / "model_index.json", error);
}

LanguageCheckpoint LanguageCheckpoint::from_gguf(std::shared_ptr<GgufFile> file, std::span<const GgufArchitecture> architectures) {
  LanguageCheckpoint c;
  c.gguf_ = std::move(file);
  c.root_ = c.gguf_->paths().at(0).parent_path();
  const GgufArchitecture& architecture = gguf_architecture_of(c.gguf_->metadata(), architectures);
  c.config_ = gguf_config(*c.gguf_, architecture);
  c.model_type_ = c.config_.text("model_type");
  c.class_name_ = c.config_.texts("architectures")[0];
  for (const fs::path& part : c.gguf_->paths()) c.files_.push_back(part.filename().string());
  c.tensors_ = with_official_shapes(aliased(unstacked(c.gguf_, architecture.stacks), architecture.names), architecture.forms);
  c.divisors_ = gguf_divisor_names(architecture);
  return c;
}

LanguageCheckpoint LanguageCheckpoint::open(const fs::path& path, const std::string& variant,
                                            std::span<const GgufArchitecture> architectures) {
  const fs::path root = gguf_file_of(path);
  std::error_code error;
  const fs::file_status status = fs::status(root, error);
  if (!fs::exists(status)) fail<IoError>("{}: no such file or folder", root.string());
  if (fs::is_regular_file(status) && !GgufFile::is_one(root))
    fail<IoError>(
        "{}: is not a GGUF file, and other files have no configuration and no tokenizer: expected a GGUF file, or a folder with "
        "config.json, "
        "a tokenizer and safetensors",
        root.string());
  if (fs::is_regular_file(status)) return from_gguf(GgufFile::open(root), architectures);
  if (!fs::is_directory(status)) fail<IoError>("{}: neither a file nor a folder", root.string());
  if (!fs::exists(root / "config.json", error))
    fail<IoError>("{}: has no config.json, which the folder of a language model needs", root.string());

  LanguageCheckpoint c;
  c.root_ = root;
  c.config_ = Config::load(root / "config.json");
  c.model_type_ = c.config_.text("model_type", "");
  const std::vector<std::string> classes = c.config_.texts("architectures", {{}});
  c.class_name_ = classes.empty() ? "" : classes[0];
  if (c.model_type_.empty()) fail<WeightError>("{}: has no 'model_type'", c.config_.where());
  const WeightFiles files = choose_weight_files(root, variant);
  for (const fs::path& file : files.files) c.files_.push_back(file.lexically_relative(root).string());
  c.tensors_ = open_weight_files(files);
  Unpacked quantized = unpacked_by_config(c.tensors_, c.config_, root);
  c.tensors_ = std::move(quantized.tensors);
  c.zero_biases_ = std::move(quantized.unneeded);
  c.quantized_ = std::move(quantized.quantized);
  return c;
}

void LanguageCheckpoint::present(Present other) {
  if (other) tensors_ = other(tensors_, config_);
}

std::vector<std::string> LanguageCheckpoint::unneeded(bool tied) const {
  std::vector<std::string> names = {"*.rotary_emb.inv_freq", "*.masked_bias", "*.attn.bias"};
  names.insert(names.end(), zero_biases_.begin(), zero_biases_.end());
  names.insert(names.end(), divisors_.begin(), divisors_.end());
  if (tied) names.emplace_back("lm_head.weight");
  return names;
}

}  // namespace hearth
