#include "weights/dequantized.h"

#include <algorithm>
#include <array>

#include "core/on_host.h"
#include "core/quantized/blocks.h"
#include "core/threads.h"

namespace hearth {
namespace {

constexpr int64_t grain = 1 << 15;  // values per piece of work: whole blocks of every type

using Table = std::array<float, 256>;
Table table_of(DType dtype) {
  Table table;
  for (size_t i = 0; i < table.size(); ++i) table[i] = f8_to_f32(dtype, uint8_t(i));
  return table;
}

DType type_of(DType stored, bool scaled) {
  return is_8bit_float(stored) && !scaled ? DType::bf16 : is_compact(stored) ? DType::f32 : stored;
}

class DequantizedSource : public TensorSource {
 public:
  explicit DequantizedSource(std::shared_ptr<TensorSource> source) : source_(std::move(source)), stored_(source_->list()) {}

  std::string describe() const override { return source_->describe(); }
  std::map<std::string, TensorInfo> list() const override {
    std::map<std::string, TensorInfo> all = stored_;
    for (auto& [name, info] : all) info.dtype = type_of(info.dtype, info.scaled), info.scaled = false;
    return all;
  }
  bool has(const std::string& name) const override { return source_->has(name); }
  Tensor read(const std::string& name, const Shape& wanted, Backend& backend) override {
    const Tensor x = source_->read(name, wanted, backend);
    return is_compact(x.dtype()) ? dequantized(x, source_->scale(name, backend), backend) : x;
  }
  std::span<const std::byte> stored_bytes(const std::string& name) const override {
    return is_stored(name) ? source_->stored_bytes(name) : std::span<const std::byte>();
  }
  bool mapped(const std::string& name) const override { return is_stored(name) && source_->mapped(name); }
  void release(const std::string& name) override { source_->release(name); }
  void release_all() override { source_->release_all(); }
  void require_unchanged() const override { source_->require_unchanged(); }

 private:
  bool is_stored(const std::string& name) const {
    const auto found = stored_.find(name);
    return found == stored_.end() || !is_compact(found->second.dtype);
  }

  std::shared_ptr<TensorSource> source_;
  std::map<std::string, TensorInfo> stored_;
};

}  // namespace

Tensor dequantized(const Tensor& x, const Tensor& scale, Backend& backend) {
  const DType stored = x.dtype(), dtype = type_of(stored, bool(scale));
  if (dtype == stored) return x;
  return written_on_host(backend, x.shape(), dtype, [&](Tensor& y) {
    const Table table = is_8bit_float(stored) ? table_of(stored) : Table();
    const float* const scales = scale ? scale.data<float>() : nullptr;
    const int64_t row = scale ? x.numel() / scale.numel() : 0;
    backend.threads().for_ranges(x.numel(), grain, [&](int64_t begin, int64_t end) {
      if (is_blocked(stored)) {
        decode_blocks(stored, x.raw() + bytes_of(stored, begin), end - begin, y.data<float>() + begin);
        for (int64_t i = begin; scales && i < end; ++i) y.data<float>()[i] *= scales[i / row];
        return;
      }
      const auto* const bits = x.data<uint8_t>();
      if (!scales)
        for (int64_t i = begin; i < end; ++i) y.data<uint16_t>()[i] = f32_to_bf16(table[bits[i]]);
      else
        for (int64_t i = begin; i < end; ++i) y.data<float>()[i] = table[bits[i]] * scales[i / row];
    });
  });
}

std::shared_ptr<TensorSource> dequantized(std::shared_ptr<TensorSource> source) {
  const auto tensors = source->list();
  const bool any = std::ranges::any_of(tensors, [](const auto& named) { return is_compact(named.second.dtype); });
  if (!any) return source;
  return std::make_shared<DequantizedSource>(std::move(source));
}

}  // namespace hearth
