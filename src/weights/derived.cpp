#include "weights/derived.h"

#include <cstring>

#include "core/error.h"
#include "core/on_host.h"

namespace hearth {
namespace {

class DerivedSource final : public TensorSource {
 public:
  DerivedSource(std::shared_ptr<TensorSource> source, std::map<std::string, DerivedTensor> tensors)
      : source_(std::move(source)), derived_(std::move(tensors)), stored_(source_->list()), listed_(stored_) {
    for (const auto& [name, tensor] : derived_)
      for (const std::string& from : tensor.from)
        if (tensor.replaces) listed_.erase(from);
    for (auto& [name, tensor] : derived_) {
      for (const std::string& from : tensor.from) {
        const TensorInfo& info = stored_.at(from);
        if (!info.unreadable.empty()) tensor.info.unreadable = info.unreadable;
        if (info.scaled) tensor.info.unreadable = "has a scale, which is not supported for a tensor that is rearranged";
      }
      if (!listed_.emplace(name, tensor.info).second) fail<WeightError>("{}: '{}' exists twice", source_->describe(), name);
    }
  }

  std::string describe() const override { return source_->describe(); }
  std::map<std::string, TensorInfo> list() const override { return listed_; }
  bool has(const std::string& name) const override { return listed_.contains(name); }
  Tensor read(const std::string& name, const Shape& wanted, Backend& backend) override {
    const auto found = derived_.find(name);
    if (found == derived_.end()) return source_->read(name, wanted, backend);
    std::vector<Tensor> from;
    for (const std::string& part : found->second.from) from.push_back(source_->read(part, stored_.at(part).shape, backend).dense());
    return found->second.compute(from);
  }
  Tensor scale(const std::string& name, Backend& backend) override {
    return derived_.contains(name) ? Tensor() : source_->scale(name, backend);
  }
  std::span<const std::byte> stored_bytes(const std::string& name) const override {
    return derived_.contains(name) ? std::span<const std::byte>() : source_->stored_bytes(name);
  }
  bool mapped(const std::string& name) const override { return !derived_.contains(name) && source_->mapped(name); }
  void release(const std::string& name) override {
    if (!derived_.contains(name)) source_->release(name);  // others may need the same tensors
  }
  void release_all() override { source_->release_all(); }
  void require_unchanged() const override { source_->require_unchanged(); }

 private:
  std::shared_ptr<TensorSource> source_;
  std::map<std::string, DerivedTensor> derived_;
  std::map<std::string, TensorInfo> stored_, listed_;
};

}  // namespace

DerivedTensor derive(std::vector<std::string> from, DType dtype, const Shape& shape,
                     std::function<Tensor(std::span<const Tensor>)> compute) {
  DerivedTensor tensor;
  tensor.from = std::move(from);
  tensor.info.dtype = dtype;
  tensor.info.shape = shape;
  tensor.compute = std::move(compute);
  return tensor;
}

DerivedTensor derive_view(const std::string& from, DType dtype, const Shape& shape) {
  return derive({from}, dtype, shape, [shape](std::span<const Tensor> x) { return x[0].view(shape); });
}

DerivedTensor derive_joined(std::vector<std::string> from, const Shape& shape) {
  return derive(std::move(from), DType::f32, shape, [shape](std::span<const Tensor> parts) {
    std::vector<float> values;
    for (const Tensor& x : parts) {
      const std::vector<float> own = x.to_vector();
      values.insert(values.end(), own.begin(), own.end());
    }
    return Tensor::from(parts[0].backend(), shape, values);
  });
}

std::shared_ptr<TensorSource> derived(std::shared_ptr<TensorSource> source, std::map<std::string, DerivedTensor> tensors) {
  if (tensors.empty()) return source;
  return std::make_shared<DerivedSource>(std::move(source), std::move(tensors));
}

Tensor rows_in_order(const Tensor& x, std::span<const int64_t> rows) {
  Shape shape = x.shape();
  shape[0] = int64_t(rows.size());
  const size_t bytes = bytes_of(x.dtype(), x.numel() / x.size(0));
  return written_on_host(x.backend(), shape, x.dtype(), [&](Tensor& y) {
    for (size_t r = 0; r < rows.size(); ++r) std::memcpy(y.raw() + r * bytes, x.raw() + size_t(rows[r]) * bytes, bytes);
  });
}

Tensor turned_matrix(const Tensor& x) {
  const Tensor from = is_blocked(x.dtype()) ? Tensor::from(x.backend(), x.shape(), x.to_vector()) : x;
  const int64_t R = from.size(0), C = from.size(1);
  const size_t bytes = size_of(from.dtype());
  return written_on_host(from.backend(), {C, R}, from.dtype(), [&](Tensor& y) {
    for (int64_t c = 0; c < C; ++c)
      for (int64_t r = 0; r < R; ++r) std::memcpy(y.raw() + size_t(c * R + r) * bytes, from.raw() + size_t(r * C + c) * bytes, bytes);
  });
}

}  // namespace hearth
