// A layer of the encoders of transformers' CLIP and SigLIP: norms in front, projections with biases, an MLP of two linear layers.
#pragma once

#include <cmath>

#include "core/observe.h"
#include "nn/layers.h"

namespace hearth::nn {

struct EncoderLayerSpec {
  int64_t width, heads, mlp_width;
  Activation activation;
  float eps;
  Mask mask = Mask::none;
};

// h = x + out_proj(attention(layer_norm1(x)));   y = h + fc2(act(fc1(layer_norm2(h)))).   x [B, T, C] → [B, T, C]
struct EncoderLayer {
  EncoderLayer(const Scope& w, const EncoderLayerSpec& s)
      : layer_norm1(w / "layer_norm1", s.width, s.eps),
        q_proj(w / "self_attn" / "q_proj", s.width, s.width),
        k_proj(w / "self_attn" / "k_proj", s.width, s.width),
        v_proj(w / "self_attn" / "v_proj", s.width, s.width),
        out_proj(w / "self_attn" / "out_proj", s.width, s.width),
        layer_norm2(w / "layer_norm2", s.width, s.eps),
        fc1(w / "mlp" / "fc1", s.width, s.mlp_width),
        fc2(w / "mlp" / "fc2", s.mlp_width, s.width),
        spec(s),
        path(w.path()) {}

  // key_lengths: as AttentionSpec's.
  Tensor operator()(const Tensor& x, const std::vector<int64_t>& key_lengths = {}) const {
    const BlockScope scope(path);
    const Tensor h = attention(layer_norm1(x, read_by(q_proj, k_proj, v_proj)), x, key_lengths);
    const Tensor y = fc2(fc1(layer_norm2(h, read_by(fc1)), {.activation = spec.activation, .stored = read_by(fc2)}), {.residual = h});
    tap(path, y);
    return y;
  }

  Tensor attention(const Tensor& x, const Tensor& residual, const std::vector<int64_t>& key_lengths) const {
    const auto [B, T, C] = x.dims<3>();
    const int64_t N = spec.heads, D = C / N;
    const Shape split{B, T, N, D};
    const AttentionSpec how{.scale = 1.0f / std::sqrt(float(D)),
                            .mask = spec.mask,
                            .factors = q_proj.weight.form.factors,
                            .key_lengths = key_lengths,
                            .stored = read_by(out_proj)};
    const Epilogue queries = inside(queries_of(how.factors, how.scale)), keys = inside(keys_of(how.factors));
    const Tensor y = ops::attention(q_proj(x, queries).view(split), k_proj(x, keys).view(split), v_proj(x, keys).view(split), how);
    return out_proj(y.view({B, T, C}), {.residual = residual});
  }

  LayerNorm layer_norm1;
  Linear q_proj, k_proj, v_proj, out_proj;  // self_attn.…
  LayerNorm layer_norm2;
  Linear fc1, fc2;  // mlp.…
  EncoderLayerSpec spec;
  std::string path;
};

}  // namespace hearth::nn
