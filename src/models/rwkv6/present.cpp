#include "models/rwkv6/config.h"
#include "parts/decoder/shift_tensors.h"
#include "weights/aliases.h"
#include "weights/stacked.h"

namespace hearth::models::rwkv6 {

std::shared_ptr<TensorSource> present(std::shared_ptr<TensorSource> published, const Config&) {
  static constexpr StackRule rules[] = {
      {.stored = "rwkv.blocks.#.attention.time_maa_w2", .official = "rwkv.blocks.#.attention.time_maa_w2.#.weight", .transposed = true}};
  static constexpr std::string_view vectors[] = {"rwkv.blocks.#.attention.time_maa_x", "rwkv.blocks.#.attention.time_decay",
                                                 "rwkv.blocks.#.feed_forward.time_maa_k", "rwkv.blocks.#.feed_forward.time_maa_r"};
  published = unstacked(std::move(published), rules);
  const auto stored = published->list();
  std::map<std::string, DerivedTensor> tensors = parts::shift_tensors(stored, {.joined = "rwkv.blocks.#.attention.time_maa",
                                                                               .first = "rwkv.blocks.#.attention.time_maa_w",
                                                                               .letters = "wkvrg",
                                                                               .vectors = vectors});
  // A GGUF file has the low-rank factors as the network needs them, and nothing else tells the two apart.
  for (const auto& [name, info] : stored)
    if (name.ends_with(".attention.time_maa")) return derived(std::move(published), std::move(tensors));
  for (const auto& [name, info] : stored)
    for (const char* matrix : {"time_maa_w1", "time_decay_w1", "time_decay_w2"})
      if (const std::string pattern = std::string("rwkv.blocks.#.attention.") + matrix;
          rewrite(name, pattern, pattern) && info.shape.rank() == 2)
        tensors[name] = derive({name}, turned_type(info.dtype), {info.shape[1], info.shape[0]},
                               [](std::span<const Tensor> x) { return turned_matrix(x[0]); });
  return derived(std::move(published), std::move(tensors));
}

}  // namespace hearth::models::rwkv6
