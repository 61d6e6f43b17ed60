// A decoder-only network that differs from parts::Decoder: learned positions, LayerNorm, and parallel attention and MLP on one
// normalized input:  x' = x + attention(norm(x)) + mlp(norm(x))
#pragma once

#include <span>

#include "core/files/config.h"
#include "nn/kv_pages.h"
#include "nn/layers.h"

namespace hearth::models::mock_parallel {

struct NetworkConfig {
  int64_t vocabulary, positions, width, inner, layers, heads;
  float eps;

  // Every key is read or rejected; sizes have no defaults except two of a small class.
  static NetworkConfig from(const Config& config);
};

// x [T, C] at positions first … first + T − 1 → [T, C]
struct Block {
  Block(const Scope& w, const NetworkConfig& config);
  Tensor operator()(const Tensor& x, nn::KvPages& keys, const nn::PageTable& table, int64_t first) const;

  nn::LayerNorm norm;
  nn::Linear query, key, value, dense;  // [C, C]
  nn::Linear wide, narrow;              // [I, C], [C, I]
  int64_t heads;
};

// The keys and values of a text, in one page.
struct Cache {
  std::shared_ptr<nn::PageTable> table;
  std::vector<nn::KvPages> layers;
};

struct Network {
  Network(const Scope& w, const NetworkConfig& config);

  Cache cache(int64_t context, DType type) const;
  // The tokens at positions first … first + T − 1 → logits [T, V] after each.
  Tensor operator()(std::span<const int32_t> ids, Cache& cache, int64_t first) const;

  NetworkConfig config;
  nn::Embedding words, places;
  std::vector<Block> blocks;
  nn::LayerNorm norm;
  nn::Linear head;
};

}  // namespace hearth::models::mock_parallel
