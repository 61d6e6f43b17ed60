// The multimodal diffusion transformer of Stable Diffusion 3 and 3.5 (Esser et al. 2024, arXiv 2403.03206), after SD3Transformer2DModel of
// diffusers 0.39.0: two streams, image and text, with weights of their own, attend to each other in every block.
//
//   x [B, h, w, C] ─ patches + positions ─ image [B, T, W] ┐
//   context [B, L, Ct] ─ context_embedder ── text [B, L, W] ┴ blocks ─ norm_out ─ proj_out ─ velocity [B, h, w, C]
//   timestep, pooled [B, P] ─ two MLPs, added ─ temb [B, W] → shift, scale and gate of every norm and branch
//
// Both streams, temb and everything computed from it alone are f32.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/sd3/config.h"
#include "nn/conditioning.h"
#include "weights/blocks.h"

namespace hearth::models::sd3 {

// Queries, keys and values of one stream, each [B, T, N, D].
struct Heads {
  Tensor q, k, v;
};

// Attention of all heads → [B, T, N · D], stored as that. `like`: a weight whose factors the products have.
Tensor attend(const Heads& heads, const Weight& like, Stored stored);

struct StreamProjections {
  struct Names {
    std::string_view q, k, v, norm_q, norm_k;
  };
  static constexpr Names own{"to_q", "to_k", "to_v", "norm_q", "norm_k"},
      added{"add_q_proj", "add_k_proj", "add_v_proj", "norm_added_q", "norm_added_k"};

  StreamProjections(const Scope& w, const MmditConfig& config, const Names& names);
  Heads operator()(const Tensor& x) const;               // x [B, T, W]
  Stored input() const { return nn::read_by(q, k, v); }  // of x

  nn::Linear q, k, v;
  std::optional<nn::RmsNorm> norm_q, norm_k;  // [D], eps 1e-6
  int64_t heads, head_size;
};

// W₂ gelu_tanh(W₁ x).   x [B, T, W] → gate · y + residual [B, T, W]
struct MmditMlp {
  MmditMlp(const Scope& w, int64_t width);
  Tensor operator()(const Tensor& x, const Tensor& gate, const Tensor& residual) const;
  Stored input() const { return nn::read_by(proj); }  // of x

  nn::Linear proj, out;  // net.0.proj [4W, W], net.2
};

struct JointStreams {
  Tensor image, text;  // [B, T, W], [B, L, W]; the last block returns no text
};

// JointTransformerBlock. A transformer's last block, whose text stream only provides keys, values and queries, is `last`.
struct JointBlock {
  JointBlock(const Scope& w, const MmditConfig& config, int64_t layer, bool last);
  // temb [B, W]: activated.
  JointStreams operator()(const JointStreams& x, const Tensor& temb) const;

  // Modulations, from temb. norm1: shift, scale and gate of the attention, the same of the MLP, and in a block with dual attention the same
  // of the second attention. norm1_context: the first six, or in the last block scale and shift.
  nn::Modulation norm1, norm1_context;
  StreamProjections image, text;          // attn
  nn::Linear to_out;                      // attn.to_out.0
  std::optional<nn::Linear> to_add_out;   // attn.to_add_out; not in the last block
  std::optional<StreamProjections> dual;  // attn2, of the image alone
  std::optional<nn::Linear> dual_out;     // attn2.to_out.0
  MmditMlp ff;
  std::optional<MmditMlp> ff_context;  // not in the last block
  std::string path;
};

// Latents as tokens: PatchEmbed. x [B, h, w, C], sides multiples of the patch → [B, T, W] in rows of patches.
struct PatchEmbed {
  // `side`: of the position table, in tokens; 0 without a table.
  PatchEmbed(const Scope& w, int64_t channels, int64_t width, int64_t patch, int64_t side);
  // The table is cropped around its center. ShapeError for other channels, and for sides that do not fit.
  Tensor operator()(const Tensor& x) const;

  nn::Conv2d proj;   // kernel and stride `patch`
  Tensor positions;  // pos_embed [1, side², W], in the stored dtype
  int64_t channels, width, patch, side;
  std::string path;
};

// timesteps: one for all, or one per image, 0 … 1000 (σ · 1000); pooled [B, P] → [B, W], activated: every use of it starts with this
// activation, so it is computed once.
struct TimeTextEmbed {
  TimeTextEmbed(const Scope& w, const MmditConfig& config);
  Tensor operator()(std::span<const float> timesteps, const Tensor& pooled) const;

  nn::EmbeddingMlp timestep_embedder, text_embedder;
  int64_t pooled_width;
  std::string path;
};

// What control networks add to the image stream: the tensors [B, T, W] of each list are spread evenly over the blocks, and added after
// each block but the last.
using AddedAfterBlocks = std::vector<std::vector<Tensor>>;

// Skip-layer guidance: the last `images` of a batch skip some blocks.
struct SkippedLayers {
  std::vector<int64_t> layers;  // ascending
  int64_t images = 0;
};

struct Mmdit {
  Mmdit(const Scope& w, const MmditConfig& config);

  // x [B, h, w, in_channels], sides multiples of the patch; timesteps and pooled [B, pooled_width]: TimeTextEmbed;
  // context [B, L, text_width] → [B, h, w, out_channels]. ShapeError if the shapes do not match, or if a side exceeds the position table.
  // Taps: "pos_embed", "time_text_embed", "context_embedder", "transformer_blocks.i" and, of its text, "transformer_blocks.i.text",
  // "norm_out".
  Tensor operator()(const Tensor& x, std::span<const float> timesteps, const Tensor& context, const Tensor& pooled,
                    const SkippedLayers& skipped = {}, const AddedAfterBlocks& added = {}) const;

  MmditConfig config;
  PatchEmbed pos_embed;
  TimeTextEmbed time_text_embed;
  nn::Linear context_embedder;
  Blocks<JointBlock> blocks;  // transformer_blocks.i
  nn::Modulation norm_out;    // scale and shift
  nn::Linear proj_out;
};

// ShapeError unless context is [B, L, text_width].
void check_context(const MmditConfig& config, const Tensor& context, int64_t B);

}  // namespace hearth::models::sd3
