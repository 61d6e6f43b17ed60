// `hearth bench ops`: measures every op of a step and of a VAE decode alone, at the shapes of the families' benchmarks, or of one of them,
// at their native sizes. Dry runs of the networks list the ops; forms that other networks use follow (bench_op_cases.h).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>

#include "backends/backends.h"
#include "backends/plan/plan_backend.h"
#include "bench/bench.h"
#include "bench/bench_model.h"
#include "bench/bench_op_cases.h"
#include "core/factors.h"
#include "core/memory.h"
#include "core/threads.h"
#include "ops/attention.h"
#include "ops/conv.h"
#include "ops/linear_attention.h"
#include "ops/matmul.h"
#include "ops/norm.h"
#include "ops/pointwise.h"
#include "ops/pool.h"
#include "ops/select.h"
#include "ops/shape_ops.h"

namespace hearth::api {
namespace {

struct Case {
  std::string op;
  Shape x, y, w;  // w: weight of a product
  double flop = 0;
  int64_t bytes = 0;
  std::map<std::string, int64_t> calls;  // a benchmark's step or VAE decode → number of calls

  // An op that normalizes its input is reported as "group_norm+" and its own name.
  std::string_view product() const { return std::string_view(op).substr(normalized() ? norm_of.size() : 0); }
  bool normalized() const { return op.starts_with(norm_of); }
  static constexpr std::string_view norm_of = "group_norm+";

  std::string name() const;
  std::function<void()> make(Backend& device, const WeightForm& form) const;
  std::function<void()> make_product(Backend& device, const WeightForm& form) const;
  bool transposed() const { return product() == "conv2d" && y[1] > x[1] && w[2] % 2 == 0; }
  int64_t groups() const { return transposed() ? 1 : x[3] / w[1]; }                     // of a convolution
  int64_t keys() const { return int64_t(std::llround(flop / 4 / double(x.numel()))); }  // of attention
};

std::string Case::name() const {
  const char* norm = normalized() ? "norm+" : "";
  if (product() == "conv2d") {
    const std::string how = transposed()    ? " transposed"
                            : y[1] > x[1]   ? " upsampled"
                            : y[1] < x[1]   ? fmt::format(" stride {}", x[1] / y[1])
                            : groups() != 1 ? fmt::format(" groups {}", groups())
                                            : "";
    return fmt::format("{}conv {}x{} {}->{} at {}{} batch {}", norm, w[2], w[3], x[3], y[3], x[1], how, x[0]);
  }
  if (product() == "linear")
    return fmt::format("{}linear {}x{}->{}{}", norm, x.numel() / x[-1], x[-1], w[0], y[-1] == w[0] ? "" : " geglu");
  if (op == "attention") return fmt::format("attention {}x{} heads {}x{} size {}", x[0], x[2], x[1], keys(), x[3]);
  if (op == "linear_attention") return fmt::format("linear attention {}x{} heads {} size {}", x[0], x[2], x[1], x[3]);
  return fmt::format("{} {} -> {}", op, x, y);
}

std::function<void()> Case::make_product(Backend& device, const WeightForm& given) const {
  const bool is_conv = w.rank() == 4;
  const WeightKind kind = transposed()    ? WeightKind::conv_transposed
                          : is_conv       ? WeightKind::conv
                          : y[-1] == w[0] ? WeightKind::linear
                                          : WeightKind::glu;
  WeightForm form = given;
  if (is_conv) form.groups = groups();
  const Tensor in = filled(device, x), values = filled(device, w, 1 / std::sqrt(float(w.numel() / w[0])));
  const Tensor bias = filled(device, {transposed() ? w[1] : w[0]});
  const Weight weight{
      .name = "w", .shape = w, .form = form, .prepared = device.prepare(values, kind, form), .backend = &device, .kind = kind};
  GroupNormSpec norm;  // with an activation in front of a residual block's convolution, as in the networks
  if (normalized()) {
    const Tensor ones = Tensor::filled(device, {x[-1]}, 1);
    const bool block = is_conv && w[2] == 3;
    norm = {.groups = 32, .gamma = ones, .beta = ones, .activation = block ? Activation::silu : Activation::none};
  }
  if (kind == WeightKind::linear) return [=] { ops::linear(in, weight, bias, {}, norm); };
  if (kind == WeightKind::glu) return [=] { ops::linear(in, weight, bias, {.activation = Activation::gelu}); };
  const int64_t stride = transposed() ? y[1] / x[1] : std::max<int64_t>(1, x[1] / y[1]), kernel = w[2];
  const int64_t around = kernel % 2 == 1 ? kernel / 2 : (kernel - stride) / 2;  // an even kernel covers its stride
  ConvSpec spec = ConvSpec::plane(stride, {around, around, around, around});
  if (y[1] > x[1] && !transposed()) spec.resize_to = {y[1], y[2]};
  return [=] { ops::conv(in, weight, bias, spec, {}, norm); };
}

std::function<void()> Case::make(Backend& device, const WeightForm& form) const {
  if (w.rank() > 0) return make_product(device, form);
  const Tensor in = filled(device, x);
  if (op == "attention") {
    const Shape shape{x[0], keys(), x[2], x[3]};
    const Tensor k = filled(device, shape), v = filled(device, shape);
    return
        [=, scale = 1 / std::sqrt(float(x[3])), factors = form.factors] { ops::attention(in, k, v, {.scale = scale, .factors = factors}); };
  }
  const Tensor ones = Tensor::filled(device, {x[-1]}, 1);
  if (op == "group_norm") return [=] { ops::group_norm(in, {.groups = 32, .gamma = ones, .beta = ones, .activation = Activation::silu}); };
  if (op == "linear_attention") return [=, k = filled(device, x), v = filled(device, x)] { ops::linear_attention(in, k, v, 1e-15f); };
  if (op == "rms_norm") return [=] { ops::rms_norm(in, {.gamma = ones}); };
  if (op == "multiply") return [=, other = filled(device, x)] { ops::multiply(in, other); };
  if (op == "affine") return [=, by = filled(device, {x[0], x[-1]})] { ops::affine(in, by, by); };
  if (op == "pool") return [in, H = x[1], W = x[2]] { ops::pool(in, {.rows = {.size = H}, .columns = {.size = W}}); };
  if (op == "embedding" || op == "gather" || op == "scatter_add") {
    std::vector<int32_t> ids(static_cast<size_t>(op == "scatter_add" ? x[0] : y[0]));
    for (size_t i = 0; i < ids.size(); ++i) ids[i] = int32_t(int64_t(i) % (op == "scatter_add" ? y : x)[0]);
    if (op == "embedding") return [=] { ops::embedding(ids, in); };
    const Tensor rows = Tensor::from(device, {int64_t(ids.size())}, ids);
    if (op == "gather") return [=] { ops::gather(in, rows); };
    return [=, base = filled(device, y), factors = filled(device, {x[0]})] { ops::scatter_add(base, in, rows, factors); };
  }
  if (op == "layer_norm") return [=] { ops::layer_norm(in, {.gamma = ones, .beta = ones}); };
  if (op == "activate") return [=] { ops::activate(in, Activation::silu); };
  if (op == "resize_nearest") return [=, H = y[1], W = y[2]] { ops::resize_nearest(in, H, W); };
  if (op == "linear_combination") {
    const std::vector<Tensor> terms(size_t(bytes / (y.numel() * 4) - 1), in);
    return [=, factors = std::vector<float>(terms.size(), 0.5f)] { ops::linear_combination(terms, factors); };
  }
  if (op == "concat") {
    int axis = 0;
    while (axis + 1 < x.rank() && x[axis] == y[axis]) ++axis;
    Shape rest = y;
    rest[axis] -= x[axis];
    return [=, other = filled(device, rest)] { ops::concat({in, other}, axis); };
  }
  if (op == "copy") {  // from strided rows
    const Tensor part = filled(device, x.with_last(x[-1] + 16)).slice(x.rank() - 1, 0, x[-1]);
    return [=] { ops::contiguous(part); };
  }
  fail<UnsupportedError>("bench: the op '{}' cannot be measured", op);
}

// Lists the ops that run while it observes.
struct List : Observer {
  bool watches_dry_runs() const override { return true; }
  void on_op(const OpEvent& event) override {
    Case c{.op = std::string(event.op), .x = event.x.shape(), .y = event.y.shape(), .flop = event.flop, .bytes = event.bytes};
    if (!event.weight.empty()) c.w = weights->at(std::string(event.weight));
    const auto [known, is_new] = places.try_emplace(c.name(), cases.size());
    if (is_new) cases.push_back(std::move(c));
    ++cases[known->second].calls[work];
  }

  double flop_of(const std::string& of) const {
    double flop = 0;
    for (const Case& c : cases)
      if (const auto n = c.calls.find(of); n != c.calls.end()) flop += double(n->second) * c.flop;
    return flop;
  }
  void forget(const std::string& of) {
    for (Case& c : cases) c.calls.erase(of);
  }

  std::string work;
  const std::map<std::string, Shape>* weights = nullptr;
  std::vector<Case> cases;
  std::map<std::string, size_t> places;  // of the cases, by name
};

// What an observed run ends with.
struct Last : Observer {
  void on_op(const OpEvent& event) override { op = std::string(event.op), y = event.y.shape(), flop = event.flop; }
  std::string op;
  Shape y;
  double flop = 0;
};
Last last_of(const std::function<void()>& run) {
  Last last;
  const ObserverScope scope(last);
  run();
  return last;
}

constexpr double most_flop = 2e13;  // of a step: the ops of larger models would take minutes, so they have to be named

std::vector<Case> list_cases(std::span<const std::string> benchmarks) {
  using models::diffusion::Role;
  MemoryLedger ledger;
  const auto plan = make_plan_backend(ledger);
  List list;
  for (const std::string& name : benchmarks) {
    const BenchOptions configurations_alone{.model = name};
    const BenchModel published(configurations_alone, {});
    const models::diffusion::LatentModel& model = published.model();
    const DryNetworks networks(model, *plan, {Role::text_encoder, Role::denoiser, Role::codec});
    const auto given = benchmark_conditioning(model, networks.loaded(), *plan);
    const auto two = [&](size_t member) {
      const Shape one = published.latents(member);
      return Tensor::empty(*plan, {2, one[1], one[2], one[3]});
    };
    const ObserverScope scope(list);
    list.work = name + " step", list.weights = &networks.weights(Role::denoiser);
    model.denoise(networks.loaded(), two(0), 500, {.given = given});
    for (size_t member = 1; member < published.members(); ++member) {
      const DryNetworks others(published.model(member), *plan, {Role::denoiser});
      list.weights = &others.weights(Role::denoiser);
      published.model(member).denoise(others.loaded(), two(member), 500, {.given = given, .before = two(0)});
    }
    list.work = name + " decode", list.weights = &networks.weights(Role::codec);
    model.codec(networks.loaded()).decode(Tensor::empty(*plan, published.image_latents()));
    if (benchmarks.size() > 1 && list.flop_of(name + " step") > most_flop) list.forget(name + " step"), list.forget(name + " decode");
  }
  std::erase_if(list.cases, [](const Case& c) { return c.calls.empty(); });
  return std::move(list.cases);
}

WeightForm form_of(const BenchOptions& options, const Backend& device) {
  if (!options.hold.empty()) {
    const std::optional<DType> named = dtype_named(options.hold);
    if (!named || !is_float(*named)) fail<UsageError>("bench: --ops-weight-type is '{}', expected f32, f16 or bf16", options.hold);
    return {.hold = *named, .factors = DType::f32};
  }
  const bool bf16 = options.precision == Precision::bf16 || (options.precision == Precision::automatic && device.prefers_bf16());
  const DType hold = bf16 ? DType::bf16 : options.precision == Precision::f32 ? DType::f32 : DType::f16;
  return {.hold = hold, .factors = asked_factors(bf16 ? Precision::bf16 : options.precision, false, device)};
}

}  // namespace

Bench bench_ops(const BenchOptions& options) {
  const auto device = make_backend({.name = options.device, .features = options.path, .threads = options.threads});
  const WeightForm form = form_of(options, *device);
  std::vector<Case> cases = list_cases(options.model.empty() ? image_benchmarks() : std::vector{options.model});
  std::erase_if(cases, [&](const Case& c) { return c.name().find(options.only) == std::string::npos; });
  std::vector<OpForm> forms = options.model.empty() ? op_forms() : std::vector<OpForm>();
  std::erase_if(forms, [&](const OpForm& f) { return f.name.find(options.only) == std::string::npos; });
  if (cases.empty() && forms.empty()) fail<UsageError>("bench: no op has '{}' in its name", options.only);
  const Ceilings ceilings = measure_ceilings(*device);
  const int threads = device->threads().size();
  const double peak = ceilings.gflops(form.factors);

  struct Sum {
    double seconds = 0, processor = 0, flop = 0, least = 0;
  };
  std::map<std::string, Sum> sums;
  nlohmann::json json = {{"machine", machine_json(*device, ceilings)},
                         {"hold", name_of(form.hold)},
                         {"factors", name_of(form.factors)},
                         {"ops", nlohmann::json::array()}};
  std::string text = machine_text(*device, ceilings) + fmt::format("weights stored as {}, factors of products {}; CPU time per thread\n",
                                                                   name_of(form.hold), name_of(form.factors));
  const auto measure = [&](const Case& c, const std::string& name, const std::function<void()>& run) {
    const Last last = last_of(run);
    if (!c.calls.empty() && (last.op != c.op || last.y != c.y || last.flop != c.flop))
      throw std::logic_error(fmt::format("bench: '{}' runs {} -> {}", name, last.op, last.y));
    const BenchTime time = time_of(options.repeats, run);
    const double processor = time.processor_seconds / threads;
    const double least = c.flop > 0 ? c.flop * 1e-9 / peak : double(c.bytes) * 1e-9 / ceilings.read_gbs;
    const double rate = (c.flop > 0 ? c.flop : double(c.bytes)) * 1e-9 / time.seconds;
    for (const auto& [work, calls] : c.calls) {
      const double n = double(calls);
      Sum& sum = sums[work];
      sum.seconds += n * time.seconds, sum.processor += n * processor, sum.flop += n * c.flop, sum.least += n * least;
    }
    json["ops"].push_back({{"op", name},
                           {"kind", c.op},
                           {"x", std::vector<int64_t>(c.x.begin(), c.x.end())},
                           {"y", std::vector<int64_t>(c.y.begin(), c.y.end())},
                           {"weight", std::vector<int64_t>(c.w.begin(), c.w.end())},
                           {"calls", c.calls},
                           {"seconds", time.seconds},
                           {"processor_seconds", processor},
                           {c.flop > 0 ? "gflops" : "gbs", rate},
                           {"fraction", least / time.seconds}});
    if (c.op == "attention") json["ops"].back()["keys"] = c.keys();
    text += fmt::format("{:48} {:10.3f} ms {:8.1f} {:<8} {:5.2f}   CPU {:10.3f} ms {:5.2f} ", name, time.seconds * 1e3, rate,
                        c.flop > 0 ? "GFLOP/s" : "GB/s", least / time.seconds, processor * 1e3, least / processor);
    for (const auto& [work, calls] : c.calls) text += fmt::format("  {} × {}", work, calls);
    text += "\n";
  };
  const int64_t total = int64_t(cases.size() + forms.size());
  int64_t done = 0;
  const auto tell = [&] {
    if (options.progress) options.progress({.phase = "measure", .done = done++, .total = total});
    device->release_cached();
  };
  for (const Case& c : cases) {
    tell();
    measure(c, c.name(), c.make(*device, form));
  }
  for (const OpForm& f : forms) {
    tell();
    const OpCase c = f.make(*device, form);
    measure({.op = c.kind, .x = c.x, .y = c.y, .w = c.w, .flop = c.flop, .bytes = c.bytes, .calls = {}}, f.name, c.run);
  }
  for (const auto& [work, s] : sums) {
    json["sums"][work] = {
        {"seconds", s.seconds}, {"processor_seconds", s.processor}, {"gflop", s.flop * 1e-9}, {"fraction", s.least / s.seconds}};
    text += fmt::format("{:11} sum: {:.3f} s, {:.0f} GFLOP, {:.2f} of the ceilings   CPU {:.3f} s {:.2f}\n", work, s.seconds, s.flop * 1e-9,
                        s.least / s.seconds, s.processor, s.least / s.processor);
  }
  return {.text = text, .json = json.dump()};
}

}  // namespace hearth::api
