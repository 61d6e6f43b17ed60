// The encoder of BERT (Devlin et al. 2019, arXiv 1810.04805), after transformers' BertModel without its pooler.
#pragma once

#include <vector>

#include "nn/layers.h"
#include "parts/bert/config.h"
#include "weights/blocks.h"

namespace hearth::parts {

// h = norm(x + attention(x));   y = norm(h + mlp(h)).   x [B, T, C] → [B, T, C]
struct BertLayer {
  BertLayer(const Scope& w, const BertConfig& config);
  Tensor operator()(const Tensor& x, const std::vector<int64_t>& lengths) const;

  nn::Linear query, key, value;  // attention.self.…
  nn::Linear attended;           // attention.output.dense
  nn::LayerNorm attention_norm;  // attention.output.LayerNorm
  nn::Linear intermediate;       // intermediate.dense [F, C]
  nn::Linear output;             // output.dense [C, F]
  nn::LayerNorm output_norm;     // output.LayerNorm
  BertConfig config;
  std::string path;
};

struct BertModel {
  BertModel(const Scope& w, const BertConfig& config);

  // ids: B rows of T tokens each → f32 [B, T, C]. Every row attends to all T tokens, including padding, or only to the first lengths[b]
  // ones; the rows of the other tokens are computed, too. All tokens are of type 0.
  // ShapeError for a ragged count of tokens or lengths, or more tokens than positions; UsageError for an id outside the vocabulary.
  Tensor operator()(const std::vector<std::vector<int32_t>>& ids, const std::vector<int64_t>& lengths = {}) const;

  BertConfig config;
  nn::Embedding words, positions, token_types;  // embeddings.word_embeddings, position_embeddings, token_type_embeddings
  nn::LayerNorm norm;                           // embeddings.LayerNorm
  Blocks<BertLayer> layers;                     // encoder.layer.i
};

}  // namespace hearth::parts
