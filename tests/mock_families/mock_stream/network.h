// The two networks of the family: a text encoder of bytes, and a transformer on one stream of text and image tokens.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "core/files/config.h"
#include "nn/layers.h"
#include "weights/blocks.h"

namespace hearth::models::mock_stream {

struct ByteEncoderConfig {
  int64_t width = 16;
  static ByteEncoderConfig from(const Config& config);
};

struct ByteEncoder {
  ByteEncoder(const Scope& w, const ByteEncoderConfig& config);

  // → [1, L, C], L = number of bytes, at least 1.
  Tensor operator()(std::string_view text) const;

  nn::Embedding bytes;  // [256, C]
  nn::LayerNorm norm;
  nn::Linear out;
};

struct TransformerConfig {
  int64_t channels = 4, text_width = 16, pooled_width = 32, width = 24, heads = 2, layers = 2, sample_size = 8;
  bool reads_references = false;  // latents of reference images as further tokens
  static TransformerConfig from(const Config& config);
};

// h + out(attention(norm(h))), then + mlp.   [1, T, W] → [1, T, W]
struct StreamBlock {
  StreamBlock(const Scope& w, const TransformerConfig& config);
  Tensor operator()(const Tensor& h) const;

  nn::LayerNorm norm1;
  nn::Linear q, k, v, out;
  nn::LayerNorm norm2;
  nn::Linear up, down;
  int64_t heads;
};

struct StreamTransformer {
  StreamTransformer(const Scope& w, const TransformerConfig& config);

  // x [B, h, w, C], text [B, L, Ct] of which lengths[b] rows are valid, pooled [B, P], references [1, h', w', C] each → velocity
  // [B, h, w, C].
  Tensor operator()(const Tensor& x, float timestep, const Tensor& text, std::span<const int64_t> lengths, const Tensor& pooled,
                    std::span<const Tensor> references) const;

  TransformerConfig config;
  nn::Linear embed_x, embed_text, embed_time, embed_pooled;
  Blocks<StreamBlock> blocks;
  nn::LayerNorm norm;
  nn::Linear out;
};

}  // namespace hearth::models::mock_stream
