#include "parts/bert/config.h"

#include "parts/config_reading.h"

namespace hearth::parts {

BertConfig BertConfig::from(const Config& c) {
  c.only("model_type", {"bert"});
  refuse_null(c, {"hidden_act", "hidden_size", "intermediate_size", "layer_norm_eps", "max_position_embeddings", "num_attention_heads",
                  "num_hidden_layers", "position_embedding_type", "type_vocab_size", "vocab_size"});
  BertConfig b;
  b.vocabulary = positive_integer(c, "vocab_size", 30522);
  b.width = positive_integer(c, "hidden_size", 768);
  b.layers = positive_integer(c, "num_hidden_layers", 12);
  b.heads = positive_integer(c, "num_attention_heads", 12);
  b.mlp_width = positive_integer(c, "intermediate_size", 3072);
  b.positions = positive_integer(c, "max_position_embeddings", 512);
  b.token_types = positive_integer(c, "type_vocab_size", 2);
  b.activation = transformers_activation(c, "hidden_act", "gelu");
  b.eps = float(c.number("layer_norm_eps", 1e-12));
  if (b.width % b.heads)
    fail<WeightError>("{}: 'num_attention_heads' = {} does not divide 'hidden_size' = {}", c.where(), b.heads, b.width);
  c.only("position_embedding_type", {"absolute"});
  c.only("is_decoder", false);
  // Training, storage, bookkeeping, the pooler of the reference's model, keys of older and of Chinese publications.
  c.no_effect({"architectures",
               "attention_probs_dropout_prob",
               "bos_token_id",
               "classifier_dropout",
               "directionality",
               "dtype",
               "eos_token_id",
               "gradient_checkpointing",
               "hidden_dropout_prob",
               "id2label",
               "initializer_range",
               "label2id",
               "name_or_path",
               "output_past",
               "pad_token_id",
               "pooler_fc_size",
               "pooler_num_attention_heads",
               "pooler_num_fc_layers",
               "pooler_size_per_head",
               "pooler_type",
               "sep_token_id",
               "tie_word_embeddings",
               "torch_dtype",
               "transformers_version",
               "use_cache"});
  read_generic_transformers_keys(c);
  c.finish();
  return b;
}

}  // namespace hearth::parts
