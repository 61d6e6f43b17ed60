#include "models/decoder_family.h"
#include "models/rwkv6/config.h"

namespace hearth::models::rwkv6 {
namespace {

constexpr LanguageSize sizes[] = {
    {"vocab_size", "rwkv.embeddings.weight", 0},
    {"hidden_size", "rwkv.embeddings.weight", 1},
    {"num_hidden_layers", "rwkv.blocks.#.ln1.weight"},
    {"intermediate_size", "rwkv.blocks.0.feed_forward.key.weight", 0},
    {"time_decay_extra_dim", "rwkv.blocks.0.attention.time_decay_w1", 0},
};

}  // namespace

Entry entry() {
  using Kind = GgufKey::Kind;
  return {
      .name = "rwkv6",
      .summary = "RWKV-6: text to text, a recurrence in place of attention, whose state has a constant size",
      .task = decoder_family<read_config>({
          .model_types = {"rwkv6"},
          .class_name = "Rwkv6ForCausalLM",
          .sizes = sizes,
          .gguf = {.name = "rwkv6",
                   .keys = joined(
                       {{.key = "attention.layer_norm_epsilon", .config = "layer_norm_epsilon", .kind = Kind::number},
                        {.key = "wkv.head_size", .config = "head_size"},
                        {.key = "time_mix_extra_dim", .config = "time_mix_extra_dim"},
                        {.key = "time_decay_extra_dim", .config = "time_decay_extra_dim"},
                        {.key = "rescale_every_n_layers", .config = "divided_every", .otherwise = [](const GgufKeys&) { return 0.0; }}},
                       {gguf_token_shift, gguf_without_positions}),
                   .names = {{"token_embd.weight", "rwkv.embeddings.weight"},
                             {"token_embd_norm.*", "rwkv.blocks.0.pre_ln.*"},
                             {"output_norm.weight", "rwkv.ln_out.weight"},
                             {"output_norm.bias", "rwkv.ln_out.bias"},
                             {"output.weight", "head.weight"},
                             {"blk.#.attn_norm.*", "rwkv.blocks.#.ln1.*"},
                             {"blk.#.attn_norm_2.*", "rwkv.blocks.#.ln2.*"},
                             {"blk.#.time_mix_lerp_x.weight", "rwkv.blocks.#.attention.time_maa_x"},
                             {"blk.#.time_mix_lerp_fused.weight", "rwkv.blocks.#.attention.time_maa"},
                             {"blk.#.time_mix_w1.weight", "rwkv.blocks.#.attention.time_maa_w1"},
                             {"blk.#.time_mix_decay.weight", "rwkv.blocks.#.attention.time_decay"},
                             {"blk.#.time_mix_decay_w1.weight", "rwkv.blocks.#.attention.time_decay_w1"},
                             {"blk.#.time_mix_decay_w2.weight", "rwkv.blocks.#.attention.time_decay_w2"},
                             {"blk.#.time_mix_first.weight", "rwkv.blocks.#.attention.time_faaaa"},
                             {"blk.#.time_mix_receptance.weight", "rwkv.blocks.#.attention.receptance.weight"},
                             {"blk.#.time_mix_key.weight", "rwkv.blocks.#.attention.key.weight"},
                             {"blk.#.time_mix_value.weight", "rwkv.blocks.#.attention.value.weight"},
                             {"blk.#.time_mix_gate.weight", "rwkv.blocks.#.attention.gate.weight"},
                             {"blk.#.time_mix_output.weight", "rwkv.blocks.#.attention.output.weight"},
                             {"blk.#.time_mix_ln.*", "rwkv.blocks.#.attention.ln_x.*"},
                             {"blk.#.channel_mix_lerp_k.weight", "rwkv.blocks.#.feed_forward.time_maa_k"},
                             {"blk.#.channel_mix_lerp_r.weight", "rwkv.blocks.#.feed_forward.time_maa_r"},
                             {"blk.#.channel_mix_key.weight", "rwkv.blocks.#.feed_forward.key.weight"},
                             {"blk.#.channel_mix_receptance.weight", "rwkv.blocks.#.feed_forward.receptance.weight"},
                             {"blk.#.channel_mix_value.weight", "rwkv.blocks.#.feed_forward.value.weight"}},
                   .stacks = {{"blk.#.time_mix_w2.weight", "rwkv.blocks.#.attention.time_maa_w2.#.weight"}},
                   .check = [](const GgufKeys&) {}},
          .present = present,
      }),
  };
}

}  // namespace hearth::models::rwkv6
