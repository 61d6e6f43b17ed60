// Real files with weights that are a function of the tensor's name: full-size checkpoints for measuring, without a download.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "core/dtype.h"
#include "core/threads.h"
#include "weights/weights.h"

namespace hearth {

// Any name exists in it; it remembers what was asked for. Building a network on a dry run with it lists the network's tensors.
class AskedTensors : public TensorSource {
 public:
  std::string describe() const override { return "asked tensors"; }
  std::map<std::string, TensorInfo> list() const override { return {}; }
  bool has(const std::string&) const override { return true; }
  Tensor read(const std::string& name, const Shape& wanted, Backend& backend) override;

  std::map<std::string, Shape> asked;
};

// Writes a safetensors file of these tensors, in `dtype` (f32, f16 or bf16). The file appears whole or not at all. IoError.
void write_seeded_file(const std::filesystem::path& file, const std::map<std::string, Shape>& tensors, DType dtype, ThreadPool& threads);

}  // namespace hearth
