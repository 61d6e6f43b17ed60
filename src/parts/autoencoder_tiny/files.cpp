#include "parts/autoencoder_tiny/files.h"

#include <array>
#include <nlohmann/json.hpp>

namespace hearth::parts {
namespace {

constexpr std::array<NameRule, 1> layer{{{"**", "**"}}};

NameMap decoder_of_numbers(const TensorList&, const nlohmann::json&) {
  NameMap map;
  for (int at = 1; at <= 19; ++at) map.push_back({std::to_string(at), fmt::format("decoder.layers.{}", at - 1), layer});
  return map;
}

// The published networks differ in their latents: TAESD and TAESDXL have 4 channels, TAESD3 and TAEF1 16.
std::optional<std::string> published_config(const TensorList& official) {
  const auto first = official.find("decoder.layers.0.weight");
  const bool is_kernel = first != official.end() && first->second.shape.rank() == 4;
  return fmt::format(R"({{"latent_channels": {}}})", is_kernel ? first->second.shape[1] : 4);
}

}  // namespace

const NetworkFiles autoencoder_tiny_files{
    .classes = {"AutoencoderTiny"},
    .spellings = {{.name = "diffusers",
                   .marks = {"decoder.layers.0.weight", "decoder.layers.2.conv.0.weight", "decoder.layers.2.conv.4.weight"}},
                  {.name = "numbers", .marks = {"1.weight", "3.conv.0.weight", "3.conv.4.weight"}, .reading = decoder_of_numbers}},
    .encoder = "encoder.",
    .standard_config = published_config,
};

}  // namespace hearth::parts
