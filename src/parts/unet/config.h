// All keys of a UNet2DConditionModel's config.json, as one entry per resolution level.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "core/backend.h"
#include "core/files/config.h"

namespace hearth::parts {

struct UnetConfig {
  struct Level {  // level 0 has the full resolution; each further level halves it
    int64_t channels = 0;
    int64_t layers = 2;                             // residual blocks in the down path; one more in the up path
    int64_t heads = 8;                              // `attention_head_dim` of the file, which means the number of heads
    bool only_cross_attention = false;              // the first attention of each block attends to the context, too
    bool attends_down = false, attends_up = false;  // CrossAttnDownBlock2D, CrossAttnUpBlock2D
    std::vector<int64_t> depths_down;               // transformer blocks after each residual block; `layers` entries if it attends
    std::vector<int64_t> depths_up;                 // the same in the up path; layers + 1 entries
    bool operator==(const Level&) const = default;
  };
  enum class Mid { none, resnet, cross_attention };  // null, UNetMidBlock2D, UNetMidBlock2DCrossAttn

  int64_t in_channels = 4, out_channels = 4;
  std::optional<std::array<int64_t, 2>> sample_size;  // [height, width] of the latents it was trained on; not used here
  bool center_input_sample = false;                   // x → 2x − 1 first
  int64_t conv_in_kernel = 3, conv_out_kernel = 3;

  bool cosine_first = true;                             // flip_sin_to_cos
  float frequency_shift = 0;                            // freq_shift
  int64_t temb = 0;                                     // width of the time embedding
  Activation timestep_post_act = Activation::none;      // after the time embedding's second linear
  Activation time_embedding_act_fn = Activation::none;  // once more, before the blocks

  int64_t guidance = 0;       // time_cond_proj_dim: width of a guidance scale's embedding, added to the timestep's; 0 = none
  int64_t added = 0;          // addition_embed_type text_time: width of pooled text and sizes together; 0 = none
  int64_t added_of_size = 0;  // addition_time_embed_dim: of it, the width of each size's sinusoid

  std::vector<Level> levels;
  Mid mid = Mid::cross_attention;
  int64_t mid_depth = 1;             // its transformer blocks; heads are those of the last level
  float mid_block_scale_factor = 1;  // sums of the mid block's residual blocks are divided by it
  int64_t context = 0;               // width of the text states; 0 if nothing attends to them

  Activation activation = Activation::silu;  // act_fn: residual blocks, time embedding and output
  int64_t groups = 32;                       // norm_num_groups, everywhere
  float eps = 1e-5f;                         // norm_eps: residual blocks and output; the transformers' group norm has 1e-6
  bool linear_projection = false;            // transformers' proj_in and proj_out: matrix instead of 1×1 convolution
  int64_t downsample_padding = 1;            // 1 = all around; 0 = below and right only

  // Reads every key. UnsupportedError names a key whose value would change the result and is not supported; WeightError names
  // one that contradicts another.
  static UnetConfig from(const Config& config);

  // Width of the text's share of `added` next to the given number of sizes; less than 1 if they do not fit.
  int64_t pooled_width(int64_t sizes) const { return added - sizes * added_of_size; }

  enum class Blocks { mid, down, up };
  bool attends_to_itself(Blocks blocks) const;  // whether any of these blocks has self-attention

  // Channels of each cross-attention: those of the down blocks, the up blocks and the middle block, in the order of the checkpoint.
  std::vector<int64_t> cross_attentions() const;
  // The number in that list of the first cross-attention of a down block, of an up block (0: the last level's), of the middle block.
  int64_t first_cross_attention(Blocks blocks, size_t block = 0) const;

  bool operator==(const UnetConfig&) const = default;
};

}  // namespace hearth::parts
