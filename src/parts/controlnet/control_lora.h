// Control-LoRA (Stability AI 2023): a ControlNet stored as what distinguishes it from the UNet that it was trained on. Whole tensors of the
// file replace the UNet's; a pair `up` [N, r, …], `down` [r, K, …] is added to the UNet's weight. After ComfyUI's ControlLora.
#pragma once

#include "weights/layout/name_map.h"
#include "weights/weights.h"

namespace hearth::parts {

// The tensors of the whole ControlNet, in f32 where they are sums. `lora`: the file's under official names ("conv_in.up"); `unet`: the
// model's. WeightError if the file and the UNet do not fit; UnsupportedError if the UNet's weights are quantized.
std::shared_ptr<TensorSource> completed_control_lora(std::shared_ptr<TensorSource> lora, std::shared_ptr<TensorSource> unet);

}  // namespace hearth::parts
