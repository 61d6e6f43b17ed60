// The config.json of a Hunyuan-DiT transformer (HunyuanDiT2DModel of diffusers 0.39.0).
#pragma once

#include "core/files/config.h"

namespace hearth::models::hunyuan_dit {

struct TransformerConfig {
  int64_t sample_size = 32;                         // side of the training latents
  int64_t patch = 2;                                // patch_size: latent pixels per token, each way
  int64_t in_channels = 4;                          // of latents; the network outputs twice as many, for the variance that it learned
  int64_t layers = 28, heads = 16, head_size = 88;  // num_layers, num_attention_heads, attention_head_dim
  double mlp_ratio = 4;                             // the MLP's width is ⌊mlp_ratio · width⌋
  int64_t text = 1024, text_rows = 77;              // cross_attention_dim, text_len: of the first text encoder
  int64_t t5 = 2048, t5_rows = 256;                 // cross_attention_dim_t5, text_len_t5: of the second one
  int64_t pooled = 1024;                            // pooled_projection_dim
  bool conditions = true;                           // use_style_cond_and_image_meta_size: sizes and a style are inputs

  int64_t width() const { return heads * head_size; }
  int64_t skips() const { return layers / 2 - 1; }  // blocks of the first half whose output those of the second read
  int64_t mlp_width() const { return int64_t(double(width()) * mlp_ratio); }

  // Reads every key. UnsupportedError names a key whose value would change the result and is not supported; WeightError names one that
  // contradicts another.
  static TransformerConfig from(const Config& config);
  // The same of a control network (HunyuanDiT2DControlNetModel): the transformer that it is for.
  static TransformerConfig of_control(const Config& config);

  bool operator==(const TransformerConfig&) const = default;
};

}  // namespace hearth::models::hunyuan_dit
