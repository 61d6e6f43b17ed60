#include "weights/gguf/gguf_forms.h"

#include <algorithm>

#include "core/error.h"

namespace hearth {
namespace {

using Form = GgufForm::Kind;

bool has_form(const GgufForm& form, const std::string& official) { return rewrite(official, form.names, form.names).has_value(); }

Shape official_shape(Form kind, const Shape& s) {
  if (kind == Form::squeezed && s.rank() == 2) return {s[0], 1, s[1]};
  if (((kind == Form::column && s[-1] == 1) || kind == Form::groups) && s.rank() == 2) return {s.numel()};
  return s;
}

class OfficialShapes final : public TensorSource {
 public:
  OfficialShapes(std::shared_ptr<TensorSource> source, std::span<const GgufForm> forms) : source_(std::move(source)) {
    listed_ = source_->list();
    for (auto& [name, info] : listed_)
      for (const GgufForm& form : forms)
        if (has_form(form, name)) info.shape = official_shape(form.kind, info.shape);
  }

  std::string describe() const override { return source_->describe(); }
  std::map<std::string, TensorInfo> list() const override { return listed_; }
  bool has(const std::string& name) const override { return source_->has(name); }
  Tensor read(const std::string& name, const Shape& wanted, Backend& backend) override {
    const Tensor x = source_->read(name, wanted, backend);
    const auto found = listed_.find(name);
    return found == listed_.end() || found->second.shape == x.shape() ? x : x.view(found->second.shape);
  }
  Tensor scale(const std::string& name, Backend& backend) override { return source_->scale(name, backend); }
  std::span<const std::byte> stored_bytes(const std::string& name) const override { return source_->stored_bytes(name); }
  bool mapped(const std::string& name) const override { return source_->mapped(name); }
  void release(const std::string& name) override { source_->release(name); }
  void release_all() override { source_->release_all(); }
  void require_unchanged() const override { source_->require_unchanged(); }

 private:
  std::shared_ptr<TensorSource> source_;
  std::map<std::string, TensorInfo> listed_;
};

}  // namespace

Shape gguf_shape(const std::string& official, const Shape& shape, std::span<const GgufForm> forms,
                 const std::function<int64_t(std::string_view key)>& count) {
  for (const GgufForm& form : forms) {
    if (!has_form(form, official)) continue;
    if (form.kind == Form::squeezed && shape.rank() == 3 && shape[1] == 1) return {shape[0], shape[2]};
    if (form.kind == Form::column && shape.rank() == 1) return {shape[0], 1};
    if (form.kind == Form::groups && shape.rank() == 1) {
      const int64_t G = count(form.count);
      if (G < 1 || shape[0] % G != 0) fail<WeightError>("'{}' = {} does not divide {} of '{}'", form.count, G, shape, official);
      return {G, shape[0] / G};
    }
  }
  return shape;
}

bool is_negative_exp(const std::string& official, std::span<const GgufForm> forms) {
  return std::ranges::any_of(forms, [&](const GgufForm& form) { return form.kind == Form::negative_exp && has_form(form, official); });
}

std::shared_ptr<TensorSource> with_official_shapes(std::shared_ptr<TensorSource> source, std::span<const GgufForm> forms) {
  return forms.empty() ? source : std::make_shared<OfficialShapes>(std::move(source), forms);
}

}  // namespace hearth
