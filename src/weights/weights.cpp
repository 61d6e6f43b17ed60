#include "weights/weights.h"

#include <algorithm>
#include <cmath>

#include "core/factors.h"
#include "core/files/mapped_file.h"
#include "core/observe.h"
#include "core/on_host.h"
#include "core/threads.h"
#include "hearth/component.h"
#include "weights/block_stream.h"
#include "weights/changes.h"
#include "weights/dequantized.h"
#include "weights/listing.h"
#include "weights/name_pattern.h"
#include "weights/offload.h"
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

// Rounds f64 to f32, on the same host.
Tensor as_f32(const Tensor& x) {
  return written_on_host(x.backend(), x.shape(), DType::f32, [&](Tensor& y) { std::ranges::copy(x.to_vector(), y.data<float>()); });
}

// Keeps a mapped weight's storage, counts its bytes on the device, and has the pages dropped at the end.
struct InUse {
  ~InUse() {
    x = {};
    if (source) source->release(name);
  }
  std::shared_ptr<TensorSource> source;  // absent in a dry run, which must not drop what others use
  std::string name;
  Tensor x;
  std::shared_ptr<const void> counted;
};
Shape without_leading_ones(const Shape& shape) {
  Shape rest;
  for (const int64_t size : shape)
    if (rest.rank() > 0 || size != 1) rest.push_back(size);
  return rest;
}

// "; 3 missing: a, b, c"
void add_list(std::string& text, const std::vector<std::string>& items, std::string_view what) {
  if (!items.empty()) text += fmt::format("{}{} {}: {}", text.empty() ? "" : "; ", items.size(), what, shortened_list(items));
}

}  // namespace

WeightTypes automatic_types(const TensorSource& source, const Backend& backend) {
  const WeightTypes as_stored{.compact_factors = asked_factors(Precision::automatic, true, backend)};
  if (!backend.prefers_bf16()) return as_stored;
  int64_t narrow = 0, all = 0;
  for (const auto& [name, info] : source.list()) {
    all += info.shape.numel();
    narrow += is_16bit_float(info.dtype) || is_compact(info.dtype) ? info.shape.numel() : 0;
  }
  if (2 * narrow <= all) return as_stored;
  return {.hold = DType::bf16, .factors = asked_factors(Precision::bf16, false, backend)};
}

Weights::Weights(std::shared_ptr<TensorSource> source, Backend& backend, LoadOptions options, Reading reading)
    : source_(std::move(source)),
      backend_(&backend),
      options_(std::move(options)),
      listed_(std::make_shared<const std::map<std::string, TensorInfo>>(source_->list())),
      reading_(reading) {
  const auto& [hold, factors, in_place, compact_factors] = options_.types;
  // In place, weights of a block type support all factors.
  for (const DType f : {in_place ? factors : DType::f32, compact_factors.value_or(DType::f32)})
    if (!can_have_factors({.hold = DType::q8_0, .factors = f, .in_place = true}))
      fail<UnsupportedError>("weights: factors of in-place products are {}, expected f32, bf16 or i16", name_of(f));
  if (hold && *hold != DType::f32 && !is_16bit_float(*hold))
    fail<UnsupportedError>("weights: cannot be held as {}, expected f32, f16 or bf16", name_of(*hold));
  if (!in_place && !can_have_factors({.hold = hold.value_or(DType::f32), .factors = factors}))
    fail<UnsupportedError>("weights: products with {} factors require weights held as bf16", name_of(factors));
  for (const auto& [name, info] : *listed_)
    if (!matches_any(options_.ignore, name)) bytes_total_ += int64_t(bytes_of(info.dtype, info.shape.numel()));
}

Weights Weights::seeded(Backend& backend, LoadOptions options) { return {seeded_source(), backend, std::move(options)}; }

Weights Weights::later() const {
  Weights rest = *this;
  rest.options_ = {
      .types = options_.types, .cache_of_part = options_.cache_of_part, .offload = options_.offload, .changes = options_.changes};
  rest.read_ = {}, rest.requested_ = {}, rest.missing_ = {}, rest.misshapen_ = {}, rest.unreadable_ = {}, rest.non_finite_ = {};
  rest.report_ = {};
  rest.reading_ = Reading::full;
  rest.part_ = true;
  rest.any_in_file_ = false;
  rest.stream_ = nullptr;
  return rest;
}

Weights Weights::now(const std::string& part) const {
  Weights rest = later();
  if (options_.cache_of_part) rest.options_.cache = options_.cache_of_part(part);
  return rest;
}

Weights Weights::again() const {
  Weights rest = later();
  rest.options_.cache = options_.cache;
  rest.options_.idle = options_.idle;
  rest.options_.use = options_.use;
  rest.options_.known = options_.known ? options_.known : std::make_shared<KnownTensors>();
  rest.again_ = true;
  return rest;
}

const std::shared_ptr<BlockStream>& Weights::stream() {
  if (!stream_ && options_.resident < 1 && reading_ == Reading::full) stream_ = std::make_shared<BlockStream>(*this, options_.resident);
  return stream_;
}

bool Weights::has(const std::string& name) const { return source_->has(name); }

std::optional<Side> Weights::side_of(const std::string& name) const {
  return options_.offload ? std::optional(options_.offload->side_of(name)) : std::nullopt;
}

void Weights::hold(size_t bytes) {
  report_.bytes_held += int64_t(bytes);
  if (SideScope::current() == Side::card) report_.bytes_on_card += int64_t(bytes);
}

// Whether the source has the tensor with this shape; if not, records the error.
bool Weights::expect(const std::string& name, const Shape& shape) {
  check_canceled();
  if (!read_.contains(name)) requested_.push_back(name);
  if (!source_->has(name)) {
    read_.insert(name);
    missing_.push_back(fmt::format("'{}' {}", name, shape));
    return false;
  }
  const auto listed = listed_->find(name);
  if (listed == listed_->end()) return true;
  const TensorInfo& info = listed->second;
  const bool readable = is_float(info.dtype) || is_compact(info.dtype);
  const bool same = info.shape == shape || (info.short_rank && without_leading_ones(info.shape) == without_leading_ones(shape));
  const bool fits = info.unreadable.empty() && readable && same;
  if (!fits) read_.insert(name);
  if (!info.unreadable.empty()) unreadable_.push_back(fmt::format("'{}' {}", name, info.unreadable));
  else if (!readable) unreadable_.push_back(fmt::format("'{}' has the type {}, expected f32, f16, bf16 or f64", name, name_of(info.dtype)));
  else if (!same) misshapen_.push_back(fmt::format("'{}' has shape {}, expected {}", name, info.shape, shape));
  return fits;
}

// Counts a tensor that has been read, or whose packed form was cached.
void Weights::count(const std::string& name, int64_t values, int64_t bytes) {
  if (read_.insert(name).second) {
    ++report_.tensors;
    report_.parameters += values;
    report_.bytes_stored += bytes;
  }
  if (options_.progress && bytes_total_ > 0) options_.progress({.phase = "load", .done = report_.bytes_stored, .total = bytes_total_});
}

// The stored tensor, checked; undefined if a check fails, which is recorded.
Tensor Weights::read(const std::string& name, const Shape& shape, Stays stays, std::optional<Rows> rows) {
  if (!expect(name, shape)) return {};
  const DType stored = stored_type(name);
  const std::string part = rows ? fmt::format("{}[{}:{}]", name, rows->begin, rows->end) : name;
  if (stays == Stays::in_memory || !source_->mapped(name))
    largest_read_ = std::max(largest_read_, int64_t(bytes_of(stored, shape.numel())));
  Tensor x;
  if (reading_ != Reading::names) {
    x = source_->read(name, shape, backend_->host());
    if (const auto listed = listed_->find(name); listed != listed_->end() && listed->second.short_rank && x.shape() != shape)
      x = x.view(shape);
    if (x.shape() != shape) fail<WeightError>("weights: '{}' has shape {}, expected {}", name, x.shape(), shape);
    if (rows) x = x.slice(0, rows->begin, rows->end);
    const bool checked = options_.known && options_.known->checked(part);
    const int64_t bad = checked ? 0 : unless_dry(*backend_, int64_t(0), [&] { return non_finite_values(x); });
    if (bad && matches_any(options_.idle, name)) {
      report_.non_finite.push_back(name);
    } else if (bad) {
      read_.insert(name);
      non_finite_.push_back(fmt::format("'{}' has {} NaN or infinite values of {}", name, bad, x.numel()));
      return {};
    }
    if (!bad && options_.known) options_.known->add_checked(part);
  }
  count(name, shape.numel(), int64_t(bytes_of(stored, shape.numel())));
  if (reading_ == Reading::numbers) {
    source_->release(name);
    return {};
  }
  return x;
}

DType Weights::stored_type(const std::string& name) const {
  const auto listed = listed_->find(name);
  return listed == listed_->end() ? DType::f32 : listed->second.dtype;
}

// The scale of these rows.
Tensor Weights::scale_of(const std::string& name, std::optional<Rows> rows) {
  const Tensor scale = source_->scale(name, backend_->host());
  return scale && rows && scale.numel() > 1 ? scale.slice(0, rows->begin, rows->end) : scale;
}

// x as floats.
Tensor Weights::values_of(const std::string& name, const Tensor& x, std::optional<Rows> rows) {
  return is_compact(x.dtype()) ? dequantized(x, scale_of(name, rows), backend_->host()) : x;
}

// A copy on the backend or its host, in dtype `to`.
Tensor Weights::converted(const std::string& name, const Tensor& x, DType to, Backend& where) {
  Tensor y = Tensor::empty(where, x.shape(), to);
  hold(y.bytes());
  // In a dry run, a device with two sides takes the memory where the tensor is uploaded.
  if (backend_->computes() || (&where == backend_ && SideScope::current())) where.upload(x.dtype() == DType::f64 ? as_f32(x) : x, y);
  unless_dry(*backend_, [&] { source_->release(name); });
  return y;
}

// The dtype in which x is held.
DType Weights::fitting(const std::string& name, const Tensor& x, DType wanted) {
  const bool narrows = wanted == DType::f16 && (x.dtype() == DType::f32 || x.dtype() == DType::bf16);
  if (!narrows) return wanted;
  std::optional<bool> spoils = options_.known ? options_.known->spoiled_by_f16(name) : std::nullopt;
  if (!spoils) spoils = unless_dry(*backend_, false, [&] { return f16_spoils(x); });
  if (options_.known) options_.known->add_spoiled_by_f16(name, *spoils);
  if (!*spoils) return wanted;
  report_.kept_wider.push_back(name);
  return x.dtype();
}

bool Weights::changes(const std::string& name) const { return options_.changes && options_.changes->replaced.contains(name); }

// What a network of the same component has loaded, or load().
template <class Load> Tensor Weights::shared_or(const std::string& key, const std::string& name, const Shape& shape, Load load) {
  if (options_.changes && options_.changes->branches.contains(name))
    fail<UnsupportedError>("weights: '{}' is no weight of a product, which low-rank adapters cannot change", name);
  Tensor x = options_.shared && reading_ == Reading::full && !changes(name) ? options_.shared->tensor(key) : Tensor();
  if (x && expect(name, shape)) {
    count(name, shape.numel(), int64_t(bytes_of(stored_type(name), shape.numel())));
    return x;
  }
  x = load();
  if (options_.keep && x) options_.keep->add(key, x);
  return x;
}

Tensor Weights::tensor(const std::string& name, const Shape& shape) {
  const SideScope side(side_of(name));
  return shared_or(name, name, shape, [&] { return own_tensor(name, shape); });
}

Tensor Weights::table(const std::string& name, const Shape& shape) {
  const SideScope side(side_of(name));
  return shared_or("table " + name, name, shape, [&] { return own_table(name, shape); });
}

Tensor Weights::own_tensor(const std::string& name, const Shape& shape) {
  const Tensor x = read(name, shape);
  return x ? converted(name, values_of(name, x), DType::f32, *backend_) : Tensor();
}

Tensor Weights::own_table(const std::string& name, const Shape& shape) {
  Tensor x = read(name, shape);
  if (!x) return {};
  // Rows of blocks stay as they are; other types become floats that an embedding reads.
  const bool rows = is_blocked(x.dtype()) && has_whole_rows(x.dtype(), shape) && !scale_of(name, {});
  const bool wider = x.dtype() == DType::f64 || (is_compact(x.dtype()) && !rows);
  if (!rows) x = x.dtype() == DType::f64 ? as_f32(x) : values_of(name, x);
  const DType wanted = is_blocked(x.dtype()) ? x.dtype() : options_.types.hold.value_or(x.dtype());
  const DType to = wanted == x.dtype() ? wanted : size_of(wanted) < size_of(x.dtype()) ? fitting(name, x, wanted) : x.dtype();
  if (wider || to != x.dtype() || !source_->mapped(name)) return converted(name, x, to, *backend_);
  if (&x.backend() != backend_) {
    if (SideScope::current() == Side::card) hold(x.bytes());
    const SideScope mapped(SideScope::current(), true);
    return x.to(*backend_);
  }
  source_->release(name);
  return x;
}

// A mapped weight as long as it is used where it is.
Tensor Weights::in_use(const std::string& name, const Tensor& x) {
  auto use = std::make_shared<InUse>();
  use->counted = backend_->count_mapped(int64_t(x.bytes()));
  report_.bytes_mapped += int64_t(x.bytes());
  any_in_file_ = true;
  use->x = x;
  unless_dry(*backend_, [&] {
    if (again_) MappedFile::fetch(x.raw(), x.bytes());
    use->source = source_;
    use->name = name;
  });
  Storage storage = x.storage();
  storage.owner = std::move(use);
  return x.seen_in(std::make_shared<const Storage>(std::move(storage)));
}

// The cached form of a weight whose name and shape have been checked.
Weight Weights::from_cache(const std::string& name, const Shape& shape, WeightKind kind) {
  if (!options_.cache || reading_ != Reading::full || changes(name)) return {};
  const auto found = options_.cache->find(name, shape, kind, backend_->threads());
  if (!found) return {};
  Weight weight{.name = name, .shape = shape, .form = found->form, .backend = backend_, .kind = kind};
  struct Counted {
    std::shared_ptr<const std::byte> data;
    std::shared_ptr<const void> counted;
  };
  auto counted = std::make_shared<const Counted>(Counted{found->data, backend_->count_mapped(int64_t(found->bytes))});
  weight.prepared = backend_->adopt({counted, found->data.get()}, found->bytes, shape, kind, found->form);
  return weight.prepared ? weight : Weight();
}

Weight Weights::weight(const std::string& name, const Shape& shape, WeightKind kind, bool exact, std::optional<Rows> rows, int64_t groups) {
  const SideScope side(side_of(name));
  const std::string key = fmt::format("{} {} {} {} {}", int(kind), exact, rows ? rows->begin : 0, rows ? rows->end : -1, name);
  const bool shares = options_.shared && reading_ == Reading::full && !changes(name);
  Weight w = shares ? options_.shared->weight(key) : Weight();
  if (w && expect(name, shape)) {
    count(name, shape.numel(), int64_t(bytes_of(stored_type(name), shape.numel())));
  } else {
    w = own_weight(name, shape, kind, exact, rows, groups);
    if (options_.keep && w) options_.keep->add(key, w);
  }
  if (w) w.branch = branch_of(w, rows);
  return w;
}

// What the run adds to the weight, prepared as f32: it is small, and decides what the run changes.
std::shared_ptr<const WeightBranch> Weights::branch_of(const Weight& w, std::optional<Rows> rows) {
  if (!options_.changes) return nullptr;
  const auto found = options_.changes->branches.find(w.name);
  if (found == options_.changes->branches.end()) return nullptr;
  if (w.kind == WeightKind::conv_transposed || w.form.groups != 1)
    fail<UnsupportedError>("weights: '{}' is a {} convolution, which adapters cannot change", w.name,
                           w.form.groups != 1 ? "grouped" : "transposed");
  const LowRank& low = found->second;
  Backend& host = backend_->host();
  const auto [down, up] = host.computes() ? low.read(host) : std::pair{Tensor::empty(host, low.down), Tensor::empty(host, low.up)};
  const auto prepared = [&](const Tensor& x, WeightKind kind, const char* which) {
    Weight part{.name = fmt::format("{} ({})", w.name, which),
                .shape = x.shape(),
                .prepared = backend_->prepare(x, kind, {}),
                .backend = backend_,
                .kind = kind};
    hold(part.prepared->bytes);
    return part;
  };
  return std::make_shared<WeightBranch>(
      WeightBranch{prepared(down, w.kind == WeightKind::conv ? WeightKind::conv : WeightKind::linear, "down"),
                   prepared(rows ? up.slice(0, rows->begin, rows->end) : up, WeightKind::linear, "up")});
}

Weight Weights::own_weight(const std::string& name, const Shape& shape, WeightKind kind, bool exact, std::optional<Rows> rows,
                           int64_t groups) {
  if (!expect(name, shape)) return {};
  const bool stays = stays_as_stored(name, shape, kind);
  if (Weight kept = stays || rows || groups != 1 ? Weight() : from_cache(name, shape, kind)) {
    count(name, shape.numel(), int64_t(bytes_of(stored_type(name), shape.numel())));
    hold(kept.prepared->bytes);
    if (kept.form.hold != options_.types.hold.value_or(kept.form.hold)) report_.kept_wider.push_back(name);
    return kept;
  }
  Tensor x = read(name, shape, stays ? Stays::in_file : Stays::in_memory, rows);
  if (!x) return {};
  const bool mapped = source_->mapped(name) && x.dtype() != DType::f64;
  if (x.dtype() == DType::f64) x = as_f32(x);
  if (stays) return weight_in_place(name, x, mapped, kind, exact, rows);
  x = values_of(name, x, rows);
  WeightForm form{.hold = fitting(name, x, options_.types.hold.value_or(x.dtype())), .factors = options_.types.factors, .groups = groups};
  form.factors = factors_for(form, exact);
  Weight weight{
      .name = name, .shape = x.shape(), .form = form, .prepared = backend_->prepare(x, kind, form), .backend = backend_, .kind = kind};
  hold(weight.prepared->bytes);
  if (options_.cache && !rows && groups == 1 && !changes(name))
    if (auto storage = weight.prepared->storage())
      options_.cache->add(name, {.shape = shape, .kind = kind, .form = form, .data = std::move(storage), .bytes = weight.prepared->bytes},
                          backend_->threads());
  source_->release(name);
  return weight;
}

bool Weights::stays_as_stored(const std::string& name, const Shape& shape, WeightKind kind) const {
  const DType stored = stored_type(name);
  if (!is_compact(stored)) return options_.types.in_place && kind == WeightKind::linear;
  return (kind == WeightKind::linear || kind == WeightKind::glu) && has_whole_rows(stored, shape);
}

Weight Weights::weight_in_place(const std::string& name, Tensor x, bool mapped, WeightKind kind, bool exact, std::optional<Rows> rows) {
  const bool compact = is_compact(x.dtype());
  const DType to = compact ? x.dtype() : fitting(name, x, options_.types.hold.value_or(x.dtype()));
  const bool on_card = SideScope::current() == Side::card;
  if (to != x.dtype()) x = converted(name, x, to, backend_->host());
  else if (mapped && !on_card) x = in_use(name, x);
  else hold(x.bytes());
  const DType factors = compact ? options_.types.compact_factors.value_or(options_.types.factors) : options_.types.factors;
  WeightForm form{.hold = to, .factors = factors, .in_place = true};
  form.factors = factors_for(form, exact);
  Tensor scale = compact ? scale_of(name, rows) : Tensor();
  if (scale) scale = scale.to(*backend_);
  Weight weight{.name = name,
                .shape = x.shape(),
                .form = form,
                .prepared = backend_->prepare(x, kind, form),
                .backend = backend_,
                .kind = kind,
                .scale = std::move(scale)};
  if (on_card && mapped) unless_dry(*backend_, [&] { source_->release(name); });
  return weight;
}

void Weights::finish() const {
  std::vector<std::string> unread;
  for (const auto& [name, info] : *listed_)
    if (!part_ && !read_.contains(name) && !matches_any(options_.ignore, name))
      unread.push_back(info.unreadable.empty() ? fmt::format("'{}' {}", name, info.shape) : fmt::format("'{}' {}", name, info.unreadable));

  std::string text;
  add_list(text, missing_, "missing");
  add_list(text, misshapen_, "misshapen");
  add_list(text, unreadable_, "unreadable");
  add_list(text, non_finite_, "non-finite");
  add_list(text, unread, "unread");
  if (!text.empty()) fail<WeightError>("weights: {}: {}", source_->describe(), text);
  if (!options_.types.in_place && !any_in_file_ && !again_) source_->release_all();  // pages of weights in place are needed again
  if (options_.cache && !again_ && !(stream_ && stream_->incomplete())) options_.cache->finish();
}

}  // namespace hearth
