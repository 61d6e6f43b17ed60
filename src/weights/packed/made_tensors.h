// Tensors that are made from others of a file, such as weights from codes and scales.
#pragma once

#include <functional>
#include <set>

#include "core/files/config.h"
#include "weights/weights.h"

namespace hearth {

struct MadeTensor {
  MadeTensor() = default;
  // dtype: that of read() may differ if it depends on values.
  MadeTensor(DType dtype, const Shape& shape, std::vector<std::string> parts_, std::function<Tensor(Backend&)> read_)
      : parts(std::move(parts_)), read(std::move(read_)) {
    info.dtype = dtype;
    info.shape = shape;
  }

  TensorInfo info;
  std::vector<std::string> parts;         // names in the file; they are no longer listed
  std::function<Tensor(Backend&)> read;   // on the backend's host; not called in a dry run
  std::function<Tensor(Backend&)> scale;  // TensorSource::scale(), if info.scaled; not called in a dry run either
};

// `dropped`: tensors that describe others and are not listed.
std::shared_ptr<TensorSource> with_made(std::shared_ptr<TensorSource> source, std::map<std::string, MadeTensor> made,
                                        const std::set<std::string>& dropped = {});

// The parts of made tensors: what a source lists, and checks.
class Parts {
 public:
  explicit Parts(const std::shared_ptr<TensorSource>& source) : source_(source), listed_(source->list()) {}

  const std::map<std::string, TensorInfo>& listed() const { return listed_; }
  std::string describe() const { return source_->describe(); }
  bool has(const std::string& name) const { return listed_.contains(name); }
  const TensorInfo& info(const std::string& name) const { return listed_.at(name); }
  // WeightError unless `part` exists with this shape, or has as many values if it is a vector or a scalar. dtype f32 means any float.
  void require(const std::string& part, DType dtype, const Shape& shape, const std::string& beside) const;
  std::span<const std::byte> bytes(const std::string& name) const { return source_->stored_bytes(name); }
  Tensor read(const std::string& name, Backend& backend) const { return source_->read(name, info(name).shape, backend).dense(); }
  std::vector<float> numbers(const std::string& name, Backend& backend) const { return read(name, backend).to_vector(); }

 private:
  std::shared_ptr<TensorSource> source_;
  std::map<std::string, TensorInfo> listed_;
};

// "model.layers.0.mlp.up_proj.qweight" → "model.layers.0.mlp.up_proj", if the name has that ending.
std::optional<std::string> before_ending(const std::string& name, std::string_view ending);

// f32 values → the values of a float dtype, at y.
void narrow_to(DType dtype, const float* x, int64_t n, std::byte* y);

// The dtype in which a model computes, by `torch_dtype` or `dtype` of its config.json; f32 if it has neither.
DType stated_dtype(const Config& config);
// "float16", "bfloat16" or "float32", as torch names them; nullopt for another name.
std::optional<DType> torch_dtype_named(std::string_view name);

}  // namespace hearth
