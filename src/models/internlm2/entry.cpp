#include "models/decoder_family.h"
#include "models/internlm2/config.h"
#include "models/internlm2/groups_apart.h"

namespace hearth::models::internlm2 {
namespace {

constexpr GgufHeads heads[] = {{"model.layers.#.attention.wq.*", "num_attention_heads"},
                               {"model.layers.#.attention.wk.*", "num_key_value_heads"}};

}  // namespace

Entry entry() {
  using Kind = GgufKey::Kind;
  return {
      .name = "internlm2",
      .summary = "InternLM 2 and 2.5: text to text, queries, keys and values of a group side by side",
      .task = decoder_family<read_config>({
          .model_types = {"internlm2"},
          .class_name = "InternLM2ForCausalLM",
          .tokenizer_class = "LlamaTokenizer",
          .own_tokenizer_class = "InternLM2Tokenizer",
          .gguf = {.name = "internlm2",
                   .keys = {{.config = "bias", .kind = Kind::present, .tensor = "blk.0.attn_q.bias"}},
                   .names = {{"token_embd.weight", "model.tok_embeddings.weight"},
                             {"output.weight", "output.weight"},
                             {"blk.#.attn_norm.*", "model.layers.#.attention_norm.*"},
                             {"blk.#.attn_q.*", "model.layers.#.attention.wq.*"},
                             {"blk.#.attn_k.*", "model.layers.#.attention.wk.*"},
                             {"blk.#.attn_v.*", "model.layers.#.attention.wv.*"},
                             {"blk.#.attn_output.*", "model.layers.#.attention.wo.*"},
                             {"blk.#.ffn_norm.*", "model.layers.#.ffn_norm.*"},
                             {"blk.#.ffn_gate.*", "model.layers.#.feed_forward.w1.*"},
                             {"blk.#.ffn_up.*", "model.layers.#.feed_forward.w3.*"},
                             {"blk.#.ffn_down.*", "model.layers.#.feed_forward.w2.*"}},
                   .neighbors = heads},
          .present = groups_apart,
      }),
  };
}

}  // namespace hearth::models::internlm2
