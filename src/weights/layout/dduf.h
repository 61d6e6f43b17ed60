// DDUF: a diffusers folder in one file, a zip archive with uncompressed members (huggingface.co/docs, "DDUF"):
//
//   model_index.json
//   unet/config.json, unet/diffusion_pytorch_model.safetensors (or shards and their index), tokenizer/vocab.json, …
//
// The file is mapped (core/files/mapped_file.h), and tensors are views of it.
#pragma once

#include <filesystem>

#include "core/files/mapped_file.h"
#include "weights/weights.h"
#include "weights/zip/zip_archive.h"

namespace hearth {

class DdufFile {
 public:
  // Whether the file is a zip archive with a model_index.json, or its name ends in .dduf.
  static bool is_one(const std::filesystem::path& path);
  // IoError for an archive that is malformed, has no model_index.json, or has a member in nested folders; UnsupportedError for a compressed
  // or encrypted member.
  static std::shared_ptr<DdufFile> open(const std::filesystem::path& path);

  std::string where(const std::string& member) const;  // for messages: "model.dduf/unet/config.json"
  bool has(const std::string& member) const { return archive_.has(member); }
  bool has_folder(const std::string& name) const;
  std::string text(const std::string& member) const;  // IoError if it does not exist or is larger than 256 MB
  // The tensors of a component's folder under their stored names. IoError if it has no safetensors file, several without an index, or
  // inconsistent shards (weights/checkpoint_files.h).
  std::shared_ptr<TensorSource> tensors(const std::string& component) const;

 private:
  std::shared_ptr<TensorSource> open_member(const std::string& member) const;

  std::filesystem::path path_;
  std::shared_ptr<const MappedFile> mapping_;
  ZipArchive archive_;
};

}  // namespace hearth
