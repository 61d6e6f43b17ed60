#include "models/sana/autoencoder_files.h"

#include <array>
#include <nlohmann/json.hpp>

namespace hearth::models::sana {
namespace {

constexpr std::array<NameRule, 2> official{{{"encoder.**", "encoder.**"}, {"decoder.**", "decoder.**"}}};

const NameMap& official_map() {
  static const NameMap map{{"", "", official}};
  return map;
}

// One of the three parts of rows of a 1×1 kernel.
constexpr Form third_of_kernel(uint8_t first) { return {Form::Kind::kernel, first, uint8_t(first + 1), 3}; }

// The authors' names (mit-han-lab/efficientvit): residual blocks have a "main" path, sequences an "op_list".
constexpr std::array<NameRule, 17> block{{
    {"#.op_list.#.main.conv1.conv.*", "#.#.conv1.*"},
    {"#.op_list.#.main.conv2.conv.*", "#.#.conv2.*"},
    {"#.op_list.#.main.conv2.norm.*", "#.#.norm.*"},
    {"#.op_list.#.context_module.main.qkv.conv.weight", "#.#.attn.to_q.weight", third_of_kernel(0)},
    {"#.op_list.#.context_module.main.qkv.conv.weight", "#.#.attn.to_k.weight", third_of_kernel(1)},
    {"#.op_list.#.context_module.main.qkv.conv.weight", "#.#.attn.to_v.weight", third_of_kernel(2)},
    {"#.op_list.#.context_module.main.aggreg.#.0.weight", "#.#.attn.to_qkv_multiscale.#.proj_in.weight"},
    {"#.op_list.#.context_module.main.aggreg.#.1.weight", "#.#.attn.to_qkv_multiscale.#.proj_out.weight"},
    {"#.op_list.#.context_module.main.proj.conv.weight", "#.#.attn.to_out.weight", form::kernel},
    {"#.op_list.#.context_module.main.proj.norm.*", "#.#.attn.norm_out.*"},
    {"#.op_list.#.local_module.main.inverted_conv.conv.weight", "#.#.conv_out.conv_inverted.weight"},
    {"#.op_list.#.local_module.main.inverted_conv.conv.bias", "#.#.conv_out.conv_inverted.bias"},
    {"#.op_list.#.local_module.main.depth_conv.conv.weight", "#.#.conv_out.conv_depth.weight"},
    {"#.op_list.#.local_module.main.depth_conv.conv.bias", "#.#.conv_out.conv_depth.bias"},
    {"#.op_list.#.local_module.main.point_conv.conv.weight", "#.#.conv_out.conv_point.weight"},
    {"#.op_list.#.local_module.main.point_conv.norm.weight", "#.#.conv_out.norm.weight"},
    {"#.op_list.#.local_module.main.point_conv.norm.bias", "#.#.conv_out.norm.bias"},
}};
constexpr std::array<NameRule, 1> down{{{"#.op_list.#.main.conv.*", "#.#.conv.*"}}}, up{{{"#.op_list.#.main.conv.conv.*", "#.#.conv.*"}}};
constexpr std::array<NameRule, 5> ends{{
    {"encoder.project_in.conv.*", "encoder.conv_in.*"},
    {"encoder.project_out.main.op_list.0.conv.*", "encoder.conv_out.*"},
    {"decoder.project_in.main.conv.*", "decoder.conv_in.*"},
    {"decoder.project_out.op_list.0.*", "decoder.norm_out.*"},
    {"decoder.project_out.op_list.2.conv.*", "decoder.conv_out.*"},
}};

const NameMap& original_map() {
  static const NameMap map{{"encoder.stages", "encoder.down_blocks", block},
                           {"encoder.stages", "encoder.down_blocks", down},
                           {"decoder.stages", "decoder.up_blocks", block},
                           {"decoder.stages", "decoder.up_blocks", up},
                           {"", "", ends}};
  return map;
}

}  // namespace

const NetworkFiles autoencoder_files{
    .classes = {"AutoencoderDC"},
    .spellings = {{.name = "original",
                   .marks = {"encoder.project_in.conv.weight", "encoder.project_out.main.op_list.0.conv.weight",
                             "decoder.project_in.main.conv.weight", "decoder.stages.0.op_list.0.main.conv.conv.weight",
                             "decoder.project_out.op_list.0.weight"},
                   .reading = [](const TensorList&, const nlohmann::json&) { return original_map(); },
                   .writing = [](const TensorList&) { return original_map(); }},
                  {.name = "diffusers",
                   .marks = {"encoder.conv_out.weight", "decoder.conv_in.weight", "decoder.up_blocks.0.0.conv.weight",
                             "decoder.norm_out.weight"},
                   .writing = [](const TensorList&) { return official_map(); }}},
};

}  // namespace hearth::models::sana
