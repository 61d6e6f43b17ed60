#include "models/rwkv6/config.h"
#include "weights/aliases.h"
#include "weights/derived.h"
#include "weights/stacked.h"

namespace hearth::models::rwkv6 {

std::shared_ptr<TensorSource> present(std::shared_ptr<TensorSource> published, const Config&) {
  static constexpr StackRule rules[] = {
      {.stored = "rwkv.blocks.#.attention.time_maa_w2", .official = "rwkv.blocks.#.attention.time_maa_w2.#.weight", .transposed = true}};
  published = unstacked(std::move(published), rules);
  std::map<std::string, DerivedTensor> tensors;
  const auto stored = published->list();
  // A GGUF file has these as the network needs them, and nothing else tells the two apart.
  bool of_file = false;
  for (const auto& [name, info] : stored) of_file |= name.ends_with(".attention.time_maa");
  for (const auto& entry : stored) {
    const std::string& name = entry.first;
    const TensorInfo& info = entry.second;
    const int64_t count = info.shape.numel();
    const auto flat = [&](const std::string& pattern, const Shape& shape) {
      if (rewrite(name, pattern, pattern) && info.shape != shape) tensors[name] = derive_view(name, info.dtype, shape);
    };
    for (const char* vector : {"attention.time_maa_x", "attention.time_decay", "feed_forward.time_maa_k", "feed_forward.time_maa_r"})
      flat(std::string("rwkv.blocks.#.") + vector, {count});
    if (count % 5 == 0) flat("rwkv.blocks.#.attention.time_maa", {5, 1, 1, count / 5});
    if (of_file) continue;
    for (const char* matrix : {"time_maa_w1", "time_decay_w1", "time_decay_w2"})
      if (const std::string pattern = std::string("rwkv.blocks.#.attention.") + matrix;
          rewrite(name, pattern, pattern) && info.shape.rank() == 2)
        tensors[name] = derive({name}, turned_type(info.dtype), {info.shape[1], info.shape[0]},
                               [](std::span<const Tensor> x) { return turned_matrix(x[0]); });
    if (const auto of_all = rewrite(name, "rwkv.blocks.#.attention.time_maa_w", "rwkv.blocks.#.attention.time_maa")) {
      std::vector<std::string> all;
      for (const char* part : {"w", "k", "v", "r", "g"}) {
        const std::string from = name.substr(0, name.size() - 1) + part;
        if (stored.contains(from) && stored.at(from).shape.numel() == count) all.push_back(from);
      }
      // Missing ones are reported as a missing vector of all.
      if (all.size() == 5) tensors[*of_all] = derive_joined(std::move(all), {5, 1, 1, count});
    }
  }
  return derived(std::move(published), std::move(tensors));
}

}  // namespace hearth::models::rwkv6
