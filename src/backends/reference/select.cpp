#include <algorithm>
#include <cstring>
#include <numeric>

#include "backends/reference/reference_class.h"
#include "core/quantized/blocks.h"
#include "core/row_number.h"

namespace hearth::reference {

void ReferenceBackend::embedding(const Tensor& ids, const Tensor& table, Tensor& y) {
  const int64_t C = table.size(1);
  if (is_blocked(table.dtype())) {
    for (int64_t i = 0; i < ids.numel(); ++i) {
      const int64_t id = ids.data<int32_t>()[i];
      decode_blocks(table.dtype(), table.slice(0, id, id + 1).raw(), C, y.data<float>() + i * C);
    }
    return;
  }
  for (int64_t i = 0; i < y.numel(); ++i) put(y, i, at(table, ids.data<int32_t>()[i / C] * C + i % C));
}

void ReferenceBackend::top_k(const Tensor& x, Tensor& values, Tensor& columns) {
  const int64_t R = x.size(0), C = x.size(1), k = values.size(1);
  pool_.run(R, [&](int64_t r) {
    std::vector<int32_t> order(static_cast<size_t>(C));
    std::iota(order.begin(), order.end(), 0);
    const auto value = [&](int32_t c) { return at(x, r * C + c); };
    std::stable_sort(order.begin(), order.end(),
                     [&](int32_t a, int32_t b) { return std::isnan(value(a)) ? !std::isnan(value(b)) : value(a) > value(b); });
    for (int64_t i = 0; i < k; ++i) {
      put(values, r * k + i, value(order[size_t(i)]));
      columns.data<int32_t>()[r * k + i] = order[size_t(i)];
    }
  });
}

void ReferenceBackend::gather(const Tensor& x, const Tensor& rows, Tensor& y) {
  const size_t row = bytes_of(x.dtype(), x.size(1));
  for (int64_t m = 0; m < rows.numel(); ++m)
    std::memcpy(y.raw() + size_t(m) * row, x.raw() + size_t(row_number("gather", rows, m, x.size(0))) * row, row);
}

void ReferenceBackend::scatter_add(const Tensor& x, const Tensor& rows, const Tensor& factors, Tensor& y) {
  const int64_t C = x.size(1);
  for (int64_t m = 0; m < rows.numel(); ++m) {
    const int64_t row = row_number("scatter_add", rows, m, y.size(0));
    for (int64_t c = 0; c < C; ++c) put(y, row * C + c, at(y, row * C + c) + (factors ? at(factors, m) : 1) * at(x, m * C + c));
  }
}

}  // namespace hearth::reference
