#include "models/decoder_family.h"

#include <algorithm>
#include <iterator>

namespace hearth::models {
namespace {

using Kind = GgufKey::Kind;

constexpr LanguageSize sizes[] = {
    {"vocab_size", "model.embed_tokens.weight", 0},
    {"hidden_size", "model.embed_tokens.weight", 1},
    {"intermediate_size", "model.layers.0.mlp.gate_proj.weight", 0},
    {"num_hidden_layers", "model.layers.#.input_layernorm.weight"},
    {"num_attention_heads", "model.layers.0.self_attn.q_proj.weight", 0, "head_dim"},
    {"num_key_value_heads", "model.layers.0.self_attn.k_proj.weight", 0, "head_dim"},
    {"head_dim", "model.layers.0.self_attn.q_proj.weight", 0, "num_attention_heads"},
};

double heads(const GgufKeys& keys) { return double(keys.integer("attention.head_count")); }
double head_size(const GgufKeys& keys) { return double(keys.integer("embedding_length") / keys.integer("attention.head_count")); }
double usual_base(const GgufKeys&) { return 10000; }

// The rows before and after the family's own.
constexpr GgufKey sizes_first[] = {
    {.key = "context_length", .config = "max_position_embeddings"},
    {.key = "embedding_length", .config = "hidden_size"},
    {.key = "block_count", .config = "num_hidden_layers"},
    {.key = "feed_forward_length", .config = "intermediate_size"},
    {.key = "attention.head_count", .config = "num_attention_heads"},
    {.key = "attention.head_count_kv", .config = "num_key_value_heads", .otherwise = heads},
    {.key = "attention.key_length", .config = "head_dim", .otherwise = head_size},
    {.key = "attention.value_length", .config = "head_dim"},
    {.key = "attention.layer_norm_rms_epsilon", .config = "rms_norm_eps", .kind = Kind::number},
    {.key = "attention.layer_norm_epsilon", .kind = Kind::nothing},
    {.key = "vocab_size", .config = "vocab_size", .kind = Kind::rows, .tensor = "token_embd.weight"},
    {.config = "tie_word_embeddings", .kind = Kind::lacking, .tensor = "output.weight"},
};
constexpr GgufKey positions_last[] = {
    {.key = "rope.dimension_count", .config = "head_dim"},
    {.key = "rope.freq_base", .config = "rope_theta", .kind = Kind::number, .otherwise = usual_base},
    {.config = "rope_scaling", .kind = Kind::rope_scaling},
    {.config = "rope_divisors", .kind = Kind::divisors, .tensor = "rope_freqs.weight"},
};

constexpr Alias names[] = {
    {"token_embd.weight", "model.embed_tokens.weight"},
    {"output_norm.weight", "model.norm.weight"},
    {"output.weight", "lm_head.weight"},
    {"blk.#.attn_norm.*", "model.layers.#.input_layernorm.*"},
    {"blk.#.attn_q.*", "model.layers.#.self_attn.q_proj.*"},
    {"blk.#.attn_k.*", "model.layers.#.self_attn.k_proj.*"},
    {"blk.#.attn_v.*", "model.layers.#.self_attn.v_proj.*"},
    {"blk.#.attn_output.*", "model.layers.#.self_attn.o_proj.*"},
    {"blk.#.attn_q_norm.*", "model.layers.#.self_attn.q_norm.*"},
    {"blk.#.attn_k_norm.*", "model.layers.#.self_attn.k_norm.*"},
    {"blk.#.ffn_norm.*", "model.layers.#.post_attention_layernorm.*"},
    {"blk.#.ffn_gate.*", "model.layers.#.mlp.gate_proj.*"},
    {"blk.#.ffn_up.*", "model.layers.#.mlp.up_proj.*"},
    {"blk.#.ffn_down.*", "model.layers.#.mlp.down_proj.*"},
};

// All elements of a head must be rotated, and values must be as wide as keys.
void check_heads(const GgufKeys& keys) {
  check_partial_heads(keys);
  const int64_t width = keys.integer("embedding_length"), count = keys.integer("attention.head_count");
  const int64_t head = keys.integer("attention.key_length", width / count), value = keys.integer("attention.value_length", head),
                turned = keys.integer("rope.dimension_count", head);
  if (value != head || turned != head)
    fail<UnsupportedError>("{}: head sizes of {} for keys, {} for values and {} for rotation are not supported, expected equal sizes",
                           keys.where(), head, value, turned);
}

}  // namespace

void check_partial_heads(const GgufKeys& keys) {
  const int64_t width = keys.integer("embedding_length"), count = keys.integer("attention.head_count", 0);
  if (count < 1 || width < 1)
    fail<WeightError>("{}: {} heads with {} values in total, expected at least 1 of each", keys.where(), count, width);
  const int64_t head = keys.integer("attention.key_length", width / count), value = keys.integer("attention.value_length", head);
  if (value != head)
    fail<UnsupportedError>("{}: head sizes of {} for keys and {} for values are not supported, expected equal sizes", keys.where(), head,
                           value);
}

LanguageFamily with_decoder_tables(LanguageFamily f) {
  if (f.sizes.empty()) f.sizes = sizes;
  // A row of the family replaces the shared row with the same key, or with the same key of config.json.
  std::vector<GgufKey>& keys = f.gguf.keys;
  const std::vector<GgufKey> own = keys;
  const auto replaced = [&own](const GgufKey& row) {
    return std::ranges::any_of(own, [&](const GgufKey& o) {
      return (!row.key.empty() && o.key == row.key) || (row.key.empty() && !row.config.empty() && o.config == row.config);
    });
  };
  const auto add = [&](std::span<const GgufKey> rows, bool in_front) {
    std::vector<GgufKey> kept;
    std::ranges::remove_copy_if(rows, std::back_inserter(kept), replaced);
    keys.insert(in_front ? keys.begin() : keys.end(), kept.begin(), kept.end());
  };
  add(sizes_first, true);
  add(positions_last, false);
  // The same for names.
  for (const Alias& alias : names)
    if (std::ranges::none_of(f.gguf.names, [&](const Alias& o) { return o.stored == alias.stored || o.official == alias.official; }))
      f.gguf.names.push_back(alias);
  if (!f.gguf.check) f.gguf.check = check_heads;
  return f;
}

}  // namespace hearth::models
