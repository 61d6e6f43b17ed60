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

}  // namespace

const NetworkFiles autoencoder_files{
    .classes = {"AutoencoderDC"},
    .spellings = {{.name = "diffusers",
                   .marks = {"encoder.conv_out.weight", "decoder.conv_in.weight", "decoder.up_blocks.0.0.conv.weight",
                             "decoder.norm_out.weight"},
                   .writing = [](const TensorList&) { return official_map(); }}},
};

}  // namespace hearth::models::sana
