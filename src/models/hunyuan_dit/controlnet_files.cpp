#include "models/hunyuan_dit/controlnet_files.h"

#include <array>
#include <nlohmann/json.hpp>

#include "models/hunyuan_dit/transformer_files.h"
#include "models/slots.h"

namespace hearth::models::hunyuan_dit {
namespace {

constexpr std::array<NameRule, 2> of_control{{
    {"before_proj.*", "input_block.*"},
    {"after_proj_list.#.*", "controlnet_blocks.#.*"},
}};

NameMap names_of_authors(const TensorList&, const nlohmann::json&) {
  NameMap map = original_names();
  map.push_back({"", "", of_control});
  return map;
}

}  // namespace

const NetworkFiles controlnet_files{
    .classes = {"HunyuanDiT2DControlNetModel"},
    .spellings = {{.name = "original",
                   .marks = {"after_proj_list.0.weight", "before_proj.weight", "blocks.0.attn1.Wqkv.weight", "mlp_t5.0.weight"},
                   .reading = names_of_authors},
                  {.name = "diffusers",
                   .marks = {"controlnet_blocks.0.weight", "input_block.weight", "blocks.0.attn1.to_q.weight",
                             "text_embedder.linear_1.weight"}}},
};

std::vector<NetworkPlace> control_places() { return {{"", &controlnet_files, &slots::control}}; }

std::vector<Signature> control_signatures() {
  const auto signature = [](std::string_view layout, std::vector<Signature::Needed> present) {
    return Signature{.part = "control",
                     .what = "ControlNet of Hunyuan-DiT",
                     .layout = layout,
                     .prefixes = {""},
                     .present = std::move(present),
                     .absent = {}};
  };
  return {signature("original", {{"after_proj_list.0.weight", {}}, {"before_proj.weight", {}}, {"mlp_t5.0.weight", {}}}),
          signature("diffusers",
                    {{"controlnet_blocks.0.weight", {}}, {"input_block.weight", {}}, {"time_extra_emb.pooler.k_proj.weight", {}}})};
}

}  // namespace hearth::models::hunyuan_dit
