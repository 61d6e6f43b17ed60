#include "models/decoder_family.h"
#include "models/mamba2/config.h"

namespace hearth::models::mamba2 {
namespace {

constexpr LanguageSize sizes[] = {
    {"vocab_size", "backbone.embeddings.weight", 0},
    {"hidden_size", "backbone.embeddings.weight", 1},
    {"num_hidden_layers", "backbone.layers.#.norm.weight"},
    {"num_heads", "backbone.layers.0.mixer.A_log", 0},
    {"conv_kernel", "backbone.layers.0.mixer.conv1d.weight", 2},
};

constexpr LanguageGeometry geometries[] = {
    {"mamba2-2.7b", R"({"model_type": "mamba2", "vocab_size": 50288, "hidden_size": 2560, "num_hidden_layers": 64, "num_heads": 80,
                        "head_dim": 64, "state_size": 128, "n_groups": 1, "tie_word_embeddings": true})"},
};

constexpr GgufForm forms[] = {
    {"backbone.layers.#.mixer.A_log", GgufForm::Kind::negative_exp},
    {"backbone.layers.#.mixer.A_log", GgufForm::Kind::column},
    {"backbone.layers.#.mixer.D", GgufForm::Kind::column},
    {"backbone.layers.#.mixer.conv1d.weight", GgufForm::Kind::squeezed},
    {"backbone.layers.#.mixer.norm.weight", GgufForm::Kind::groups, "n_groups"},
};

// The authors' files have another name.
std::shared_ptr<TensorSource> renamed(std::shared_ptr<TensorSource> published, const Config&) {
  static constexpr Alias names[] = {{"backbone.embedding.weight", "backbone.embeddings.weight", true}};
  return aliased(std::move(published), names);
}

LanguageFamily family() {
  using Kind = GgufKey::Kind;
  GgufArchitecture gguf{.name = "mamba2",
                        .keys = {{.key = "ssm.inner_size", .config = "inner_size"},
                                 {.key = "ssm.state_size", .config = "state_size"},
                                 {.key = "ssm.conv_kernel", .config = "conv_kernel"},
                                 {.key = "ssm.time_step_rank", .config = "num_heads"},
                                 {.key = "ssm.group_count", .config = "n_groups"},
                                 {.key = "attention.layer_norm_rms_epsilon", .config = "layer_norm_epsilon", .kind = Kind::number},
                                 {.config = "use_bias", .kind = Kind::present, .tensor = "blk.0.ssm_in.bias"},
                                 {.config = "use_conv_bias", .kind = Kind::present, .tensor = "blk.0.ssm_conv1d.bias"}},
                        .names = {{"token_embd.weight", "backbone.embeddings.weight"},
                                  {"output_norm.weight", "backbone.norm_f.weight"},
                                  {"blk.#.attn_norm.*", "backbone.layers.#.norm.*"},
                                  {"blk.#.ssm_in.*", "backbone.layers.#.mixer.in_proj.*"},
                                  {"blk.#.ssm_conv1d.*", "backbone.layers.#.mixer.conv1d.*"},
                                  {"blk.#.ssm_dt.bias", "backbone.layers.#.mixer.dt_bias"},
                                  {"blk.#.ssm_a", "backbone.layers.#.mixer.A_log"},
                                  {"blk.#.ssm_d", "backbone.layers.#.mixer.D"},
                                  {"blk.#.ssm_norm.*", "backbone.layers.#.mixer.norm.*"},
                                  {"blk.#.ssm_out.*", "backbone.layers.#.mixer.out_proj.*"}},
                        .forms = forms,
                        .check = check_nothing};
  gguf.keys.insert(gguf.keys.end(), std::begin(gguf_without_attention), std::end(gguf_without_attention));
  return decoder_family<read_config>({.model_types = {"mamba2"},
                                      .class_name = "Mamba2ForCausalLM",
                                      .sizes = sizes,
                                      .gguf = gguf,
                                      .geometries = geometries,
                                      .present = renamed});
}

}  // namespace

Entry entry() {
  return {.name = "mamba2", .summary = "Mamba 2: text to text, state spaces whose heads decay as a whole", .task = family()};
}

}  // namespace hearth::models::mamba2
