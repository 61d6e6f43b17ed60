// Scope: a path into a checkpoint. Modules are built from scopes; `w / "norm1"` is the scope of a child.
#pragma once

#include <string>

#include "weights/weights.h"

namespace hearth {

class Scope {
 public:
  explicit Scope(Weights& weights, std::string path = {}) : weights_(&weights), path_(std::move(path)) {}

  Scope operator/(std::string_view child) const { return Scope(*weights_, join(child), exact_); }
  Scope operator/(int64_t index) const { return *this / std::to_string(index); }

  // The same path in other weights.
  Scope in(Weights& weights) const { return Scope(weights, path_, exact_); }
  // The same path, for a module whose products take f32 factors at every precision.
  Scope exact() const { return Scope(*weights_, path_, true); }

  const std::string& path() const { return path_; }  // "down_blocks.0.resnets.1"
  Backend& backend() const { return weights_->backend(); }
  Weights& weights() const { return *weights_; }
  bool has(std::string_view name) const { return weights_->has(join(name)); }

  Tensor tensor(std::string_view name, const Shape& shape) const { return weights_->tensor(join(name), shape); }
  Tensor table(std::string_view name, const Shape& shape) const { return weights_->table(join(name), shape); }
  Weight linear(std::string_view name, int64_t out, int64_t in) const {
    return weights_->weight(join(name), {out, in}, WeightKind::linear, exact_);
  }
  // Rows `rows` of a matrix [all, in] that holds the weights of several layers.
  Weight linear_rows(std::string_view name, int64_t all, int64_t in, Weights::Rows rows) const {
    return weights_->weight(join(name), {all, in}, WeightKind::linear, exact_, rows);
  }
  Weight glu(std::string_view name, int64_t out, int64_t in) const {
    return weights_->weight(join(name), {2 * out, in}, WeightKind::glu, exact_);
  }
  Weight conv2d(std::string_view name, int64_t out, int64_t in, int64_t kernel, int64_t groups = 1) const {
    return weights_->weight(join(name), {out, in / groups, kernel, kernel}, WeightKind::conv, exact_, {}, groups);
  }

 private:
  Scope(Weights& weights, std::string path, bool exact) : weights_(&weights), path_(std::move(path)), exact_(exact) {}
  std::string join(std::string_view child) const { return path_.empty() ? std::string(child) : path_ + "." + std::string(child); }

  Weights* weights_;
  std::string path_;
  bool exact_ = false;
};

}  // namespace hearth
