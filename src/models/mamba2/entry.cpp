#include "models/backbone_family.h"
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

LanguageFamily family() {
  return decoder_family<read_config>({.model_types = {"mamba2"},
                                      .class_name = "Mamba2ForCausalLM",
                                      .sizes = sizes,
                                      .gguf = backbone_gguf({.name = "mamba2",
                                                             .keys = {{.key = "ssm.inner_size", .config = "inner_size"},
                                                                      {.key = "ssm.time_step_rank", .config = "num_heads"},
                                                                      {.key = "ssm.group_count", .config = "n_groups"}},
                                                             .names = {{"blk.#.ssm_dt.bias", "backbone.layers.#.mixer.dt_bias"},
                                                                       {"blk.#.ssm_norm.*", "backbone.layers.#.mixer.norm.*"}},
                                                             .forms = forms}),
                                      .geometries = geometries,
                                      .present = with_backbone_names});
}

}  // namespace

Entry entry() {
  return {.name = "mamba2", .summary = "Mamba 2: text to text, state spaces whose heads decay as a whole", .task = family()};
}

}  // namespace hearth::models::mamba2
