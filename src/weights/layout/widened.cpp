#include "weights/layout/widened.h"

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/files/json.h"
#include "core/on_host.h"

namespace hearth {
namespace {

bool is_f8(DType dtype) { return dtype == DType::f8_e4m3 || dtype == DType::f8_e5m2; }

using Table = std::array<float, 256>;
const Table& table_of(DType dtype) {
  const auto make = [](float (*widen)(uint8_t)) {
    Table table;
    for (size_t i = 0; i < table.size(); ++i) table[i] = widen(uint8_t(i));
    return table;
  };
  static const Table e4m3 = make(f8_e4m3_to_f32), e5m2 = make(f8_e5m2_to_f32);
  return dtype == DType::f8_e4m3 ? e4m3 : e5m2;
}

struct Widened {
  DType stored;
  std::string scale;  // the tensor's name; empty: plain
};

class WidenedSource : public TensorSource {
 public:
  explicit WidenedSource(std::shared_ptr<TensorSource> source) : source_(std::move(source)), stored_(source_->list()), list_(stored_) {
    for (const auto& [name, info] : stored_) {
      if (!info.unreadable.empty()) continue;
      if (name.ends_with(".comfy_quant")) read_format(name);
      if (is_f8(info.dtype)) widen_one(name, info);
    }
    for (const auto& [name, w] : widened_) {
      if (w.scale.empty()) continue;
      const std::string layer = name.substr(0, name.rfind("weight"));
      for (const char* beside : {"scale_weight", "weight_scale", "scale_input", "input_scale", "comfy_quant"}) list_.erase(layer + beside);
    }
    std::erase_if(list_, [](const auto& named) { return named.first == "scaled_fp8" || named.first.ends_with(".scaled_fp8"); });
  }

  bool changes_nothing() const { return widened_.empty() && list_.size() == stored_.size(); }

  std::string describe() const override { return source_->describe(); }
  std::map<std::string, TensorInfo> list() const override { return list_; }
  bool has(const std::string& name) const override { return list_.contains(name); }
  Tensor read(const std::string& name, const Shape& wanted, Backend& backend) override {
    const auto found = list_.find(name);
    if (found == list_.end()) fail<WeightError>("{}: has no tensor '{}'", describe(), name);
    const auto w = widened_.find(name);
    if (w == widened_.end()) return source_->read(name, wanted, backend);
    if (!found->second.unreadable.empty()) fail<UnsupportedError>("{}: '{}' {}", describe(), name, found->second.unreadable);
    const Shape& shape = found->second.shape;
    const Tensor x = source_->read(name, shape, backend);
    return written_on_host(backend, shape, found->second.dtype, [&](Tensor& y) {
      const Table& table = table_of(w->second.stored);
      const auto* bytes = reinterpret_cast<const uint8_t*>(x.raw());
      const int64_t n = shape.numel();
      if (w->second.scale.empty()) {
        auto* out = y.data<uint16_t>();
        for (int64_t i = 0; i < n; ++i) out[i] = f32_to_bf16(table[bytes[i]]);
        return;
      }
      const std::vector<float> scales = source_->read(w->second.scale, {}, backend).to_vector();
      const int64_t row = n / int64_t(scales.size());
      auto* out = y.data<float>();
      for (int64_t i = 0; i < n; ++i) out[i] = table[bytes[i]] * scales[size_t(i / row)];
    });
  }
  std::span<const std::byte> stored_bytes(const std::string& name) const override {
    return widened_.contains(name) ? std::span<const std::byte>() : source_->stored_bytes(name);
  }
  bool mapped(const std::string& name) const override { return !widened_.contains(name) && source_->mapped(name); }
  void release(const std::string& name) override { source_->release(name); }
  void release_all() override { source_->release_all(); }
  void require_unchanged() const override { source_->require_unchanged(); }

 private:
  void widen_one(const std::string& name, const TensorInfo& info) {
    Widened w{.stored = info.dtype, .scale = {}};
    TensorInfo& shown = list_[name];
    shown.dtype = DType::bf16;
    if (name.ends_with("weight")) {
      const std::string layer = name.substr(0, name.size() - 6);
      for (const char* scale : {"scale_weight", "weight_scale"})
        if (stored_.contains(layer + scale)) w.scale = layer + scale;
      for (const char* other : {"weight_scale_inv", "weight_scale_2"})
        if (stored_.contains(layer + other)) shown.unreadable = fmt::format("is scaled by '{}{}', which is not supported", layer, other);
    }
    if (!w.scale.empty()) {
      const TensorInfo& scale = stored_.at(w.scale);
      const int64_t count = scale.shape.numel(), rows = info.shape.rank() > 0 ? info.shape[0] : 1;
      shown.dtype = DType::f32;
      if (!scale.unreadable.empty() || !is_float(scale.dtype) || count < 1 || (count != 1 && count != rows) || info.shape.numel() == 0)
        shown.unreadable =
            fmt::format("has a scale of type {} and shape {}, expected f32 [] or [{}]", name_of(scale.dtype), scale.shape, rows);
    }
    widened_.emplace(name, std::move(w));
  }

  // The tensor holds not weights but JSON text that describes their format.
  void read_format(const std::string& name) {
    const std::string weight = name.substr(0, name.size() - std::strlen("comfy_quant")) + "weight";
    const auto shown = list_.find(weight);
    if (shown == list_.end()) return;
    const auto info = stored_.find(name);
    std::string format = "?";
    if (info->second.dtype == DType::u8) {
      const std::span<const std::byte> text = source_->stored_bytes(name);
      const auto json = parse_json({reinterpret_cast<const char*>(text.data()), text.size()}, fmt::format("{}: '{}'", describe(), name));
      if (json.is_object() && json.contains("format") && json["format"].is_string()) format = json["format"];
    }
    if (format != "float8_e4m3fn" && format != "float8_e5m2")
      shown->second.unreadable = fmt::format("is quantized as '{}', which is not supported", format);
  }

  std::shared_ptr<TensorSource> source_;
  std::map<std::string, TensorInfo> stored_, list_;
  std::map<std::string, Widened> widened_;
};

}  // namespace

std::shared_ptr<TensorSource> widened(std::shared_ptr<TensorSource> source) {
  auto wide = std::make_shared<WidenedSource>(source);
  if (wide->changes_nothing()) return source;
  return wide;
}

float f8_e4m3_to_f32(uint8_t bits) {
  const int exponent = (bits >> 3) & 15, mantissa = bits & 7;
  if (exponent == 15 && mantissa == 7) return std::numeric_limits<float>::quiet_NaN();
  const float value = exponent == 0 ? std::ldexp(float(mantissa), -9) : std::ldexp(float(8 + mantissa), exponent - 10);
  return bits & 0x80 ? -value : value;
}

float f8_e5m2_to_f32(uint8_t bits) { return f16_to_f32(uint16_t(bits << 8)); }

}  // namespace hearth
