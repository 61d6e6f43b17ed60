#include "models/backbone_family.h"
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

LanguageFamily family() {
  using Kind = GgufKey::Kind;
  return decoder_family<read_config>(
      {.model_types = {"mamba", "falcon_mamba"},
       .class_name = "MambaForCausalLM",
       .sizes = sizes,
       .gguf = backbone_gguf(
           {.name = "mamba",
            .keys = {{.key = "ssm.inner_size", .config = "intermediate_size"},
                     {.key = "ssm.time_step_rank", .config = "time_step_rank"},
                     {.key = "ssm.dt_b_c_rms", .config = "parameter_norms", .kind = Kind::flag, .optional = true},
                     {.config = "mixer_rms_eps", .kind = Kind::implied, .implied = [](const Config&) { return std::string("1e-06"); }}},
            .names = {{"blk.#.ssm_x.*", "backbone.layers.#.mixer.x_proj.*"}, {"blk.#.ssm_dt.*", "backbone.layers.#.mixer.dt_proj.*"}},
            .forms = forms}),
       .geometries = geometries,
       .present = with_backbone_names});
}

}  // namespace

Entry entry() {
  return {.name = "mamba", .summary = "Mamba and Falcon Mamba: text to text, a selective state space of constant size", .task = family()};
}

}  // namespace hearth::models::mamba
