#include "weights/layout/float8.h"

#include <cstring>
#include <nlohmann/json.hpp>

#include "core/files/json.h"
#include "core/on_host.h"

namespace hearth {
namespace {

class Float8Source : public TensorSource {
 public:
  explicit Float8Source(std::shared_ptr<TensorSource> source) : source_(std::move(source)), stored_(source_->list()), list_(stored_) {
    for (const auto& [name, info] : stored_) {
      if (!info.unreadable.empty()) continue;
      if (name.ends_with(".comfy_quant")) read_format(name);
      if (is_8bit_float(info.dtype) && name.ends_with("weight")) find_scale(name, info);
    }
    for (const auto& [name, scale] : scales_) {
      const std::string layer = name.substr(0, name.rfind("weight"));
      for (const char* beside : {"scale_weight", "weight_scale", "scale_input", "input_scale", "comfy_quant"}) list_.erase(layer + beside);
    }
    std::erase_if(list_, [](const auto& named) { return named.first == "scaled_fp8" || named.first.ends_with(".scaled_fp8"); });
  }

  bool changes_nothing() const { return !changed_ && list_.size() == stored_.size(); }

  std::string describe() const override { return source_->describe(); }
  std::map<std::string, TensorInfo> list() const override { return list_; }
  bool has(const std::string& name) const override { return list_.contains(name); }
  Tensor read(const std::string& name, const Shape& wanted, Backend& backend) override {
    const auto found = list_.find(name);
    if (found == list_.end()) fail<WeightError>("{}: has no tensor '{}'", describe(), name);
    if (!found->second.unreadable.empty()) fail<UnsupportedError>("{}: '{}' {}", describe(), name, found->second.unreadable);
    return source_->read(name, wanted, backend);
  }
  Tensor scale(const std::string& name, Backend& backend) override {
    const auto found = scales_.find(name);
    if (found == scales_.end()) return source_->scale(name, backend);
    const Tensor stored = source_->read(found->second, stored_.at(found->second).shape, backend);
    return written_on_host(backend, {stored.numel()}, DType::f32,
                           [&](Tensor& y) { std::ranges::copy(stored.to_vector(), y.data<float>()); });
  }
  std::span<const std::byte> stored_bytes(const std::string& name) const override { return source_->stored_bytes(name); }
  bool mapped(const std::string& name) const override { return source_->mapped(name); }
  void release(const std::string& name) override { source_->release(name); }
  void release_all() override { source_->release_all(); }
  void require_unchanged() const override { source_->require_unchanged(); }

 private:
  void find_scale(const std::string& name, const TensorInfo& info) {
    const std::string layer = name.substr(0, name.size() - std::strlen("weight"));
    for (const char* other : {"weight_scale_inv", "weight_scale_2"})
      if (stored_.contains(layer + other)) refuse(name, fmt::format("is scaled by '{}{}', which is not supported", layer, other));
    for (const char* spelling : {"scale_weight", "weight_scale"}) {
      const auto scale = stored_.find(layer + spelling);
      if (scale == stored_.end()) continue;
      scales_[name] = scale->first;
      list_[name].scaled = true;
      const int64_t count = scale->second.shape.numel(), rows = info.shape.rank() > 0 ? info.shape[0] : 1;
      if (!scale->second.unreadable.empty() || !is_float(scale->second.dtype) || count < 1 || (count != 1 && count != rows) ||
          info.shape.numel() == 0)
        refuse(name, fmt::format("has a scale of type {} and shape {}, expected f32 [] or [{}]", name_of(scale->second.dtype),
                                 scale->second.shape, rows));
    }
  }

  // The tensor holds not weights but JSON text that describes their format.
  void read_format(const std::string& name) {
    const std::string weight = name.substr(0, name.size() - std::strlen("comfy_quant")) + "weight";
    if (!list_.contains(weight)) return;
    const auto info = stored_.find(name);
    std::string format = "?";
    if (info->second.dtype == DType::u8) {
      const std::span<const std::byte> text = source_->stored_bytes(name);
      const auto json = parse_json({reinterpret_cast<const char*>(text.data()), text.size()}, fmt::format("{}: '{}'", describe(), name));
      if (json.is_object() && json.contains("format") && json["format"].is_string()) format = json["format"];
    }
    if (format != "float8_e4m3fn" && format != "float8_e5m2")
      refuse(weight, fmt::format("is quantized as '{}', which is not supported", format));
  }

  void refuse(const std::string& name, const std::string& why) {
    list_[name].unreadable = why;
    changed_ = true;
  }

  std::shared_ptr<TensorSource> source_;
  std::map<std::string, TensorInfo> stored_, list_;
  std::map<std::string, std::string> scales_;  // weight → its scale
  bool changed_ = false;                       // a tensor was found unreadable
};

}  // namespace

std::shared_ptr<TensorSource> with_float8_scales(std::shared_ptr<TensorSource> source) {
  auto scaled = std::make_shared<Float8Source>(source);
  if (scaled->changes_nothing()) return source;
  return scaled;
}

}  // namespace hearth
