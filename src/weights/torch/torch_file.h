// A PyTorch checkpoint as a source of tensors: memory-mapped, and checked when it is opened (weights/torch/torch_contents.h).
#pragma once

#include <filesystem>
#include <memory>

#include "core/files/mapped_file.h"
#include "weights/torch/torch_contents.h"

namespace hearth {

class TorchFile : public TensorSource {
 public:
  // Maps the file. IoError if it cannot be opened; errors of parse_torch_file().
  static std::shared_ptr<TorchFile> open(const std::filesystem::path& path);

  const TorchContents& contents() const { return contents_; }

  std::string describe() const override { return path_.string(); }
  std::map<std::string, TensorInfo> list() const override;
  bool has(const std::string& name) const override { return contents_.tensors.contains(name); }
  // A view of the mapped bytes, or a row-major copy if the tensor is strided or not aligned. IoError if the file was modified since it was
  // opened; WeightError for an unknown name; UnsupportedError for an unreadable tensor.
  Tensor read(const std::string& name, const Shape& wanted, Backend& backend) override;
  std::span<const std::byte> stored_bytes(const std::string& name) const override;
  bool mapped(const std::string& name) const override;
  // Lets the system drop the tensor's pages from memory; the next access reads them from the file again.
  void release(const std::string& name) override;
  void release_all() override { mapping_->release(0, mapping_->size()); }
  void require_unchanged() const override;

 private:
  bool mapped(const TorchEntry& entry) const;

  std::filesystem::path path_;
  std::shared_ptr<const MappedFile> mapping_;
  TorchContents contents_;
};

}  // namespace hearth
