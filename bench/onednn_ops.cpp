// Times oneDNN (2.x) on the products of `hearth bench ops --json`: linear layers, convolutions, and attention as softmax between two
// products. Nothing is fused behind them; other ops are left out.
//   hearth bench ops --json > ops.json;  hearth_onednn_ops ops.json f32|bf16 [repeats]
// Prints {"onednn": version, "factors", "ops": [{"op", "seconds"}], "sums": {work: seconds}}. OMP_NUM_THREADS sets its threads.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <dnnl.hpp>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

namespace {

using namespace dnnl;
using Tag = memory::format_tag;
using Type = memory::data_type;
using Dims = memory::dims;

const engine cpu(engine::kind::cpu, 0);
stream queue(cpu);

memory::desc any(const Dims& dims, Type type) { return {dims, type, Tag::any}; }

memory filled(const memory::desc& desc) {
  memory m(desc, cpu);
  auto* bytes = static_cast<uint8_t*>(m.get_data_handle());
  const size_t size = desc.get_size();                                              // once: the library's call is slow
  for (size_t i = 0; i < size; ++i) bytes[i] = uint8_t(i % 4 < 2 ? i * 37 : 0x3c);  // small numbers in both types
  return m;
}

using Call = std::function<void()>;

Call product(const Dims& a, const Dims& b, const Dims& c, Type type) {
  const bool batched = a.size() == 3;
  const Tag plain = batched ? Tag::abc : Tag::ab;
  const matmul::desc desc({a, type, plain}, batched ? memory::desc(b, type, Tag::acb) : any(b, type), {c, Type::f32, plain});
  const matmul::primitive_desc chosen(desc, cpu);
  const std::unordered_map<int, memory> arguments = {{DNNL_ARG_SRC, filled(chosen.src_desc())},
                                                     {DNNL_ARG_WEIGHTS, filled(chosen.weights_desc())},
                                                     {DNNL_ARG_DST, memory(chosen.dst_desc(), cpu)}};
  return [primitive = matmul(chosen), arguments] { primitive.execute(queue, arguments); };
}

// A convolution over rows and columns, or frames, rows and columns, channels last; w [O, C / groups, …]. Zero padding, equal on both
// sides or, if the total is odd or the axis is that of frames, as in hearth's cases.
Call convolution(const std::vector<int64_t>& x, const std::vector<int64_t>& y, const std::vector<int64_t>& w, Type type) {
  const size_t axes = w.size() - 2;
  const int64_t C = x.back(), O = y.back(), groups = C / w[1];
  Dims from{x[0], C}, kernel{O, w[1]}, to{y[0], O}, strides, before, after;
  for (size_t i = 0; i < axes; ++i) {
    const int64_t in = x[1 + i], out = y[1 + i], taps = w[2 + i];
    const bool halved = out < in, frames = axes == 3 && i == 0;
    const int64_t seen = halved ? in : out;  // a smaller x is resized first
    strides.push_back(halved ? 2 : 1);
    before.push_back(frames ? taps - 1 : taps / 2);
    after.push_back((out - 1) * strides.back() + taps - seen - before.back());
    from.push_back(seen), kernel.push_back(taps), to.push_back(out);
  }
  if (groups > 1) kernel[0] = O / groups, kernel.insert(kernel.begin(), groups);
  const Tag tag = axes == 3 ? Tag::ndhwc : Tag::nhwc;
  const convolution_forward::desc desc(prop_kind::forward_inference, algorithm::convolution_direct, memory::desc(from, type, tag),
                                       any(kernel, type), memory::desc(to, Type::f32, tag), strides, before, after);
  const convolution_forward::primitive_desc chosen(desc, cpu);
  const std::unordered_map<int, memory> arguments = {{DNNL_ARG_SRC, filled(chosen.src_desc())},
                                                     {DNNL_ARG_WEIGHTS, filled(chosen.weights_desc())},
                                                     {DNNL_ARG_DST, memory(chosen.dst_desc(), cpu)}};
  return [primitive = convolution_forward(chosen), arguments] { primitive.execute(queue, arguments); };
}

// One image at a time, because the matrix of scores is large.
Call attention(const std::vector<int64_t>& x, int64_t keys, Type type) {
  const int64_t T = x[1], N = x[2], D = x[3];
  const memory::desc scores({N, T, keys}, Type::f32, Tag::abc);
  const softmax_forward::primitive_desc chosen({prop_kind::forward_inference, scores, 2}, cpu);
  const memory values = filled(scores);
  const std::vector<Call> parts = {product({N, T, D}, {N, D, keys}, {N, T, keys}, type),
                                   [primitive = softmax_forward(chosen), values] {
                                     primitive.execute(queue, {{DNNL_ARG_SRC, values}, {DNNL_ARG_DST, values}});
                                   },
                                   product({N, T, keys}, {N, keys, D}, {N, T, D}, type)};
  return [parts, images = x[0]] {
    for (int64_t b = 0; b < images; ++b)
      for (const Call& part : parts) part();
  };
}

double median_seconds(const Call& run, int repeats) {
  const auto once = [&] {
    const auto start = std::chrono::steady_clock::now();
    run();
    queue.wait();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  once();
  std::vector<double> times;
  for (int i = 0; i < repeats; ++i) times.push_back(once());
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

int measure(const char* file, const std::string& factors, int repeats) {
  const Type type = factors == "bf16" ? Type::bf16 : Type::f32;
  const nlohmann::json list = nlohmann::json::parse(std::ifstream(file));
  nlohmann::json rows = nlohmann::json::array();
  std::map<std::string, double> sums;
  for (const auto& op : list.at("ops")) {
    const std::string name = op.at("op");
    std::string kind = op.at("kind");
    if (kind.starts_with("group_norm+")) kind = kind.substr(11);  // the product alone
    const std::vector<int64_t> x = op.at("x"), y = op.at("y"), w = op.at("weight");
    int64_t elements = 1;
    for (const int64_t size : x) elements *= size;
    Call run;
    if (kind == "linear") run = product({elements / x.back(), x.back()}, {x.back(), w[0]}, {elements / x.back(), w[0]}, type);
    if (kind == "conv2d" || kind == "conv form") run = convolution(x, y, w, type);
    // Every head has its own keys, because the library supports neither grouped heads nor masks and caps.
    if (kind == "attention form" && name.ends_with(fmt::format("size {}", x.back()))) run = attention(x, x[1], type);
    if (kind == "attention") run = attention(x, op.at("keys"), type);
    if (!run) continue;
    const double seconds = median_seconds(run, repeats);
    rows.push_back({{"op", name}, {"seconds", seconds}});
    for (const auto& [work, calls] : op.at("calls").items()) sums[work] += seconds * calls.get<double>();
  }
  const version_t* v = version();
  const nlohmann::json report = {
      {"onednn", fmt::format("{}.{}.{}", v->major, v->minor, v->patch)}, {"factors", factors}, {"ops", rows}, {"sums", sums}};
  fmt::print("{}\n", report.dump());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::string factors = argc > 2 ? argv[2] : "";
    if ((factors == "f32" || factors == "bf16") && argc < 5)
      return measure(argv[1], factors, argc > 3 ? std::max(1, std::stoi(argv[3])) : 3);
    fmt::print(stderr, "usage: hearth_onednn_ops FILE f32|bf16 [REPEATS]\n");
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
