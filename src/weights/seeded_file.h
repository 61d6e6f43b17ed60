// Files with weights that are a function of the tensor's name: full-size checkpoints for benchmarks, without a download.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "core/dtype.h"
#include "core/threads.h"
#include "weights/weights.h"

namespace hearth {

// A source in which every name exists, and which records each request. Building a network with it in a dry run lists the network's tensors.
class RequestedTensors : public TensorSource {
 public:
  std::string describe() const override { return "requested tensors"; }
  std::map<std::string, TensorInfo> list() const override { return {}; }
  bool has(const std::string&) const override { return true; }
  Tensor read(const std::string& name, const Shape& wanted, Backend& backend) override;

  std::map<std::string, Shape> tensors;
};

// Writes a safetensors file of these tensors, in `dtype` (f32, f16 or bf16), atomically. IoError.
void write_seeded_file(const std::filesystem::path& file, const std::map<std::string, Shape>& tensors, DType dtype, ThreadPool& threads);

}  // namespace hearth
