// The sizes of a control network of Z-Image (ZImageControlNetModel of diffusers 0.39.0), from its config.json or from its tensors: the
// published single files have none.
#pragma once

#include "models/z_image/transformer_config.h"
#include "weights/weights.h"

namespace hearth::models::z_image {

// What refines the tokens of the control image ahead of the layers (add_control_noise_refiner).
enum class ControlRefiner {
  blocks,          // null, version 1: blocks like the transformer's
  control_layers,  // version 2.0: the layers themselves, once more
  control_blocks,  // "control_noise_refiner", version 2.1: control blocks
};

struct ControlNetConfig {
  TransformerConfig transformer;        // the model's, which shares its refiners, its embeddings and its padding with the network
  TransformerConfig blocks;             // of the network's own blocks; refiner_layers: of its own refiner
  int64_t channels = 0;                 // control_in_dim: of what it sees
  std::vector<int64_t> places;          // control_layers_places: the layers after which it adds, one for each layer of its own
  std::vector<int64_t> refiner_places;  // control_refiner_layers_places: the same of the noise refiner
  ControlRefiner refiner = ControlRefiner::blocks;

  // Whether it sees a mask and an image beside the control image.
  bool fills() const { return channels > transformer.channels; }

  // `model`: of the transformer that it is used with. UnsupportedError names a key whose value is not supported; WeightError names one that
  // contradicts another, or the model.
  static ControlNetConfig from(const Config& config, const TransformerConfig& model);
  // Of a file without a config.json: its layers are spread evenly; the values of one tensor tell version 2.1 from 2.0. WeightError for
  // tensors of another transformer.
  static ControlNetConfig of_tensors(const TensorSource& official, const TransformerConfig& model);

  bool operator==(const ControlNetConfig&) const = default;
};

}  // namespace hearth::models::z_image
