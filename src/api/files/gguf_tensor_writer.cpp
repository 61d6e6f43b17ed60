#include "api/files/gguf_tensor_writer.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/backend.h"
#include "core/observe.h"
#include "core/quantized/blocks.h"
#include "core/threads.h"
#include "weights/dequantized.h"
#include "weights/listing.h"

namespace hearth::api {
namespace {

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

void encode(DType dtype, const float* x, int64_t n, std::byte* y, std::span<const float> importance) {
  if (is_blocked(dtype)) encode_blocks(dtype, x, n, y, importance);
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
  TensorWriter(const GgufExport& model, std::span<const GgufTensor> chosen, Backend& device, const OnProgress& progress,
               const Imatrix* importance)
      : model_(model), chosen_(chosen), device_(device), progress_(progress), importance_(importance) {
    for (const GgufTensor& t : chosen) total_ += t.shape.numel();
  }

  void operator()(size_t index, const WriteBytes& write) {
    const ExportedTensor& t = model_.tensors[index];
    take_importance(t.name, chosen_[index]);
    if (!t.source) return write_rows(t, Tensor::from(device_, t.shape, t.values), chosen_[index].dtype, write);
    for (const std::string& stored : t.stored) {
      Tensor x = t.source->read(stored, t.shape, device_);
      const bool turns = t.form == form::transposed || t.form == form::swapped;
      const Tensor scale = is_compact(x.dtype()) ? t.source->scale(stored, device_) : Tensor();
      if (is_8bit_float(x.dtype()) || scale || (turns && is_blocked(x.dtype()))) x = dequantized(x, scale, device_);
      if (t.form == form::transposed) x = turned(x, device_);
      if (t.form == form::swapped) x = swapped(x, device_);
      write_rows(t, x, chosen_[index].dtype, write);
      t.source->release(stored);
    }
  }

 private:
  // Finds the importance of the columns of each matrix of the tensor that is written next.
  void take_importance(const std::string& name, const GgufTensor& to) {
    of_matrices_.clear();
    first_row_ = 0;
    if (!importance_ || !uses_importance(to.dtype)) return;
    const auto found = importance_->entries.find(name);
    if (found == importance_->entries.end()) return;
    const int64_t K = to.shape[-1], matrices = to.shape.rank() == 3 ? to.shape[0] : 1;
    for (int64_t m = 0; m < matrices; ++m) of_matrices_.push_back(importance_of(found->second, m, K));
    rows_of_matrix_ = to.shape.numel() / K / matrices;
  }

  // Rows first … first + count − 1 of the tensor.
  void encode_rows(DType dtype, const float* x, int64_t first, int64_t count, int64_t row, std::byte* to) const {
    if (of_matrices_.empty()) return encode(dtype, x, count * row, to, {});
    for (int64_t done = 0; done < count;) {
      const int64_t matrix = (first + done) / rows_of_matrix_, some = std::min(count - done, (matrix + 1) * rows_of_matrix_ - first - done);
      encode(dtype, x + done * row, some * row, to + bytes_of(dtype, done * row), of_matrices_[size_t(matrix)]);
      done += some;
    }
  }

  // x: some rows of the tensor, or all.
  void write_rows(const ExportedTensor& t, const Tensor& x, DType dtype, const WriteBytes& write) {
    // Values that move together: a row; for a bias, one value.
    const int64_t row = t.shape.rank() < 2 ? 1 : t.shape[-1], rows = row == 0 ? 0 : x.numel() / row;
    const int64_t values = std::max(row, block_of(dtype).values);
    const int64_t chunk = std::max<int64_t>(1, (int64_t(4) << 20) / values) * (values / row);  // rows in memory at once
    std::vector<std::byte> bytes;
    for (int64_t begin = 0; begin < rows; begin += chunk) {
      check_canceled();
      const int64_t end = std::min(rows, begin + chunk);
      bytes.resize(bytes_of(dtype, (end - begin) * row));
      const int64_t grain = std::max<int64_t>(1, (int64_t(1) << 15) / values) * (values / row);
      device_.threads().for_ranges(end - begin, grain, [&](int64_t first, int64_t last) {
        convert(t, x, dtype, row, begin + first, begin + last, bytes.data() + bytes_of(dtype, first * row));
      });
      write(bytes);
      done_ += (end - begin) * row;
      if (progress_) progress_({.phase = "quantize", .done = done_, .total = total_});
    }
    first_row_ += rows;
  }

  void convert(const ExportedTensor& t, const Tensor& x, DType dtype, int64_t row, int64_t first, int64_t last, std::byte* to) const {
    const int64_t rows = x.numel() / row, n = (last - first) * row;
    if (x.dtype() == dtype && is_blocked(dtype) && t.heads == 0 && t.offset == 0 && !t.negative_exp) {
      std::memcpy(to, x.raw() + bytes_of(dtype, first * row), bytes_of(dtype, n));
      return;
    }
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
    encode_rows(dtype, values.data(), first_row_ + first, last - first, row, to);
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
  const Imatrix* importance_;
  std::vector<std::vector<float>> of_matrices_;  // of the tensor that is being written; empty: it has none, or does not use it
  int64_t rows_of_matrix_ = 0;
  int64_t first_row_ = 0;  // of the tensor, in what was read last
  int64_t done_ = 0, total_ = 0;
};

}  // namespace

void write_export(const std::filesystem::path& path, const GgufExport& model, std::span<const GgufTensor> chosen, Backend& device,
                  const OnProgress& progress, const Imatrix* importance) {
  TensorWriter writer(model, chosen, device, progress, importance);
  write_gguf(path, model.values, chosen, [&](size_t index, const WriteBytes& write) { writer(index, write); });
}

void check_importance(const Imatrix& importance, const std::string& where, std::span<const GgufTensor> chosen,
                      std::vector<std::string>& notes) {
  std::vector<std::string> lacking, unreached;
  bool any = false, used = false;
  for (const GgufTensor& t : chosen) {
    const auto found = importance.entries.find(t.name);
    any |= found != importance.entries.end();
    if (!uses_importance(t.dtype)) continue;
    used = true;
    if (found == importance.entries.end()) {
      // Nothing measures a table of embeddings, and the output matrix only on request: llama.cpp's files have neither.
      if (t.name.starts_with("blk.")) lacking.push_back(t.name);
      continue;
    }
    const int64_t K = t.shape[-1], matrices = t.shape.rank() == 3 ? t.shape[0] : 1, sums = std::ssize(found->second.sums);
    if (sums != K && sums != K * matrices)
      fail<WeightError>("quantize: '{}' has {} sums in {}, expected {} for {} {}", t.name, sums, where, K * matrices, t.name, t.shape);
    if (const auto none = std::ranges::count(found->second.counts, 0.0); none > 0)
      unreached.push_back(matrices == 1 ? t.name : fmt::format("{} of {} in {}", none, matrices, t.name));
  }
  if (!any) fail<WeightError>("quantize: {} has none of the model's tensors: it is of another model", where);
  if (!used) notes.push_back("no tensor has a type that uses the importance matrix");
  if (!lacking.empty())
    notes.push_back(fmt::format("{} lacks these matrices of the model's blocks, which are quantized without importance: {}", where,
                                shortened_list(lacking)));
  if (!unreached.empty())
    notes.push_back(
        fmt::format("no token of {} reached these matrices, which are quantized without importance: {}", where, shortened_list(unreached)));
}

WrittenWeights written(const std::filesystem::path& path, const GgufExport& model, std::span<const GgufTensor> chosen) {
  WrittenWeights report;
  report.tensors = int64_t(chosen.size());
  report.notes = model.notes;
  for (const GgufTensor& t : chosen) {
    report.parameters += t.shape.numel();
    ++report.types[std::string(name_of(t.dtype))];
  }
  report.bytes = int64_t(std::filesystem::file_size(path));
  return report;
}

}  // namespace hearth::api
