#include "models/decoder_family.h"
#include "models/rwkv7/config.h"

namespace hearth::models::rwkv7 {
namespace {

constexpr LanguageSize sizes[] = {
    {"vocab_size", "model.embeddings.weight", 0},
    {"hidden_size", "model.embeddings.weight", 1},
    {"num_hidden_layers", "model.layers.#.attn_norm.weight"},
    {"intermediate_size", "model.layers.0.ffn.key.weight", 0},
    {"decay_low_rank_dim", "model.layers.0.attn.w_lora.lora.0.weight", 0},
    {"a_low_rank_dim", "model.layers.0.attn.a_lora.lora.0.weight", 0},
    {"v_low_rank_dim", "model.layers.1.attn.v_lora.lora.0.weight", 0},
    {"gate_low_rank_dim", "model.layers.0.attn.g_lora.lora.0.weight", 0},
};

constexpr LanguageGeometry geometries[] = {
    {"rwkv7-0.1b",
     R"({"vocab_size": 65536, "hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12, "head_dim": 64, "decay_low_rank_dim": 64,
         "a_low_rank_dim": 64, "v_low_rank_dim": 32, "gate_low_rank_dim": 128, "max_position_embeddings": 1048576})"},
    {"rwkv7-2.9b",
     R"({"vocab_size": 65536, "hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 32, "head_dim": 64, "decay_low_rank_dim": 96,
         "a_low_rank_dim": 96, "v_low_rank_dim": 64, "gate_low_rank_dim": 320, "max_position_embeddings": 1048576})"},
};

}  // namespace

Entry entry() {
  using Kind = GgufKey::Kind;
  return {
      .name = "rwkv7",
      .summary = "RWKV-7: text to text, a recurrence in place of attention, whose state has a constant size",
      .task = decoder_family<read_config>({
          .model_types = {"rwkv7"},
          .class_name = "RWKV7ForCausalLM",
          .sizes = sizes,
          .gguf = {.name = "rwkv7",
                   .keys = joined({{.key = "attention.layer_norm_epsilon", .config = "norm_eps", .kind = Kind::number},
                                   {.key = "wkv.head_size", .config = "head_dim"},
                                   {.key = "attention.decay_lora_rank", .config = "decay_low_rank_dim"},
                                   {.key = "attention.iclr_lora_rank", .config = "a_low_rank_dim"},
                                   {.key = "attention.value_residual_mix_lora_rank", .config = "v_low_rank_dim"},
                                   {.key = "attention.gate_lora_rank", .config = "gate_low_rank_dim"}},
                                  {gguf_token_shift, gguf_without_positions}),
                   .names = {{"token_embd.weight", "model.embeddings.weight"},
                             {"token_embd_norm.*", "model.layers.0.pre_norm.*"},
                             {"output_norm.*", "model.norm.*"},
                             {"blk.#.attn_norm.*", "model.layers.#.attn_norm.*"},
                             {"blk.#.attn_norm_2.*", "model.layers.#.ffn_norm.*"},
                             {"blk.#.time_mix_w1.weight", "model.layers.#.attn.w_lora.lora.0.weight"},
                             {"blk.#.time_mix_w2.weight", "model.layers.#.attn.w_lora.lora.2.weight"},
                             {"blk.#.time_mix_w0.weight", "model.layers.#.attn.w_lora.lora.2.bias"},
                             {"blk.#.time_mix_a1.weight", "model.layers.#.attn.a_lora.lora.0.weight"},
                             {"blk.#.time_mix_a2.weight", "model.layers.#.attn.a_lora.lora.2.weight"},
                             {"blk.#.time_mix_a0.weight", "model.layers.#.attn.a_lora.lora.2.bias"},
                             {"blk.#.time_mix_v1.weight", "model.layers.#.attn.v_lora.lora.0.weight"},
                             {"blk.#.time_mix_v2.weight", "model.layers.#.attn.v_lora.lora.2.weight"},
                             {"blk.#.time_mix_v0.weight", "model.layers.#.attn.v_lora.lora.2.bias"},
                             {"blk.#.time_mix_g1.weight", "model.layers.#.attn.g_lora.lora.0.weight"},
                             {"blk.#.time_mix_g2.weight", "model.layers.#.attn.g_lora.lora.2.weight"},
                             {"blk.#.time_mix_k_k.weight", "model.layers.#.attn.k_k"},
                             {"blk.#.time_mix_k_a.weight", "model.layers.#.attn.k_a"},
                             {"blk.#.time_mix_r_k.weight", "model.layers.#.attn.r_k"},
                             {"blk.#.time_mix_lerp_fused.weight", "model.layers.#.attn.x_x"},
                             {"blk.#.time_mix_receptance.weight", "model.layers.#.attn.r_proj.weight"},
                             {"blk.#.time_mix_key.weight", "model.layers.#.attn.k_proj.weight"},
                             {"blk.#.time_mix_value.weight", "model.layers.#.attn.v_proj.weight"},
                             {"blk.#.time_mix_output.weight", "model.layers.#.attn.o_proj.weight"},
                             {"blk.#.time_mix_ln.*", "model.layers.#.attn.g_norm.*"},
                             {"blk.#.channel_mix_lerp_k.weight", "model.layers.#.ffn.x_k"},
                             {"blk.#.channel_mix_key.weight", "model.layers.#.ffn.key.weight"},
                             {"blk.#.channel_mix_value.weight", "model.layers.#.ffn.value.weight"}},
                   .check = [](const GgufKeys&) {}},
          .geometries = geometries,
          .present = present,
      }),
  };
}

}  // namespace hearth::models::rwkv7
