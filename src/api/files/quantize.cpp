#include "hearth/quantize.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "api/files/gguf_file_types.h"
#include "api/run_scope.h"
#include "backends/backends.h"
#include "core/files/file.h"
#include "core/observe.h"
#include "core/quantized/blocks.h"
#include "core/threads.h"
#include "hub/local_model.h"
#include "models/language_registry.h"
#include "weights/gguf/gguf_folder.h"

namespace hearth {
namespace {

using api::ExportedTensor;
using api::GgufExport;

template <class T> void widen_all(const std::byte* x, int64_t n, float* y) {
  for (int64_t i = 0; i < n; ++i) {
    T value;
    std::memcpy(&value, x + i * int64_t(sizeof value), sizeof value);
    y[i] = float(widen(value));
  }
}

void decode(DType dtype, const std::byte* x, int64_t n, float* y) {
  if (is_blocked(dtype)) return decode_blocks(dtype, x, n, y);
  switch (dtype) {
    case DType::f32: std::memcpy(y, x, size_t(n) * 4); return;
    case DType::f16: return widen_all<F16>(x, n, y);
    case DType::bf16: return widen_all<BF16>(x, n, y);
    case DType::f64:
      for (int64_t i = 0; i < n; ++i) {
        double value;
        std::memcpy(&value, x + i * 8, 8);
        y[i] = float(value);
      }
      return;
    default: fail<UnsupportedError>("quantize: weights of type {} are not supported", name_of(dtype));
  }
}

template <class T> void narrow_all(const float* x, int64_t n, std::byte* y) {
  for (int64_t i = 0; i < n; ++i) {
    const T value = narrow<T>(x[i]);
    std::memcpy(y + i * int64_t(sizeof value), &value, sizeof value);
  }
}

void encode(DType dtype, const float* x, int64_t n, std::byte* y) {
  if (is_blocked(dtype)) encode_blocks(dtype, x, n, y);
  else if (dtype == DType::f16) narrow_all<F16>(x, n, y);
  else if (dtype == DType::bf16) narrow_all<BF16>(x, n, y);
  else std::memcpy(y, x, size_t(n) * 4);
}

// The source's row of a row in the file: a head of D rows has pairs (2i, 2i + 1) from its halves (i, i + D/2).
int64_t stored_row(int64_t row, int64_t rows, int64_t heads) {
  if (heads == 0) return row;
  const int64_t D = rows / heads, r = row % D;
  return row - r + r % 2 * (D / 2) + r / 2;
}

class TensorWriter {
 public:
  TensorWriter(const GgufExport& model, std::span<const GgufTensor> chosen, Backend& device, const OnProgress& progress)
      : model_(model), chosen_(chosen), device_(device), progress_(progress) {
    for (const GgufTensor& t : chosen) total_ += t.shape.numel();
  }

  void operator()(size_t index, const WriteBytes& write) {
    const ExportedTensor& t = model_.tensors[index];
    if (!t.values.empty()) write_rows(index, Tensor::from(device_, t.shape, t.values), write);
    if (!t.stored.empty()) write_stored(index, t.stored, write);
    for (const std::string& name : t.stack) write_stored(index, name, write);
  }

 private:
  void write_stored(size_t index, const std::string& name, const WriteBytes& write) {
    write_rows(index, model_.source->read(name, model_.tensors[index].shape, device_), write);
    model_.source->release(name);
  }

  // All of the tensor, or a slice of it.
  void write_rows(size_t index, const Tensor& x, const WriteBytes& write) {
    const ExportedTensor& t = model_.tensors[index];
    // Values that move together: a row; for a bias, one value.
    const int64_t row = t.shape.rank() < 2 ? 1 : t.shape[-1], rows = row == 0 ? 0 : x.numel() / row;
    const int64_t values = std::max(row, block_of(chosen_[index].dtype).values);
    const int64_t chunk = std::max<int64_t>(1, (int64_t(4) << 20) / values) * (values / row);  // rows in memory at once
    std::vector<std::byte> bytes;
    for (int64_t begin = 0; begin < rows; begin += chunk) {
      check_canceled();
      const int64_t end = std::min(rows, begin + chunk);
      bytes.resize(bytes_of(chosen_[index].dtype, (end - begin) * row));
      const int64_t grain = std::max<int64_t>(1, (int64_t(1) << 15) / values) * (values / row);
      device_.threads().for_ranges(end - begin, grain, [&](int64_t first, int64_t last) {
        convert(t, x, chosen_[index].dtype, row, begin + first, begin + last, bytes.data() + bytes_of(chosen_[index].dtype, first * row));
      });
      write(bytes);
      done_ += (end - begin) * row;
      if (progress_) progress_({.phase = "quantize", .done = done_, .total = total_});
    }
  }

  void convert(const ExportedTensor& t, const Tensor& x, DType dtype, int64_t row, int64_t first, int64_t last, std::byte* to) const {
    const int64_t rows = x.numel() / row, n = (last - first) * row;
    std::vector<float> values(static_cast<size_t>(n));
    if (t.heads == 0) {
      decode(x.dtype(), x.raw() + bytes_of(x.dtype(), first * row), n, values.data());
    } else {
      for (int64_t r = first; r < last; ++r)
        decode(x.dtype(), x.raw() + bytes_of(x.dtype(), stored_row(r, rows, t.heads) * row), row, values.data() + (r - first) * row);
    }
    if (t.offset != 0)
      for (float& v : values) v += t.offset;
    if (t.negative_exp)
      for (float& v : values) v = -std::exp(v);
    if (const auto bad = std::ranges::count_if(values, [](float v) { return !std::isfinite(v); }))
      fail<WeightError>("quantize: '{}' has {} NaN or infinite values of {}", t.name, bad, n);
    encode(dtype, values.data(), n, to);
    if (dtype == DType::f16) decode(dtype, to, n, values.data());
    const bool too_large = is_blocked(dtype)     ? non_finite_in_blocks(dtype, to, n) > 0
                           : dtype == DType::f16 ? std::ranges::any_of(values, [](float v) { return std::isinf(v); })
                                                 : false;
    if (too_large) fail<WeightError>("quantize: '{}' has values that are too large for {}", t.name, name_of(dtype));
  }

  const GgufExport& model_;
  std::span<const GgufTensor> chosen_;
  Backend& device_;
  const OnProgress& progress_;
  int64_t done_ = 0, total_ = 0;
};

}  // namespace

QuantizeReport quantize(const QuantizeRequest& request) {
  const api::OptionalCancel cancel(request.cancel);
  const api::FileType& type = api::file_type_named(request.type);
  const auto device = make_backend({.name = "cpu", .threads = request.threads});
  check_writable(request.output);
  const std::filesystem::path path = gguf_file_of(hub::local_model(request.model));
  GgufExport model = GgufFile::is_one(path) ? api::export_gguf(GgufFile::open(path))
                                            : api::export_checkpoint(models::open_language_checkpoint(path), *device);
  const std::vector<GgufTensor> chosen = api::choose_types(model, type.dtype, request.pure);
  model.values.integer("general.file_type", type.number);
  model.values.integer("general.quantization_version", 2);

  TensorWriter writer(model, chosen, *device, request.progress);
  write_gguf(request.output, model.values, chosen, [&](size_t index, const WriteBytes& write) { writer(index, write); });

  QuantizeReport report;
  report.architecture = model.architecture;
  report.tensors = int64_t(chosen.size());
  report.notes = model.notes;
  for (const GgufTensor& t : chosen) {
    report.parameters += t.shape.numel();
    ++report.types[std::string(name_of(t.dtype))];
  }
  report.bytes = int64_t(std::filesystem::file_size(request.output));
  return report;
}

}  // namespace hearth
