#include "weights/weights.h"

#include <algorithm>
#include <cmath>

#include "core/factors.h"
#include "core/observe.h"
#include "core/on_host.h"
#include "core/threads.h"
#include "hearth/component.h"
#include "weights/listing.h"
#include "weights/name_pattern.h"
#include "weights/packed_cache.h"
#include "weights/seeded.h"

namespace hearth {
namespace {

constexpr int64_t grain = 1 << 18;  // elements per piece of a scan

// Σ f(begin, end) over pieces of x, summed in order.
template <class T, class F> T sum_over_pieces(const Tensor& x, F f) {
  std::vector<T> parts(size_t((x.numel() + grain - 1) / grain));
  x.backend().threads().for_ranges(x.numel(), grain, [&](int64_t begin, int64_t end) { parts[size_t(begin / grain)] = f(begin, end); });
  T sum{};
  for (const T& part : parts) sum += part;
  return sum;
}

int64_t non_finite_values(const Tensor& x) {
  const Tensor flat = x.view({x.numel()});
  return sum_over_pieces<int64_t>(flat, [&](int64_t begin, int64_t end) { return count_non_finite(flat.slice(0, begin, end)); });
}

// The effect of rounding to f16 on the finite values of x.
struct CastLoss {
  int64_t overflows = 0;
  double error = 0, norm = 0;  // squared L2
  CastLoss& operator+=(const CastLoss& o) {
    overflows += o.overflows;
    error += o.error;
    norm += o.norm;
    return *this;
  }
};

template <class T> CastLoss loss_in_f16(const T* values, int64_t begin, int64_t end) {
  CastLoss loss;
  for (int64_t i = begin; i < end; ++i) {
    const float v = widen(values[i]), rounded = f16_to_f32(f32_to_f16(v));
    loss.overflows += std::isinf(rounded);
    if (std::isinf(rounded)) continue;
    loss.error += double(v - rounded) * double(v - rounded);
    loss.norm += double(v) * double(v);
  }
  return loss;
}

bool f16_spoils(const Tensor& x) {
  const CastLoss loss = sum_over_pieces<CastLoss>(x, [&](int64_t begin, int64_t end) {
    return x.dtype() == DType::f32 ? loss_in_f16(x.data<float>(), begin, end) : loss_in_f16(x.data<BF16>(), begin, end);
  });
  constexpr double limit = 0x1p-10;  // rounding alone causes less than 2⁻¹¹
  return loss.overflows > 0 || loss.error > limit * limit * loss.norm;
}

// Rounds f64 to f32, or dequantizes blocks, on the same host.
Tensor as_f32(const Tensor& x) {
  return written_on_host(x.backend(), x.shape(), DType::f32, [&](Tensor& y) { std::ranges::copy(x.to_vector(), y.data<float>()); });
}

// "; 3 missing: a, b, c"
void add_list(std::string& text, const std::vector<std::string>& items, std::string_view what) {
  if (!items.empty()) text += fmt::format("{}{} {}: {}", text.empty() ? "" : "; ", items.size(), what, shortened_list(items));
}

}  // namespace

WeightTypes automatic_types(const TensorSource& source, const Backend& backend) {
  if (!backend.prefers_bf16()) return {};
  int64_t narrow = 0, all = 0;
  for (const auto& [name, info] : source.list()) {
    all += info.shape.numel();
    narrow += is_16bit_float(info.dtype) ? info.shape.numel() : 0;
  }
  if (2 * narrow <= all) return {};
  return {.hold = DType::bf16, .factors = asked_factors(Precision::bf16, false, backend)};
}

Weights::Weights(std::shared_ptr<TensorSource> source, Backend& backend, LoadOptions options, Reading reading)
    : source_(std::move(source)), backend_(&backend), options_(std::move(options)), listed_(source_->list()), reading_(reading) {
  const auto& [hold, factors, in_place] = options_.types;
  // In place, weights of a block type support all factors.
  if (in_place && !can_have_factors({.hold = DType::q8_0, .factors = factors, .in_place = true}))
    fail<UnsupportedError>("weights: factors of in-place products are {}, expected f32, bf16 or i16", name_of(factors));
  if (hold && *hold != DType::f32 && !is_16bit_float(*hold))
    fail<UnsupportedError>("weights: cannot be held as {}, expected f32, f16 or bf16", name_of(*hold));
  if (!in_place && !can_have_factors({.hold = hold.value_or(DType::f32), .factors = factors}))
    fail<UnsupportedError>("weights: products with {} factors require weights held as bf16", name_of(factors));
  for (const auto& [name, info] : listed_)
    if (!matches_any(options_.ignore, name)) bytes_total_ += int64_t(bytes_of(info.dtype, info.shape.numel()));
}

Weights Weights::seeded(Backend& backend, LoadOptions options) { return {seeded_source(), backend, std::move(options)}; }

Weights Weights::later() const {
  Weights rest(source_, *backend_, {.types = options_.types, .cache_of_part = options_.cache_of_part});
  rest.part_ = true;
  return rest;
}

Weights Weights::now(const std::string& part) const {
  Weights rest = later();
  if (options_.cache_of_part) rest.cache_of_part_ = options_.cache_of_part(part);
  rest.options_.cache = rest.cache_of_part_.get();
  return rest;
}

bool Weights::has(const std::string& name) const { return source_->has(name); }

// Whether the source has the tensor with this shape; if not, records the error.
bool Weights::expect(const std::string& name, const Shape& shape) {
  check_canceled();
  if (!source_->has(name)) {
    read_.insert(name);
    missing_.push_back(fmt::format("'{}' {}", name, shape));
    return false;
  }
  const auto listed = listed_.find(name);
  if (listed == listed_.end()) return true;
  const TensorInfo& info = listed->second;
  const bool readable = is_float(info.dtype) || (is_blocked(info.dtype) && options_.types.in_place);
  const bool fits = info.unreadable.empty() && readable && info.shape == shape;
  if (!fits) read_.insert(name);
  if (!info.unreadable.empty()) unreadable_.push_back(fmt::format("'{}' {}", name, info.unreadable));
  else if (!readable) unreadable_.push_back(fmt::format("'{}' has the type {}, expected f32, f16, bf16 or f64", name, name_of(info.dtype)));
  else if (info.shape != shape) misshapen_.push_back(fmt::format("'{}' has shape {}, expected {}", name, info.shape, shape));
  return fits;
}

// Counts a tensor that has been read, or whose packed form was cached.
void Weights::count(const std::string& name, int64_t values, int64_t bytes) {
  if (read_.insert(name).second) {
    ++report_.tensors;
    report_.parameters += values;
    bytes_done_ += bytes;
  }
  if (options_.progress && bytes_total_ > 0) options_.progress({.phase = "load", .done = bytes_done_, .total = bytes_total_});
}

// The stored tensor, checked; undefined if a check fails, which is recorded.
Tensor Weights::read(const std::string& name, const Shape& shape) {
  if (!expect(name, shape)) return {};
  const auto listed = listed_.find(name);
  const DType stored = listed == listed_.end() ? DType::f32 : listed->second.dtype;
  Tensor x;
  if (reading_ != Reading::names) {
    x = source_->read(name, shape, backend_->host());
    if (x.shape() != shape) fail<WeightError>("weights: '{}' has shape {}, expected {}", name, x.shape(), shape);
    const int64_t bad = unless_dry(*backend_, int64_t(0), [&] { return non_finite_values(x); });
    if (bad && matches_any(options_.idle, name)) {
      report_.non_finite.push_back(name);
    } else if (bad) {
      read_.insert(name);
      non_finite_.push_back(fmt::format("'{}' has {} NaN or infinite values of {}", name, bad, x.numel()));
      return {};
    }
  }
  count(name, shape.numel(), int64_t(bytes_of(stored, shape.numel())));
  if (reading_ == Reading::numbers) {
    source_->release(name);
    return {};
  }
  return x;
}

// A copy on the backend or its host, in dtype `to`.
Tensor Weights::converted(const std::string& name, const Tensor& x, DType to, Backend& where) {
  Tensor y = Tensor::empty(where, x.shape(), to);
  report_.bytes_held += int64_t(y.bytes());
  unless_dry(*backend_, [&] {
    where.upload(x.dtype() == DType::f64 || (is_blocked(x.dtype()) && to != x.dtype()) ? as_f32(x) : x, y);
    source_->release(name);
  });
  return y;
}

// The dtype in which x is held.
DType Weights::fitting(const std::string& name, const Tensor& x, DType wanted) {
  const bool narrows = wanted == DType::f16 && (x.dtype() == DType::f32 || x.dtype() == DType::bf16);
  if (!narrows || !unless_dry(*backend_, false, [&] { return f16_spoils(x); })) return wanted;
  report_.kept_wider.push_back(name);
  return x.dtype();
}

Tensor Weights::tensor(const std::string& name, const Shape& shape) {
  const Tensor x = read(name, shape);
  return x ? converted(name, x, DType::f32, *backend_) : Tensor();
}

Tensor Weights::table(const std::string& name, const Shape& shape) {
  Tensor x = read(name, shape);
  if (!x) return {};
  const bool wider = x.dtype() == DType::f64;
  if (wider) x = as_f32(x);
  const DType wanted = is_blocked(x.dtype()) ? x.dtype() : options_.types.hold.value_or(x.dtype());
  const DType hold = wanted == x.dtype() ? wanted : size_of(wanted) < size_of(x.dtype()) ? fitting(name, x, wanted) : x.dtype();
  if (wider || hold != x.dtype() || !source_->mapped(name)) return converted(name, x, hold, *backend_);
  if (&x.backend() != backend_) return x.to(*backend_);
  source_->release(name);
  return x;
}

// The cached form of a weight whose name and shape have been checked.
Weight Weights::from_cache(const std::string& name, const Shape& shape, WeightKind kind) {
  if (!options_.cache || reading_ != Reading::full) return {};
  const auto found = options_.cache->find(name, shape, kind, backend_->threads());
  if (!found) return {};
  Weight weight{.name = name, .shape = shape, .form = found->form, .backend = backend_, .kind = kind};
  weight.prepared = backend_->adopt(found->data, found->bytes, shape, kind, found->form);
  return weight.prepared ? weight : Weight();
}

Weight Weights::weight(const std::string& name, const Shape& shape, WeightKind kind, bool exact) {
  if (!expect(name, shape)) return {};
  if (Weight kept = from_cache(name, shape, kind)) {
    const auto listed = listed_.find(name);
    const DType stored = listed == listed_.end() ? DType::f32 : listed->second.dtype;
    count(name, shape.numel(), int64_t(bytes_of(stored, shape.numel())));
    report_.bytes_held += int64_t(kept.prepared->bytes);
    if (kept.form.hold != options_.types.hold.value_or(kept.form.hold)) report_.kept_wider.push_back(name);
    return kept;
  }
  Tensor x = read(name, shape);
  if (!x) return {};
  if (x.dtype() == DType::f64) x = as_f32(x);
  if (options_.types.in_place && kind == WeightKind::linear) return weight_in_place(name, x, exact);
  WeightForm form{.hold = fitting(name, x, options_.types.hold.value_or(x.dtype())), .factors = options_.types.factors};
  form.factors = factors_for(form, exact);
  Weight weight{
      .name = name, .shape = shape, .form = form, .prepared = backend_->prepare(x, kind, form), .backend = backend_, .kind = kind};
  report_.bytes_held += int64_t(weight.prepared->bytes);
  if (options_.cache)
    if (auto storage = weight.prepared->storage())
      options_.cache->add(name, {.shape = shape, .kind = kind, .form = form, .data = std::move(storage), .bytes = weight.prepared->bytes});
  source_->release(name);
  return weight;
}

Weight Weights::weight_in_place(const std::string& name, Tensor x, bool exact) {
  const DType hold = is_blocked(x.dtype()) ? x.dtype() : fitting(name, x, options_.types.hold.value_or(x.dtype()));
  if (hold != x.dtype()) x = converted(name, x, hold, backend_->host());
  else if (!source_->mapped(name)) report_.bytes_held += int64_t(x.bytes());
  WeightForm form{.hold = hold, .factors = options_.types.factors, .in_place = true};
  form.factors = factors_for(form, exact);
  return {.name = name,
          .shape = x.shape(),
          .form = form,
          .prepared = backend_->prepare(x, WeightKind::linear, form),
          .backend = backend_,
          .kind = WeightKind::linear};
}

void Weights::finish() const {
  std::vector<std::string> unread;
  for (const auto& [name, info] : listed_)
    if (!part_ && !read_.contains(name) && !matches_any(options_.ignore, name))
      unread.push_back(info.unreadable.empty() ? fmt::format("'{}' {}", name, info.shape) : fmt::format("'{}' {}", name, info.unreadable));

  std::string text;
  add_list(text, missing_, "missing");
  add_list(text, misshapen_, "misshapen");
  add_list(text, unreadable_, "unreadable");
  add_list(text, non_finite_, "non-finite");
  add_list(text, unread, "unread");
  if (!text.empty()) fail<WeightError>("weights: {}: {}", source_->describe(), text);
  if (!options_.types.in_place) source_->release_all();  // pages of weights in place are needed again
  if (cache_of_part_) cache_of_part_->finish(backend_->threads());
}

}  // namespace hearth
