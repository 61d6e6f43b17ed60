#include "models/deepseek_v2/heads_apart.h"

#include "models/deepseek_v2/config.h"
#include "weights/stacked.h"

namespace hearth::models::deepseek_v2 {

std::shared_ptr<TensorSource> heads_apart(std::shared_ptr<TensorSource> published, const Config& config) {
  const parts::DecoderConfig d = read_config(config);
  const auto& attention = std::get<parts::LatentAttentionConfig>(d.layers.at(0).mixer.block);
  const int64_t plain = attention.plain, both = plain + attention.value;
  const StackRule rules[] = {{.stored = "model.layers.#.self_attn.kv_b_proj.weight",
                              .official = "model.layers.#.self_attn.k_b.#.weight",
                              .rows = StackRule::Rows::range,
                              .rows_of_slice = both,
                              .first = 0,
                              .last = plain,
                              .turned = true},
                             {.stored = "model.layers.#.self_attn.kv_b_proj.weight",
                              .official = "model.layers.#.self_attn.v_b.#.weight",
                              .rows = StackRule::Rows::range,
                              .rows_of_slice = both,
                              .first = plain,
                              .last = both}};
  std::vector<std::string> further;
  if (config.integer("num_nextn_predict_layers", 0) > 0)
    for (int64_t i = 0; i < config.integer("num_nextn_predict_layers"); ++i)
      further.push_back("model.layers." + std::to_string(int64_t(d.layers.size()) + i) + ".");
  return unstacked(without(std::move(published), further), rules);
}

}  // namespace hearth::models::deepseek_v2
