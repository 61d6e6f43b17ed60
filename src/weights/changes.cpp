#include "weights/changes.h"

#include <algorithm>

#include "core/error.h"
#include "core/on_host.h"
#include "weights/dequantized.h"

namespace hearth {
namespace {

class ChangedSource final : public TensorSource {
 public:
  ChangedSource(std::shared_ptr<TensorSource> source, std::shared_ptr<const WeightChanges> changes)
      : source_(std::move(source)), changes_(std::move(changes)), stored_(source_->list()) {
    for (const auto& [name, change] : changes_->replaced)
      if (!stored_.contains(name)) fail<WeightError>("{}: has no tensor '{}'", source_->describe(), name);
  }

  std::string describe() const override { return source_->describe(); }
  std::map<std::string, TensorInfo> list() const override {
    std::map<std::string, TensorInfo> all = stored_;
    for (const auto& [name, change] : changes_->replaced) {
      all[name].dtype = DType::f32;
      all[name].scaled = false;
    }
    return all;
  }
  bool has(const std::string& name) const override { return source_->has(name); }
  Tensor read(const std::string& name, const Shape& wanted, Backend& backend) override {
    const auto found = changes_->replaced.find(name);
    if (found == changes_->replaced.end()) return source_->read(name, wanted, backend);
    const Shape& shape = stored_.at(name).shape;
    if (!backend.computes()) return Tensor::empty(backend, shape);
    const Tensor own = dequantized(source_->read(name, shape, backend), source_->scale(name, backend), backend);
    return found->second(
        written_on_host(backend, shape, DType::f32, [&](Tensor& y) { std::ranges::copy(own.to_vector(), y.data<float>()); }));
  }
  Tensor scale(const std::string& name, Backend& backend) override {
    return changes_->replaced.contains(name) ? Tensor() : source_->scale(name, backend);
  }
  std::span<const std::byte> stored_bytes(const std::string& name) const override {
    return changes_->replaced.contains(name) ? std::span<const std::byte>() : source_->stored_bytes(name);
  }
  bool mapped(const std::string& name) const override { return !changes_->replaced.contains(name) && source_->mapped(name); }
  void release(const std::string& name) override { source_->release(name); }
  void release_all() override { source_->release_all(); }
  void require_unchanged() const override { source_->require_unchanged(); }

 private:
  std::shared_ptr<TensorSource> source_;
  std::shared_ptr<const WeightChanges> changes_;
  std::map<std::string, TensorInfo> stored_;
};

template <class T> T found_in(const std::map<std::string, T>& all, const std::string& key) {
  const auto found = all.find(key);
  return found == all.end() ? T() : found->second;
}

}  // namespace

std::shared_ptr<TensorSource> changed(std::shared_ptr<TensorSource> source, std::shared_ptr<const WeightChanges> changes) {
  if (changes->replaced.empty()) return source;
  return std::make_shared<ChangedSource>(std::move(source), std::move(changes));
}

Weight LoadedWeights::weight(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  return found_in(weights_, key);
}
Tensor LoadedWeights::tensor(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  return found_in(tensors_, key);
}
void LoadedWeights::add(const std::string& key, const Weight& weight) {
  const std::lock_guard lock(mutex_);
  weights_[key] = weight;
}
void LoadedWeights::add(const std::string& key, const Tensor& tensor) {
  const std::lock_guard lock(mutex_);
  tensors_[key] = tensor;
}

}  // namespace hearth
