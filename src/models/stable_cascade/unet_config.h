// The config.json of the networks of Stable Cascade's stages C and B (StableCascadeUNet of diffusers 0.39.0).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/files/config.h"

namespace hearth::models::stable_cascade {

enum class BlockKind { residual, timestep, attention };

struct UnetConfig {
  // Of a level, from the finest to the coarsest.
  struct Level {
    int64_t channels = 2048, heads = 32;
    std::vector<BlockKind> blocks{BlockKind::residual, BlockKind::timestep, BlockKind::attention};  // of a layer
    int64_t down_layers = 8, up_layers = 8;  // down_num_layers_per_block, up_num_layers_per_block
    int64_t down_runs = 1, up_runs = 1;      // …_blocks_repeat_mappers: how often all layers run, with a 1×1 convolution in between
    bool attends_to_itself = true;           // self_attn
    bool operator==(const Level&) const = default;
  };

  int64_t in_channels = 16, out_channels = 16;
  int64_t patch = 1;                                  // patch_size: latent pixels per position, each way
  int64_t time = 64;                                  // timestep_ratio_embedding_dim
  std::vector<std::string> conditions{"sca", "crp"};  // timestep_conditioning_type: further embeddings, always of 0
  int64_t width = 2048;                               // conditioning_dim: of the rows that the attention reads
  int64_t rows = 4;                                   // clip_seq: of a vector
  int64_t pooled = 1280, text = 0, image = 0;         // widths of the text's vector, its states, and images' vectors; 0: no input
  int64_t features = 0;                               // effnet_in_channels: of the latents of another network; 0: no input
  int64_t pixels = 0;                                 // pixel_mapper_in_channels: of an image, always of zeros; 0: no input
  int64_t kernel = 3;                                 // of the residual blocks
  std::vector<Level> levels{{.up_layers = 8}, {.down_layers = 24, .up_layers = 24}};
  // switch_level: between a level and the next, whether the size is halved. Absent: it is, by convolutions.
  std::optional<std::vector<bool>> halves;

  // Reads every key. UnsupportedError names a key whose value would change the result and is not supported; WeightError names one that
  // contradicts another.
  static UnetConfig from(const Config& config);

  bool operator==(const UnetConfig&) const = default;
};

}  // namespace hearth::models::stable_cascade
