#include "ops/matmul.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "ops/branch.h"
#include "ops/check.h"
#include "ops/in_images.h"
#include "ops/shape_ops.h"
#include "ops/trace.h"

namespace hearth::ops {
namespace {

void check(const Tensor& x, const Weight& w, const Tensor& bias, const Epilogue& e, const GroupNormSpec& norm) {
  require_float("linear", x);
  if (w.shape.rank() != 2) fail<ShapeError>("linear: weight {} has shape {}, expected [out, in]", w.name, w.shape);
  const int64_t N = w.out(), K = w.in();
  if (x.rank() < 1 || x.size(-1) != K)
    fail<ShapeError>("linear: x {} ends in {} features, weight {} {} needs {}", x.shape(), x.rank() ? x.size(-1) : 0, w.name, w.shape, K);
  if (K < 1) fail<ShapeError>("linear: weight {} {} has no inputs", w.name, w.shape);
  require_vector("linear", "bias", bias, N);
  if (w.scale && w.scale.numel() != 1) require_vector("linear", "scale of the weight", w.scale, N);
  if (w.kind == WeightKind::glu && N % 2 != 0) fail<ShapeError>("linear: weight {} has shape {}, expected [2·out, in]", w.name, w.shape);
  check_epilogue("linear", e, x.shape().with_last(w.outputs()), w);
  if (norm && x.rank() < 2) fail<ShapeError>("linear: x is {}, expected [B, ..., K] for a norm", x.shape());
  if (norm) check_group_norm("linear", x, norm);
  require_one_device("linear", x, w, bias, e);
}

Tensor empty_product(const Tensor& x, const Weight& w, const Epilogue& e) {
  const Shape y = x.shape().with_last(w.outputs());
  return Tensor::empty(x.backend(), y, stored_type(x.backend(), y, e));
}

Epilogue flat_epilogue(const Epilogue& e) {
  Epilogue flat = e;
  if (e.residual) flat.residual = in_images(contiguous(e.residual));
  if (e.addend) flat.addend = in_images(contiguous(e.addend));
  return flat;
}

// The low ranks of all branches are computed together, then everything else.
void linears_with_branches(const Tensor& x, std::span<const LinearSpec> specs, std::span<Tensor> ys) {
  const Tensor none;
  std::vector<LinearSpec> downs, plain;
  std::vector<Weight> weights;
  downs.reserve(specs.size()), plain.reserve(specs.size()), weights.reserve(specs.size());
  for (const LinearSpec& s : specs) {
    check(x, s.w, s.bias, s.e, {});
    if (s.w.branch) downs.push_back({s.w.branch->down, none, {.out = DType::f32}});
  }
  std::vector<Tensor> lows(downs.size());
  linears(x, downs, lows);
  for (size_t i = 0, low = 0; i < specs.size(); ++i) {
    const LinearSpec& s = specs[i];
    weights.push_back(without_branch(s.w));
    plain.push_back({weights.back(), s.bias, s.w.branch ? with_branch(std::exchange(lows[low++], {}), s.w, s.e) : s.e});
  }
  linears(x, plain, ys);
}

double flop_of(const Tensor& x, const Weight& w) { return 2.0 * double(x.numel()) * double(w.out()); }

}  // namespace

Tensor linear(const Tensor& x, const Weight& w, const Tensor& bias, const Epilogue& e, const GroupNormSpec& norm) {
  check(x, w, bias, e, norm);
  if (w.branch) {
    const Tensor low = linear(x, w.branch->down, {}, {.out = DType::f32}, norm);
    return linear(x, without_branch(w), bias, with_branch(low, w, e), norm);
  }
  const OpTrace trace(norm ? "group_norm+linear" : "linear", x, w, flop_of(x, w));
  const Tensor y = empty_product(x, w, e);
  if (y.numel() == 0) return y;
  Tensor flat_y = in_images(y);
  x.backend().linear(in_images(contiguous(x)), w, bias, flat_epilogue(e), norm, flat_y);
  return trace.done(y);
}

void linears(const Tensor& x, std::span<const LinearSpec> specs, std::span<Tensor> ys) {
  if (specs.size() != ys.size())
    fail<ShapeError>("linears: {} products and {} results, expected one result for each product", specs.size(), ys.size());
  if (std::ranges::any_of(specs, [](const LinearSpec& s) { return s.w.branch != nullptr; })) return linears_with_branches(x, specs, ys);
  std::vector<OpTrace> traces;
  std::vector<LinearCall> calls;
  traces.reserve(specs.size()), calls.reserve(specs.size());
  for (size_t i = 0; i < specs.size(); ++i) {
    const LinearSpec& s = specs[i];
    check(x, s.w, s.bias, s.e, {});
    traces.emplace_back("linear", x, s.w, flop_of(x, s.w));
    ys[i] = empty_product(x, s.w, s.e);
    if (x.numel() > 0) calls.push_back({s.w, s.bias, flat_epilogue(s.e), in_images(ys[i])});
  }
  if (calls.empty()) return;
  x.backend().linears(in_images(contiguous(x)), calls);
  for (size_t i = 0; i < ys.size(); ++i) traces[i].report(ys[i], i == 0 ? traces[i].seconds() : 0);
}

}  // namespace hearth::ops
