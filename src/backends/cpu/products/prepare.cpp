#include <cstring>

#include "backends/cpu/convolution/conv_weights.h"
#include "backends/cpu/convolution/windows.h"
#include "backends/cpu/cpu_class.h"
#include "backends/cpu/products/bf16.h"
#include "backends/cpu/products/product.h"
#include "backends/cpu/products/rows.h"
#include "core/factors.h"

namespace hearth::cpu {

PackedWeight::PackedWeight(int64_t rows, int64_t depth, const Kernels& kernels, DType type, bool glu)
    : CpuWeight(Layout::panels), Panels{rows, kernels.panel, glu}, k(depth), dtype(type) {
  const int64_t stored = n == 0 ? 0 : (panels() - 1) * panel + width_of(panels() - 1);
  bytes = std::max<size_t>(64, (size_t(stored * k) * size_of(dtype) + 63) / 64 * 64);
}

// A linear weight in its own dtype. T: elements of that size.
template <class T>
void CpuBackend::pack_rows(const Tensor& w, PackedWeight& packed, void (*transpose)(const T*, int64_t, int64_t, int64_t, T*, int64_t)) {
  constexpr int64_t slab = 512, stride = slab + 64 / sizeof(T);  // of k; rows of a power of two would fall into the same cache sets
  const int64_t K = packed.k;
  pool_.run(packed.panels(), [&](int64_t p) {
    const int64_t columns = packed.columns_of(p), width = packed.width_of(p);
    auto* const rows = reinterpret_cast<T*>(thread_scratch(size_t(stride * packed.panel)));
    auto* const target = reinterpret_cast<T*>(packed.data.get()) + p * packed.panel * K;
    if (columns < (packed.gated ? packed.step() : width)) std::memset(target, 0, size_t(width * K) * sizeof(T));
    for (int64_t k0 = 0; k0 < K; k0 += slab) {
      const int64_t count = std::min(slab, K - k0);
      for (int64_t half = 0; half < (packed.gated ? 2 : 1); ++half) {  // values, then gates
        for (int64_t r = 0; r < columns; ++r)
          std::memcpy(rows + r * stride, w.raw() + size_t((half * packed.outputs() + packed.column(p) + r) * K + k0) * sizeof(T),
                      size_t(count) * sizeof(T));
        transpose(rows, stride, columns, count, target + k0 * width + half * packed.step(), width);
      }
    }
  });
}

// A convolution's summation index is (taps, c), with c innermost as in the activations. Checkpoints have (c, taps).
std::shared_ptr<const PreparedWeight> CpuBackend::prepare(const Tensor& w, WeightKind kind, const WeightForm& form) {
  const DType hold = form.hold;
  if (form.in_place) {
    if ((kind != WeightKind::linear && kind != WeightKind::glu) || !has_products(*this, form) || hold != w.dtype())
      fail<UnsupportedError>(
          "prepare: a weight cannot be held in place in this form, expected a linear weight in its own dtype with factors f32, i16 (block "
          "types) or bf16 (bf16, 8-bit floats and block types, if the CPU multiplies it)");
    const std::optional<RowType> type = row_type(hold);
    if (!type) fail<UnsupportedError>("prepare: a weight of {} cannot be held in place", name_of(hold));
    return std::make_shared<RowsWeight>(w, *type);
  }
  if (!multiplies(*this, form.factors))
    fail<UnsupportedError>("prepare: kernel path '{}' does not multiply {} factors", kernels_.name, name_of(form.factors));
  const auto readable = [](DType d) { return d == DType::f32 || is_16bit_float(d); };
  if (!readable(w.dtype()) || !readable(hold))
    fail<UnsupportedError>("prepare: a weight of {} cannot be held as {}, expected f32, f16 or bf16", name_of(w.dtype()), name_of(hold));
  if (form.groups > 1) return prepare_grouped(w, kind, form);
  if (kind == WeightKind::conv_transposed) return prepare_transposed(w, form);
  if (layout_of(w.shape(), kind, form, prefers_bf16()) == Layout::bf16_panels) return prepare_bf16(w, kind);
  const int64_t N = w.size(0), K = N == 0 ? 0 : w.numel() / N;
  const int64_t taps = taps_of(w.shape()), C = K / taps;
  auto packed = std::make_shared<PackedWeight>(N, K, kernels_, hold, kind == WeightKind::glu);
  packed->data = memory_->allocate(packed->bytes);
  if (taps == 1 && w.dtype() == hold) {
    if (size_of(hold) == 2) pack_rows<uint16_t>(w, *packed, kernels_.transpose_16);
    else pack_rows<uint32_t>(w, *packed, kernels_.transpose_32);
    return packed;
  }
  const size_t from = size_of(w.dtype()), to = size_of(hold);
  const int64_t panel = kernels_.panel;
  constexpr int64_t slab = 512;  // values of the source's k

  pool_.run(packed->panels(), [&](int64_t p) {
    const int64_t columns = packed->columns_of(p), width = packed->width_of(p);
    float* rows = thread_scratch(size_t(2 * slab * panel));
    float* turned = rows + slab * panel;
    std::fill(turned, turned + slab * width, 0.0f);
    for (int64_t k0 = 0; k0 < K; k0 += slab) {
      const int64_t count = std::min(slab, K - k0);
      for (int64_t half = 0; half < (packed->gated ? 2 : 1); ++half) {  // values, then gates
        for (int64_t r = 0; r < columns; ++r) {
          const std::byte* source = w.raw() + size_t((half * packed->outputs() + packed->column(p) + r) * K + k0) * from;
          if (w.dtype() == DType::f32) std::memcpy(rows + r * slab, source, size_t(count) * from);
          else widened(kernels_, w.dtype(), source, count, rows + r * slab);
        }
        kernels_.transpose(rows, slab, columns, count, 1, turned + half * packed->step(), width);
      }
      auto* target = packed->data.get() + size_t(p * panel * K) * to;
      if (taps == 1) {
        narrowed(kernels_, turned, count * width, hold, target + size_t(k0 * width) * to);
      } else {
        for (int64_t i = 0, c = k0 / taps, tap = k0 % taps; i < count; ++i) {
          narrowed(kernels_, turned + i * width, width, hold, target + size_t((tap * C + c) * width) * to);
          if (++tap == taps) tap = 0, ++c;
        }
      }
    }
  });
  return packed;
}

std::string CpuBackend::packing() const {
  constexpr int version = 3;  // increase it when the same weights are packed into other bytes
  return fmt::format("cpu {} {}", kernels_.name, version);
}

std::shared_ptr<const PreparedWeight> CpuBackend::adopt(std::shared_ptr<const std::byte> storage, size_t bytes, const Shape& w,
                                                        WeightKind kind, const WeightForm& form) {
  const auto with_data = [&](auto packed) -> std::shared_ptr<const PreparedWeight> {
    if (packed->bytes != bytes) return nullptr;
    packed->data = std::const_pointer_cast<std::byte>(storage);  // prepared weights are never written
    return packed;
  };
  if (form.groups > 1) return nullptr;
  const int64_t taps = taps_of(w);
  if (kind == WeightKind::conv_transposed)
    return adopt(std::move(storage), bytes, {taps * w[1], w[0]}, WeightKind::linear, {.hold = form.hold, .factors = form.factors});
  if (layout_of(w, kind, form, prefers_bf16()) == Layout::bf16_panels)
    return with_data(std::make_shared<Bf16Weight>(w[0], Bf16Depth(taps, w[1], kernels_.bf16->depth).total, kind == WeightKind::glu));
  return with_data(std::make_shared<PackedWeight>(w[0], taps * w[1], kernels_, form.hold, kind == WeightKind::glu));
}

}  // namespace hearth::cpu
