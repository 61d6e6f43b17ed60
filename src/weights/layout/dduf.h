// DDUF: a diffusers folder in one file, a zip archive whose members are stored as they are (huggingface.co/docs, "DDUF"):
//
//   model_index.json
//   unet/config.json, unet/diffusion_pytorch_model.safetensors (or shards and their index), tokenizer/vocab.json, …
//
// Read through core/files/mapped_file.h; a tensor stays where it is.
#pragma once

#include <filesystem>

#include "core/files/mapped_file.h"
#include "weights/weights.h"
#include "weights/zip/zip_archive.h"

namespace hearth {

class DdufFile {
 public:
  // Whether a file is a zip archive with a model_index.json, or named .dduf.
  static bool is_one(const std::filesystem::path& path);
  // IoError for an archive that is not sound, has no model_index.json or a member that lies deeper than in one folder; UnsupportedError for
  // a member that is compressed or encrypted.
  static std::shared_ptr<DdufFile> open(const std::filesystem::path& path);

  std::string where(const std::string& member) const;  // for messages: "model.dduf/unet/config.json"
  bool has(const std::string& member) const { return archive_.has(member); }
  bool has_folder(const std::string& name) const;
  std::string text(const std::string& member) const;  // IoError where it is not there or larger than 256 MB
  // The safetensors of a component's folder under the names that they have. IoError for none, for several without an index, and as
  // weights/checkpoint_files.h has it for shards.
  std::shared_ptr<TensorSource> tensors(const std::string& component) const;

 private:
  std::shared_ptr<TensorSource> open_member(const std::string& member) const;

  std::filesystem::path path_;
  std::shared_ptr<const MappedFile> mapping_;
  ZipArchive archive_;
};

}  // namespace hearth
