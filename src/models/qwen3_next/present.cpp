#include <cmath>

#include "core/on_host.h"
#include "models/qwen3_next/config.h"
#include "weights/aliases.h"
#include "weights/derived.h"
#include "weights/stacked.h"

namespace hearth::models::qwen3_next {
namespace {

// The rows of in_proj_qkvz: of each key head its query, its key, and the values and gates of its value heads.
struct Rows {
  std::vector<int64_t> qkv, z;
};
Rows rows_of(const GatedDeltaNetConfig& d) {
  const int64_t values = d.values() / d.key_heads, all = 2 * d.key_size + 2 * values;
  Rows rows;
  const auto add = [&](std::vector<int64_t>& to, int64_t first, int64_t count) {
    for (int64_t head = 0; head < d.key_heads; ++head)
      for (int64_t i = 0; i < count; ++i) to.push_back(head * all + first + i);
  };
  add(rows.qkv, 0, d.key_size), add(rows.qkv, d.key_size, d.key_size), add(rows.qkv, 2 * d.key_size, values);
  add(rows.z, 2 * d.key_size + values, values);
  return rows;
}

}  // namespace

std::shared_ptr<TensorSource> present(std::shared_ptr<TensorSource> published, const Config& config) {
  const parts::DecoderConfig decoder = read_config(config);
  const GatedDeltaNetConfig* net = nullptr;
  for (const parts::LayerConfig& layer : decoder.layers)
    if (const auto* own = std::get_if<std::shared_ptr<const parts::OwnBlock>>(&layer.mixer.block))
      net = static_cast<const GatedDeltaNetConfig*>(own->get());
  static const std::string further[] = {"mtp."};
  published = without(std::move(published), further);
  if (!net) return published;

  const Rows rows = rows_of(*net);
  std::map<std::string, DerivedTensor> tensors;
  for (const auto& entry : published->list()) {
    const std::string& name = entry.first;
    const TensorInfo& info = entry.second;
    const auto add = [&](const std::string& stored, const std::string& official, const Shape& shape, DType dtype, auto compute) {
      if (const auto to = rewrite(name, stored, official)) tensors[*to] = derive({name}, dtype, shape, compute);
    };
    const Shape& shape = info.shape;
    const std::string layer = "model.layers.#.linear_attn.";
    if (shape.rank() == 2 && shape[0] == int64_t(rows.qkv.size() + rows.z.size())) {
      const std::string stored = layer + "in_proj_qkvz.weight";
      const auto reorder = [&](const std::string& official, const std::vector<int64_t>& order) {
        add(stored, official, {int64_t(order.size()), shape[1]}, info.dtype,
            [order](std::span<const Tensor> x) { return rows_in_order(x[0], order); });
      };
      reorder(layer + "in_proj_qkv.weight", rows.qkv);
      reorder(layer + "in_proj_z.weight", rows.z);
    }
    if (shape.rank() == 3 && shape[1] == 1)
      add(layer + "conv1d.weight", layer + "conv1d.weight", {shape[0], shape[2]}, info.dtype, [](std::span<const Tensor> x) {
        return x[0].view({x[0].size(0), x[0].size(2)});
      });
    add(layer + "A_log", layer + "a", shape, DType::f32, [](std::span<const Tensor> x) {
      std::vector<float> values = x[0].to_vector();
      for (float& v : values) v = -std::exp(v);
      return Tensor::from(x[0].backend(), x[0].shape(), values);
    });
  }
  return derived(std::move(published), std::move(tensors));
}

}  // namespace hearth::models::qwen3_next
