#include "models/z_image/controlnet_files.h"

#include "models/slots.h"

namespace hearth::models::z_image {

const NetworkFiles controlnet_files{
    .classes = {"ZImageControlNetModel"},
    .spellings = {{.name = "diffusers",
                   .marks = {"control_all_x_embedder.2-1.weight", "control_layers.0.before_proj.weight",
                             "control_layers.0.after_proj.weight", "control_layers.0.attention.to_q.weight"}}},
    .ignored = {"control_noise_refiner.*"},  // of version 2.0, whose layers refine
};

std::vector<NetworkPlace> control_places() { return {{"", &controlnet_files, &slots::control}}; }

Signature control_signature() {
  return {.part = "control",
          .what = "control network of Z-Image",
          .layout = "diffusers",
          .prefixes = {""},
          .present = {{"control_all_x_embedder.2-1.weight", {}},
                      {"control_layers.0.before_proj.weight", {}},
                      {"control_layers.0.attention.to_q.weight", {}}},
          .absent = {"all_x_embedder.2-1.weight"}};
}

}  // namespace hearth::models::z_image
