#include "weights/packed/made_tensors.h"

#include <algorithm>
#include <cstring>

#include "core/backend.h"
#include "core/error.h"

namespace hearth {
namespace {

class MadeSource final : public TensorSource {
 public:
  MadeSource(std::shared_ptr<TensorSource> source, std::map<std::string, MadeTensor> made, const std::set<std::string>& dropped)
      : source_(std::move(source)), made_(std::move(made)), listed_(source_->list()) {
    for (const std::string& name : dropped) listed_.erase(name);
    for (const auto& [name, tensor] : made_)
      for (const std::string& part : tensor.parts) listed_.erase(part);
    for (const auto& [name, tensor] : made_)
      if (!listed_.emplace(name, tensor.info).second) fail<WeightError>("{}: '{}' is stored both packed and as it is", describe(), name);
  }

  std::string describe() const override { return source_->describe(); }
  std::map<std::string, TensorInfo> list() const override { return listed_; }
  bool has(const std::string& name) const override { return listed_.contains(name); }
  Tensor read(const std::string& name, const Shape& wanted, Backend& backend) override {
    const auto found = made_.find(name);
    if (found == made_.end()) return source_->read(name, wanted, backend);
    const MadeTensor& made = found->second;
    return backend.computes() ? made.read(backend) : Tensor::empty(backend.host(), made.info.shape, made.info.dtype);
  }
  Tensor scale(const std::string& name, Backend& backend) override {
    const auto found = made_.find(name);
    if (found == made_.end()) return source_->scale(name, backend);
    if (!found->second.scale) return {};
    return backend.computes() ? found->second.scale(backend) : Tensor::empty(backend.host(), {1}, DType::f32);
  }
  std::span<const std::byte> stored_bytes(const std::string& name) const override {
    return made_.contains(name) ? std::span<const std::byte>() : source_->stored_bytes(name);
  }
  bool mapped(const std::string& name) const override { return !made_.contains(name) && source_->mapped(name); }
  void release(const std::string& name) override {
    const auto found = made_.find(name);
    if (found == made_.end()) return source_->release(name);
    for (const std::string& part : found->second.parts) source_->release(part);
  }
  void release_all() override { source_->release_all(); }
  void require_unchanged() const override { source_->require_unchanged(); }

 private:
  std::shared_ptr<TensorSource> source_;
  std::map<std::string, MadeTensor> made_;
  std::map<std::string, TensorInfo> listed_;
};

}  // namespace

std::shared_ptr<TensorSource> with_made(std::shared_ptr<TensorSource> source, std::map<std::string, MadeTensor> made,
                                        const std::set<std::string>& dropped) {
  return std::make_shared<MadeSource>(std::move(source), std::move(made), dropped);
}

void Parts::require(const std::string& part, DType dtype, const Shape& shape, const std::string& beside) const {
  const auto found = listed_.find(part);
  if (found == listed_.end()) fail<WeightError>("{}: '{}' is missing, but '{}' exists", describe(), part, beside);
  const TensorInfo& is = found->second;
  const bool vector = shape.rank() <= 1 && is.shape.rank() <= 1;
  const bool fits = (is.shape == shape || (vector && is.shape.numel() == shape.numel())) &&
                    (dtype == DType::f32 ? is_float(is.dtype) : is.dtype == dtype);
  if (!fits)
    fail<WeightError>("{}: '{}' is {} {}, expected {} {}", describe(), part, name_of(is.dtype), is.shape,
                      dtype == DType::f32 ? "numbers" : name_of(dtype), shape);
}

std::optional<std::string> before_ending(const std::string& name, std::string_view ending) {
  if (!name.ends_with(ending)) return std::nullopt;
  return name.substr(0, name.size() - ending.size());
}

void narrow_to(DType dtype, const float* x, int64_t n, std::byte* y) {
  if (dtype == DType::f32) {
    std::memcpy(y, x, size_t(n) * sizeof(float));
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    const uint16_t bits = dtype == DType::f16 ? f32_to_f16(x[i]) : f32_to_bf16(x[i]);
    std::memcpy(y + i * int64_t(sizeof bits), &bits, sizeof bits);
  }
}

std::optional<DType> torch_dtype_named(std::string_view name) {
  if (name == "float16") return DType::f16;
  if (name == "bfloat16") return DType::bf16;
  if (name == "float32") return DType::f32;
  return std::nullopt;
}

DType stated_dtype(const Config& config) {
  return torch_dtype_named(config.text("torch_dtype", config.text("dtype", "float32"))).value_or(DType::f32);
}

}  // namespace hearth
