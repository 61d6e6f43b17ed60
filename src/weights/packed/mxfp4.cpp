#include "weights/packed/mxfp4.h"

#include "core/error.h"
#include "core/on_host.h"
#include "core/quantized/block_layouts.h"
#include "core/threads.h"

namespace hearth {
namespace {

constexpr std::string_view blocks_ending = "_blocks", scales_ending = "_scales";

class UnpackedMxfp4 final : public TensorSource {
 public:
  explicit UnpackedMxfp4(std::shared_ptr<TensorSource> source) : source_(std::move(source)) {
    const std::map<std::string, TensorInfo> stored = source_->list();
    for (const auto& [name, info] : stored) {
      if (!name.ends_with(blocks_ending)) {
        if (!name.ends_with(scales_ending)) listed_[name] = info;
        continue;
      }
      const std::string matrix = name.substr(0, name.size() - blocks_ending.size());
      const auto scales = stored.find(matrix + std::string(scales_ending));
      const int rank = info.shape.rank();
      const bool bytes = info.dtype == DType::u8 && rank >= 3 && info.shape[-1] == 16;
      const Shape of_scales = rank >= 1 ? Shape(std::span(info.shape.begin(), info.shape.end() - 1)) : Shape();
      if (!bytes || scales == stored.end() || scales->second.dtype != DType::u8 || scales->second.shape != of_scales)
        fail<WeightError>("{}: '{}' is {} {}, expected u8 [..., N, K/32, 16] next to '{}{}' u8 [..., N, K/32]", source_->describe(), name,
                          name_of(info.dtype), info.shape, matrix, scales_ending);
      Shape shape = of_scales;
      shape[-1] *= 32;
      listed_[matrix + ".weight"] = {.dtype = DType::mxfp4, .shape = shape, .unreadable = {}};
      packed_[matrix + ".weight"] = matrix;
    }
  }

  std::string describe() const override { return source_->describe(); }
  std::map<std::string, TensorInfo> list() const override { return listed_; }
  bool has(const std::string& name) const override { return listed_.contains(name); }
  Tensor read(const std::string& name, const Shape& wanted, Backend& backend) override {
    const auto packed = packed_.find(name);
    if (packed == packed_.end()) return source_->read(name, wanted, backend);
    const Tensor blocks = source_->read(packed->second + std::string(blocks_ending), {}, backend).dense();
    const Tensor scales = source_->read(packed->second + std::string(scales_ending), {}, backend).dense();
    return written_on_host(backend, listed_.at(name).shape, DType::mxfp4, [&](Tensor& y) {
      auto* const to = y.data<blocks::Mxfp4>();
      const auto *from = blocks.data<uint8_t>(), *exponents = scales.data<uint8_t>();
      backend.threads().for_ranges(scales.numel(), 1 << 12, [&](int64_t begin, int64_t end) {
        for (int64_t b = begin; b < end; ++b) {
          to[b].e = exponents[b];
          const auto code = [&](int i) { return from[16 * b + i / 2] >> (i % 2 * 4) & 15; };
          for (int j = 0; j < 16; ++j) to[b].qs[j] = uint8_t(code(j) | code(j + 16) << 4);
        }
      });
    });
  }
  Tensor scale(const std::string& name, Backend& backend) override {
    return packed_.contains(name) ? Tensor() : source_->scale(name, backend);
  }
  std::span<const std::byte> stored_bytes(const std::string& name) const override {
    return packed_.contains(name) ? std::span<const std::byte>() : source_->stored_bytes(name);
  }
  bool mapped(const std::string& name) const override { return !packed_.contains(name) && source_->mapped(name); }
  void release(const std::string& name) override {
    const auto packed = packed_.find(name);
    if (packed == packed_.end()) return source_->release(name);
    for (const std::string_view ending : {blocks_ending, scales_ending}) source_->release(packed->second + std::string(ending));
  }
  void release_all() override { source_->release_all(); }
  void require_unchanged() const override { source_->require_unchanged(); }

 private:
  std::shared_ptr<TensorSource> source_;
  std::map<std::string, TensorInfo> listed_;
  std::map<std::string, std::string> packed_;  // X.weight → X
};

}  // namespace

bool has_mxfp4(const Config& config) {
  if (!config.has("quantization_config")) return false;
  const Config c = config.object("quantization_config");
  if (c.text("quant_method", "") != "mxfp4") return false;
  c.no_effect({"modules_to_not_convert"});  // the tensors show it
  c.finish();
  return true;
}

std::shared_ptr<TensorSource> unpacked_mxfp4(std::shared_ptr<TensorSource> source) {
  return std::make_shared<UnpackedMxfp4>(std::move(source));
}

}  // namespace hearth
