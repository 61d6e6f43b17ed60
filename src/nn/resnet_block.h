// The residual block of the Stable Diffusion UNet and VAE (diffusers' ResnetBlock2D with `default` time shift).
#pragma once

#include <optional>

#include "core/observe.h"
#include "nn/layers.h"

namespace hearth::nn {

struct ResnetSpec {
  int64_t groups = 32;
  float eps = 1e-5f;  // UNet: norm_eps of its config; VAE: 1e-6
  Activation activation = Activation::silu;
  int64_t temb = 0;        // width of the time embedding; 0 = none
  float output_scale = 1;  // divisor of the sum
};

// h = conv1(act(norm1(x))) + time_emb_proj(temb);   y = (conv2(act(norm2(h))) + x) / output_scale
// x [B, H, W, in], temb [B, spec.temb] already activated, or undefined if spec.temb is 0 → [B, H, W, out].
struct ResnetBlock {
  ResnetBlock(const Scope& w, int64_t in, int64_t out, const ResnetSpec& s)
      : norm1(w / "norm1", s.groups, in, s.eps),
        conv1(w / "conv1", in, out, 3, ConvSpec::same(3)),
        norm2(w / "norm2", s.groups, out, s.eps),
        conv2(w / "conv2", out, out, 3, ConvSpec::same(3)),
        spec(s),
        path(w.path()) {
    if (s.temb) time_emb_proj.emplace((w / "time_emb_proj").exact(), s.temb, out);
    if (in != out) conv_shortcut.emplace(w / "conv_shortcut", in, out, 1);
  }

  Tensor operator()(Tensor x, const Tensor& temb = {}) const {
    const BlockScope block(path);
    const Tensor h =
        conv1(x, {.per_image = time_emb_proj ? (*time_emb_proj)(temb) : Tensor(), .stored = Stored::inner}, norm1.input(spec.activation));
    if (conv_shortcut) x = (*conv_shortcut)(x);  // frees the memory of an x that was moved in
    Tensor y = conv2(h, {.residual = x}, norm2.input(spec.activation));
    if (spec.output_scale != 1) y = ops::linear_combination({y}, {1 / spec.output_scale});
    tap(path, y);
    return y;
  }

  GroupNorm norm1;
  Conv2d conv1;
  std::optional<Linear> time_emb_proj;
  GroupNorm norm2;
  Conv2d conv2;
  std::optional<Conv2d> conv_shortcut;  // only if the width changes
  ResnetSpec spec;
  std::string path;
};

}  // namespace hearth::nn
