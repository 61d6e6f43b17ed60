#include "parts/t5/config.h"

#include <algorithm>
#include <array>

#include "parts/config_reading.h"

namespace hearth::parts {
namespace {

enum class T5Kind { t5, mt5, umt5 };

struct T5Class {
  std::string_view name;
  T5Kind kind;
};
constexpr std::array<T5Class, 9> t5_classes{{{"T5EncoderModel", T5Kind::t5},
                                             {"T5Model", T5Kind::t5},
                                             {"T5ForConditionalGeneration", T5Kind::t5},
                                             {"T5WithLMHeadModel", T5Kind::t5},  // of 2019
                                             {"MT5EncoderModel", T5Kind::mt5},
                                             {"MT5ForConditionalGeneration", T5Kind::mt5},
                                             {"UMT5EncoderModel", T5Kind::umt5},
                                             {"UMT5Model", T5Kind::umt5},
                                             {"UMT5ForConditionalGeneration", T5Kind::umt5}}};

T5Kind t5_kind_of_class(const Config& c, std::string_view name) {
  const auto it = std::ranges::find(t5_classes, name, &T5Class::name);
  if (it != t5_classes.end()) return it->kind;
  fail<UnsupportedError>("{}: text encoder class \"{}\" is not supported, expected T5EncoderModel, MT5EncoderModel or UMT5EncoderModel",
                         c.where(), name);
}

T5Kind t5_kind_of(const Config& c, const std::string& class_name) {
  c.only("model_type", {"t5", "mt5", "umt5"});
  const std::string type = c.text("model_type", "");
  const std::vector<std::string> architectures = c.texts("architectures", std::vector<std::string>());
  const T5Kind stated = type == "umt5"          ? T5Kind::umt5
                        : type == "mt5"         ? T5Kind::mt5
                        : type == "t5"          ? T5Kind::t5
                        : architectures.empty() ? T5Kind::t5
                                                : t5_kind_of_class(c, architectures[0]);
  const auto require_biases = [&](std::string_view name, T5Kind kind) {
    if ((kind == T5Kind::umt5) != (stated == T5Kind::umt5))
      fail<UnsupportedError>("{}: the class {} is not supported with 'model_type' = \"{}\", expected one of UMT5 for umt5 and of T5 for t5",
                             c.where(), name, type);
  };
  if (!architectures.empty()) require_biases(architectures[0], t5_kind_of_class(c, architectures[0]));
  if (class_name.empty()) return stated;
  const T5Kind kind = t5_kind_of_class(c, class_name);
  if (!type.empty() || !architectures.empty()) require_biases(class_name, kind);
  return kind;
}

// A size under its own name, or under the name that all models of transformers have, which wins there.
int64_t t5_size(const Config& c, const std::string& key, const std::string& common, int64_t otherwise) {
  return positive_integer(c, common, positive_integer(c, key, otherwise));
}

}  // namespace

T5Config T5Config::from(const Config& c, const std::string& class_name) {
  const T5Kind kind = t5_kind_of(c, class_name);
  const bool first = kind == T5Kind::t5;
  refuse_null(c, {"d_ff", "d_kv", "d_model", "dense_act_fn", "feed_forward_proj", "head_dim", "hidden_size", "is_gated_act",
                  "layer_norm_epsilon", "num_attention_heads", "num_heads", "num_hidden_layers", "num_layers",
                  "relative_attention_max_distance", "relative_attention_num_buckets", "vocab_size"});
  T5Config t;
  t.vocabulary = positive_integer(c, "vocab_size", first ? 32128 : 250112);
  t.width = t5_size(c, "d_model", "hidden_size", 512);
  t.head = t5_size(c, "d_kv", "head_dim", 64);
  t.mlp_width = positive_integer(c, "d_ff", first ? 2048 : 1024);
  t.layers = t5_size(c, "num_layers", "num_hidden_layers", first ? 6 : 8);
  t.heads = t5_size(c, "num_heads", "num_attention_heads", first ? 8 : 6);
  t.buckets = positive_integer(c, "relative_attention_num_buckets", 32);
  t.farthest = positive_integer(c, "relative_attention_max_distance", 128);
  t.every_layer = kind == T5Kind::umt5;
  t.eps = float(c.number("layer_norm_epsilon", 1e-6));
  if (t.buckets < 4) fail<WeightError>("{}: 'relative_attention_num_buckets' = {}, expected at least 4", c.where(), t.buckets);
  if (t.farthest <= t.buckets / 4)
    fail<WeightError>("{}: 'relative_attention_max_distance' = {}, expected more than the {} distances with a bucket of their own",
                      c.where(), t.farthest, t.buckets / 4);

  // dense_act_fn and is_gated_act follow from feed_forward_proj; written values win, as in the reference.
  const std::string mlp = c.text("feed_forward_proj", first ? "relu" : "gated-gelu");
  const bool gated = mlp.starts_with("gated-");
  const std::string act = mlp == "gated-gelu" ? "gelu_new" : gated ? mlp.substr(6) : mlp;
  t.activation = named_transformers_activation(c, "feed_forward_proj", act);
  t.activation = transformers_activation(c, "dense_act_fn", act);
  t.gated = c.boolean("is_gated_act", gated);

  // The decoder, training, storage and bookkeeping; the tokenizer handles token ids.
  c.no_effect({"bos_token_id", "classifier_dropout", "dropout_rate", "dtype", "eos_token_id", "gradient_checkpointing", "id2label",
               "initializer_factor", "label2id", "n_positions", "name_or_path", "num_decoder_layers", "output_past", "pad_token_id",
               "sep_token_id", "torch_dtype", "transformers_version"});
  c.only("is_decoder", false);
  // The embedding is that of the encoder either way; no program reads scalable_attention.
  c.no_effect({"tie_word_embeddings", "use_cache", "scalable_attention"});
  read_generic_transformers_keys(c, NetworkPart::encoder);
  c.finish();
  return t;
}

}  // namespace hearth::parts
