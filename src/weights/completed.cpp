#include "weights/completed.h"

#include <set>

#include "core/error.h"

namespace hearth {
namespace {

class CompletedSource final : public TensorSource {
 public:
  CompletedSource(std::shared_ptr<TensorSource> own, std::shared_ptr<TensorSource> other,
                  const std::function<bool(const std::string& name)>& shares)
      : own_(std::move(own)), other_(std::move(other)), all_(own_->list()) {
    for (const auto& [name, info] : other_->list())
      if (shares(name) && all_.emplace(name, info).second) shared_.insert(name);
    if (shared_.empty()) fail<WeightError>("{}: has no tensors that {} shares", other_->describe(), own_->describe());
  }

  std::string describe() const override { return own_->describe(); }
  std::map<std::string, TensorInfo> list() const override { return all_; }
  bool has(const std::string& name) const override { return all_.contains(name); }
  Tensor read(const std::string& name, const Shape& wanted, Backend& backend) override { return of(name).read(name, wanted, backend); }
  Tensor scale(const std::string& name, Backend& backend) override { return of(name).scale(name, backend); }
  std::span<const std::byte> stored_bytes(const std::string& name) const override { return of(name).stored_bytes(name); }
  bool mapped(const std::string& name) const override { return of(name).mapped(name); }
  void release(const std::string& name) override { of(name).release(name); }
  void release_all() override { own_->release_all(), other_->release_all(); }
  void require_unchanged() const override { own_->require_unchanged(), other_->require_unchanged(); }

 private:
  TensorSource& of(const std::string& name) const { return shared_.contains(name) ? *other_ : *own_; }

  std::shared_ptr<TensorSource> own_, other_;
  std::map<std::string, TensorInfo> all_;
  std::set<std::string> shared_;
};

}  // namespace

std::shared_ptr<TensorSource> completed(std::shared_ptr<TensorSource> source, std::shared_ptr<TensorSource> other,
                                        const std::function<bool(const std::string& name)>& shares) {
  return std::make_shared<CompletedSource>(std::move(source), std::move(other), shares);
}

}  // namespace hearth
