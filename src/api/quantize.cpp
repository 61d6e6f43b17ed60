#include "hearth/quantize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "api/gguf_export.h"
#include "api/run_scope.h"
#include "backends/backends.h"
#include "core/blocks.h"
#include "core/file.h"
#include "core/observe.h"
#include "core/threads.h"
#include "weights/listing.h"

namespace hearth {
namespace {

using api::ExportedTensor;
using api::GgufExport;

struct Type {
  DType dtype;
  int32_t file_type;      // general.file_type
  DType narrower_blocks;  // for rows that are no multiple of this type's block
};
constexpr std::array<Type, 16> types{{{DType::f32, 0, DType::f32},
                                      {DType::f16, 1, DType::f16},
                                      {DType::bf16, 32, DType::bf16},
                                      {DType::q8_0, 7, DType::f16},
                                      {DType::q6_k, 18, DType::q8_0},
                                      {DType::q5_k, 16, DType::q5_1},
                                      {DType::q4_k, 14, DType::q5_0},
                                      {DType::q3_k, 11, DType::q4_0},
                                      {DType::q2_k, 10, DType::q4_0},
                                      {DType::q5_1, 9, DType::f16},
                                      {DType::q5_0, 8, DType::f16},
                                      {DType::q4_1, 3, DType::f16},
                                      {DType::q4_0, 2, DType::f16},
                                      {DType::iq4_nl, 25, DType::f16},
                                      {DType::iq4_xs, 30, DType::iq4_nl},
                                      {DType::mxfp4, 38, DType::f16}}};

const Type& type_of(DType dtype) { return *std::ranges::find(types, dtype, &Type::dtype); }

const Type& type_named(const std::string& name) {
  const auto* found = std::ranges::find_if(types, [&](const Type& t) { return name_of(t.dtype) == name; });
  if (found != types.end()) return *found;
  std::string names;
  for (const Type& t : types) names += fmt::format("{}{}", names.empty() ? "" : ", ", name_of(t.dtype));
  fail<UsageError>("quantize: the type '{}' cannot be written, only {}", name, names);
}

double bits_of(DType dtype) { return 8.0 * double(block_of(dtype).bytes) / double(block_of(dtype).values); }

// Matrices that a product of the network reads; what gates, convolves or looks up a few rows keeps its precision.
bool is_matrix(const ExportedTensor& t) {
  if (t.shape.rank() < 2 || !t.name.ends_with(".weight")) return false;
  for (const char* exact :
       {"_norm.", "ffn_gate_inp.", "ssm_conv1d.", "time_mix_", "channel_mix_", "position_embd.", "token_types.", "rope_"})
    if (t.name.find(exact) != t.name.npos) return false;
  return true;
}

// The types to write, and a note for those that are not as asked for.
std::vector<GgufTensor> choose_types(GgufExport& model, DType asked, bool pure) {
  const bool tied = std::ranges::find(model.tensors, "output.weight", &ExportedTensor::name) == model.tensors.end();
  const std::string_view output = tied ? "token_embd.weight" : "output.weight";
  std::map<DType, std::vector<std::string>> other;
  std::vector<GgufTensor> chosen;
  for (const ExportedTensor& t : model.tensors) {
    DType dtype = is_matrix(t) ? asked : DType::f32;
    if (is_matrix(t) && !pure && t.name == output && bits_of(asked) < bits_of(DType::q6_k)) dtype = DType::q6_k;
    const DType wanted = dtype;
    while (t.shape.rank() > 0 && t.shape[-1] % block_of(dtype).values != 0) dtype = type_of(dtype).narrower_blocks;
    if (dtype != wanted) other[dtype].push_back(fmt::format("{} {}", t.name, t.shape));
    chosen.push_back({t.name, dtype, t.shape});
  }
  for (const auto& [dtype, names] : other)
    model.notes.push_back(
        fmt::format("{} with rows of no whole blocks became {}: {}", names.size(), name_of(dtype), shortened_list(names)));
  return chosen;
}

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
    default: fail<UnsupportedError>("quantize: weights of type {} cannot be read", name_of(dtype));
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

// Where a row of the file comes from: pairs (2i, 2i + 1) of a head of D rows from its halves (i, i + D/2).
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
    const Tensor x = t.stored.empty() ? Tensor::from(device_, t.shape, t.values) : model_.source->read(t.stored, t.shape, device_);
    // A row is what moves as a whole: of a bias one number.
    const int64_t row = t.shape.rank() < 2 ? 1 : t.shape[-1], rows = row == 0 ? 0 : t.shape.numel() / row;
    const int64_t values = std::max(row, block_of(chosen_[index].dtype).values);
    const int64_t chunk = std::max<int64_t>(1, (int64_t(4) << 20) / values) * (values / row);  // rows in memory at once
    std::vector<std::byte> bytes;
    for (int64_t begin = 0; begin < rows; begin += chunk) {
      check_cancelled();
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
    if (!t.stored.empty()) model_.source->release(t.stored);
  }

 private:
  void convert(const ExportedTensor& t, const Tensor& x, DType dtype, int64_t row, int64_t first, int64_t last, std::byte* to) const {
    const int64_t rows = t.shape.numel() / row, n = (last - first) * row;
    std::vector<float> values(static_cast<size_t>(n));
    if (t.heads == 0) {
      decode(x.dtype(), x.raw() + bytes_of(x.dtype(), first * row), n, values.data());
    } else {
      for (int64_t r = first; r < last; ++r)
        decode(x.dtype(), x.raw() + bytes_of(x.dtype(), stored_row(r, rows, t.heads) * row), row, values.data() + (r - first) * row);
    }
    if (const auto bad = std::ranges::count_if(values, [](float v) { return !std::isfinite(v); }))
      fail<WeightError>("quantize: '{}' has {} NaN or infinite of {} values", t.name, bad, n);
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
  const Type& type = type_named(request.type);
  const auto device = make_backend({.name = "cpu", .threads = request.threads});
  check_writable(request.output);
  GgufExport model = GgufFile::is_one(request.model) ? api::export_gguf(GgufFile::open(request.model))
                                                     : api::export_checkpoint(LanguageCheckpoint::open(request.model), *device);
  const std::vector<GgufTensor> chosen = choose_types(model, type.dtype, request.pure);
  model.values.integer("general.file_type", type.file_type);
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
