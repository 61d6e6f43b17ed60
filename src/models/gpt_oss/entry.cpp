#include "models/decoder_family.h"
#include "models/gpt_oss/config.h"
#include "models/gpt_oss/stacks.h"

namespace hearth::models::gpt_oss {

Entry entry() {
  std::vector<StackRule> gguf_stacks(std::begin(gguf_expert_stacks), std::end(gguf_expert_stacks));
  gguf_stacks.insert(gguf_stacks.end(), {{"blk.#.ffn_gate_exps.bias", "model.layers.#.mlp.experts.#.gate_proj.bias"},
                                         {"blk.#.ffn_up_exps.bias", "model.layers.#.mlp.experts.#.up_proj.bias"},
                                         {"blk.#.ffn_down_exps.bias", "model.layers.#.mlp.experts.#.down_proj.bias"}});
  return {
      .name = "gpt_oss",
      .summary = "gpt-oss 20B and 120B: text to text, four experts for each token, attention sinks, every other layer with a window",
      .task = decoder_family<read_config>({
          .model_types = {"gpt_oss"},
          .class_name = "GptOssForCausalLM",
          .experts = LanguageSize{"num_local_experts", "model.layers.#.mlp.router.weight", 0},
          .gguf = {.name = "gpt-oss",
                   .keys = {gguf_window,
                            {.key = "expert_count", .config = "num_local_experts"},
                            {.key = "expert_used_count", .config = "num_experts_per_tok"},
                            {.key = "expert_feed_forward_length", .config = "intermediate_size"}},
                   .names = {{"blk.#.post_attention_norm.*", "model.layers.#.post_attention_layernorm.*"},
                             {"blk.#.attn_sinks.weight", "model.layers.#.self_attn.sinks"},
                             {"blk.#.ffn_gate_inp.*", "model.layers.#.mlp.router.*"}},
                   .stacks = gguf_stacks,
                   .yarn_truncates = false},
          .present = [](std::shared_ptr<TensorSource> published, const Config&) { return unstacked(std::move(published), stacks); },
      }),
  };
}

}  // namespace hearth::models::gpt_oss
