#include "parts/decoder/experts.h"

#include <numeric>

#include "core/on_host.h"
#include "ops/select.h"

namespace hearth::parts {
namespace {

std::span<const float> values_of(const Tensor& x) {
  return x ? std::span<const float>(x.data<float>(), size_t(x.numel())) : std::span<const float>();
}

// In a dry run all tokens go to the first experts.
Routing route_rows(const Tensor& logits, const Tensor& choice_bias, const RouterConfig& config) {
  const Tensor rows = dense_on_host(logits);
  std::vector<float> first(static_cast<size_t>(logits.numel()));
  if (!logits.backend().computes()) {
    for (size_t i = 0; i < first.size(); ++i) first[i] = -float(i % size_t(config.experts));
    return route(first, {}, config);
  }
  return route(values_of(rows), values_of(choice_bias), config);
}

}  // namespace

Experts::Expert::Expert(const Scope& w, int64_t width, const MlpConfig& c)
    : gate(w / c.names.gate, width, c.width, c.bias),
      up(w / c.names.up, width, c.width, c.bias),
      down(w / c.names.down, c.width, width, c.bias) {}

Experts::Experts(const Scope& w, int64_t width, const ExpertsConfig& c)
    : config_(c), router_((w / c.names.router).exact(), width, c.router.experts, c.router.bias) {
  if (c.router.choice_bias)
    if (const Tensor bias = (w / c.names.router).tensor("e_score_correction_bias", {c.router.experts})) choice_bias_ = dense_on_host(bias);
  for (int64_t e = 0; e < c.router.experts; ++e) experts_.emplace_back(w / c.names.experts / e, width, c.expert);
  if (!c.shared) return;
  shared_.emplace(w / c.shared->name, width, c.shared->mlp);
  if (!c.shared->gate.empty()) shared_gate_.emplace(w / c.shared->gate, width, 1, false);
}

Tensor Experts::operator()(const Tensor& x, const Tensor& residual, const Pass& pass, States) const {
  Backend& backend = x.backend();
  const int64_t T = x.size(0);
  const Routing routing = route_rows(router_(x), choice_bias_, config_.router);
  const int64_t M = std::ssize(routing.tokens);
  const Tensor tokens = Tensor::from(backend, {M}, routing.tokens), weights = Tensor::from(backend, {M}, routing.weights);
  const Tensor chosen = T == 1 ? at_once(x, routing) : each(ops::gather(x, tokens), routing);
  const Tensor base = residual ? residual : Tensor::zeros(backend, x.shape());
  const Tensor y = ops::scatter_add(base, chosen, tokens, weights);
  if (!shared_) return y;
  if (!shared_gate_) return (*shared_)(x, y, pass, {});
  std::vector<int32_t> all(static_cast<size_t>(T));
  std::iota(all.begin(), all.end(), 0);
  const Tensor gate = (*shared_gate_)(x, {.activation = Activation::sigmoid}).view({T});
  return ops::scatter_add(y, (*shared_)(x, {}, pass, {}), Tensor::from(backend, {T}, all), gate);
}

Tensor Experts::each(const Tensor& x, const Routing& routing) const {
  std::vector<Tensor> results;
  for (size_t e = 0; e < experts_.size(); ++e) {
    const int64_t begin = routing.begins[e], end = routing.begins[e + 1];
    if (begin == end) continue;
    const Tensor part = x.slice(0, begin, end);
    const auto& [gate, up, down] = experts_[e];
    const MlpConfig& c = config_.expert;
    if (c.limit != 0) results.push_back(down(clamped_glu(gate(part), up(part), c.activation, c.limit)));
    else results.push_back(down(up(part, {.gate = gate(part, {.activation = c.activation})})));
  }
  return results.size() == 1 ? results[0] : ops::concat(results, 0);
}

Tensor Experts::at_once(const Tensor& x, const Routing& routing) const {
  std::vector<const Expert*> chosen;
  for (size_t e = 0; e < experts_.size(); ++e)
    if (routing.begins[e] != routing.begins[e + 1]) chosen.push_back(&experts_[e]);
  std::vector<Tensor> gates(chosen.size()), ups(chosen.size()), results;
  std::vector<ops::LinearSpec> specs;
  const MlpConfig& c = config_.expert;
  const Activation activation = c.limit != 0 ? Activation::none : c.activation;
  for (const Expert* e : chosen) specs.push_back({e->gate.weight, e->gate.bias, {.activation = activation}});
  ops::linears(x, specs, gates);
  specs.clear();
  for (size_t i = 0; i < chosen.size(); ++i)
    specs.push_back({chosen[i]->up.weight, chosen[i]->up.bias, {.gate = c.limit != 0 ? Tensor() : gates[i]}});
  ops::linears(x, specs, ups);
  for (size_t i = 0; i < chosen.size(); ++i)
    results.push_back(chosen[i]->down(c.limit != 0 ? clamped_glu(gates[i], ups[i], c.activation, c.limit) : ups[i]));
  return results.size() == 1 ? results[0] : ops::concat(results, 0);
}

}  // namespace hearth::parts
