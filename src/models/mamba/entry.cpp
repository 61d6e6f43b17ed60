#include "models/decoder_family.h"
#include "models/mamba/config.h"

namespace hearth::models::mamba {
namespace {

constexpr LanguageSize sizes[] = {
    {"vocab_size", "backbone.embeddings.weight", 0},
    {"hidden_size", "backbone.embeddings.weight", 1},
    {"num_hidden_layers", "backbone.layers.#.norm.weight"},
    {"intermediate_size", "backbone.layers.0.mixer.A_log", 0},
    {"state_size", "backbone.layers.0.mixer.A_log", 1},
    {"conv_kernel", "backbone.layers.0.mixer.conv1d.weight", 2},
    {"time_step_rank", "backbone.layers.0.mixer.dt_proj.weight", 1},
};

constexpr LanguageGeometry geometries[] = {
    {"mamba-2.8b", R"({"model_type": "mamba", "vocab_size": 50280, "hidden_size": 2560, "num_hidden_layers": 64})"},
};

constexpr GgufForm forms[] = {
    {"backbone.layers.#.mixer.A_log", GgufForm::Kind::negative_exp},
    {"backbone.layers.#.mixer.conv1d.weight", GgufForm::Kind::squeezed},
};

// The authors' files have another name.
std::shared_ptr<TensorSource> renamed(std::shared_ptr<TensorSource> published, const Config&) {
  static constexpr Alias names[] = {{"backbone.embedding.weight", "backbone.embeddings.weight", true}};
  return aliased(std::move(published), names);
}

LanguageFamily family() {
  using Kind = GgufKey::Kind;
  GgufArchitecture gguf{
      .name = "mamba",
      .keys = {{.key = "ssm.inner_size", .config = "intermediate_size"},
               {.key = "ssm.state_size", .config = "state_size"},
               {.key = "ssm.conv_kernel", .config = "conv_kernel"},
               {.key = "ssm.time_step_rank", .config = "time_step_rank"},
               {.key = "ssm.dt_b_c_rms", .config = "parameter_norms", .kind = Kind::flag, .optional = true},
               {.key = "attention.layer_norm_rms_epsilon", .config = "layer_norm_epsilon", .kind = Kind::number},
               {.config = "use_bias", .kind = Kind::present, .tensor = "blk.0.ssm_in.bias"},
               {.config = "use_conv_bias", .kind = Kind::present, .tensor = "blk.0.ssm_conv1d.bias"},
               {.config = "mixer_rms_eps", .kind = Kind::implied, .implied = [](const Config&) { return std::string("1e-06"); }}},
      .names = {{"token_embd.weight", "backbone.embeddings.weight"},
                {"output_norm.weight", "backbone.norm_f.weight"},
                {"blk.#.attn_norm.*", "backbone.layers.#.norm.*"},
                {"blk.#.ssm_in.*", "backbone.layers.#.mixer.in_proj.*"},
                {"blk.#.ssm_conv1d.*", "backbone.layers.#.mixer.conv1d.*"},
                {"blk.#.ssm_x.*", "backbone.layers.#.mixer.x_proj.*"},
                {"blk.#.ssm_dt.*", "backbone.layers.#.mixer.dt_proj.*"},
                {"blk.#.ssm_a", "backbone.layers.#.mixer.A_log"},
                {"blk.#.ssm_d", "backbone.layers.#.mixer.D"},
                {"blk.#.ssm_out.*", "backbone.layers.#.mixer.out_proj.*"}},
      .forms = forms,
      .check = check_nothing};
  gguf.keys.insert(gguf.keys.end(), std::begin(gguf_without_attention), std::end(gguf_without_attention));
  return decoder_family<read_config>({.model_types = {"mamba", "falcon_mamba"},
                                      .class_name = "MambaForCausalLM",
                                      .sizes = sizes,
                                      .gguf = gguf,
                                      .geometries = geometries,
                                      .present = renamed});
}

}  // namespace

Entry entry() {
  return {.name = "mamba", .summary = "Mamba and Falcon Mamba: text to text, a selective state space of constant size", .task = family()};
}

}  // namespace hearth::models::mamba
