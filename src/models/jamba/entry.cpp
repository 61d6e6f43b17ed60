#include <algorithm>

#include "models/decoder_family.h"
#include "models/jamba/config.h"

namespace hearth::models::jamba {
namespace {

constexpr GgufForm forms[] = {
    {"model.layers.#.mamba.A_log", GgufForm::Kind::negative_exp},
    {"model.layers.#.mamba.conv1d.weight", GgufForm::Kind::squeezed},
};

std::string largest_of_layers(const Config& c) {
  const std::vector<int64_t> all = c.integers("layer_key_value_heads");
  const int64_t most = all.empty() ? 0 : *std::ranges::max_element(all);
  return std::to_string(most ? most : c.integer("num_attention_heads"));
}
std::string false_text(const Config&) { return "false"; }
double one(const GgufKeys&) { return 1; }

LanguageFamily family() {
  using Kind = GgufKey::Kind;
  return decoder_family<read_config>(
      {.model_types = {"jamba"},
       .class_name = "JambaForCausalLM",
       .gguf = {.name = "jamba",
                .keys = joined({{.key = "attention.head_count_kv", .config = "layer_key_value_heads", .kind = Kind::per_layer},
                                {.config = "num_key_value_heads", .kind = Kind::implied, .implied = largest_of_layers},
                                {.key = "ssm.inner_size", .config = "mamba_inner"},
                                {.key = "ssm.state_size", .config = "mamba_d_state"},
                                {.key = "ssm.conv_kernel", .config = "mamba_d_conv"},
                                {.key = "ssm.time_step_rank", .config = "mamba_dt_rank"},
                                {.key = "expert_count", .config = "num_experts", .otherwise = one},
                                {.key = "expert_used_count", .config = "num_experts_per_tok", .otherwise = one},
                                {.config = "expert_layers", .kind = Kind::layers, .tensor = "blk.#.ffn_gate_inp.weight"},
                                {.config = "mamba_conv_bias", .kind = Kind::present, .tensor = "blk.0.ssm_conv1d.bias"},
                                {.config = "mamba_proj_bias", .kind = Kind::implied, .implied = false_text}},
                               {gguf_without_positions}),
                .names = {{"output_norm.weight", "model.final_layernorm.weight"},
                          {"blk.#.ffn_norm.*", "model.layers.#.pre_ff_layernorm.*"},
                          {"blk.#.ffn_gate_inp.*", "model.layers.#.feed_forward.router.*"},
                          {"blk.#.ffn_gate.*", "model.layers.#.feed_forward.gate_proj.*"},
                          {"blk.#.ffn_up.*", "model.layers.#.feed_forward.up_proj.*"},
                          {"blk.#.ffn_down.*", "model.layers.#.feed_forward.down_proj.*"},
                          {"blk.#.ssm_in.*", "model.layers.#.mamba.in_proj.*"},
                          {"blk.#.ssm_conv1d.*", "model.layers.#.mamba.conv1d.*"},
                          {"blk.#.ssm_x.*", "model.layers.#.mamba.x_proj.*"},
                          {"blk.#.ssm_dt.*", "model.layers.#.mamba.dt_proj.*"},
                          {"blk.#.ssm_a", "model.layers.#.mamba.A_log"},
                          {"blk.#.ssm_d", "model.layers.#.mamba.D"},
                          {"blk.#.ssm_dt_norm.*", "model.layers.#.mamba.dt_layernorm.*"},
                          {"blk.#.ssm_b_norm.*", "model.layers.#.mamba.b_layernorm.*"},
                          {"blk.#.ssm_c_norm.*", "model.layers.#.mamba.c_layernorm.*"},
                          {"blk.#.ssm_out.*", "model.layers.#.mamba.out_proj.*"}},
                .stacks = {{"blk.#.ffn_gate_exps.weight", "model.layers.#.feed_forward.experts.#.gate_proj.weight"},
                           {"blk.#.ffn_up_exps.weight", "model.layers.#.feed_forward.experts.#.up_proj.weight"},
                           {"blk.#.ffn_down_exps.weight", "model.layers.#.feed_forward.experts.#.down_proj.weight"}},
                .forms = forms,
                .check = check_partial_heads}});
}

}  // namespace

Entry entry() {
  return {.name = "jamba",
          .summary = "Jamba 1.0 to 1.7: text to text, selective state spaces with an attention layer for every seven of them, experts",
          .task = family()};
}

}  // namespace hearth::models::jamba
