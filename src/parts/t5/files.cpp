#include "parts/t5/files.h"

#include <array>
#include <nlohmann/json.hpp>

#include "parts/t5/config.h"

namespace hearth::parts {
namespace {

constexpr std::array<NameRule, 3> t5_official{{
    {"shared.weight", "shared.weight"},
    {"encoder.block.**", "encoder.block.**"},
    {"encoder.final_layer_norm.weight", "encoder.final_layer_norm.weight"},
}};

constexpr std::array<NameRule, 9> t5_gguf{{
    {"token_embd.weight", "shared.weight"},
    {"enc.output_norm.weight", "encoder.final_layer_norm.weight"},
    {"enc.blk.#.attn_norm.weight", "encoder.block.#.layer.0.layer_norm.weight"},
    {"enc.blk.#.attn_q.weight", "encoder.block.#.layer.0.SelfAttention.q.weight"},
    {"enc.blk.#.attn_k.weight", "encoder.block.#.layer.0.SelfAttention.k.weight"},
    {"enc.blk.#.attn_v.weight", "encoder.block.#.layer.0.SelfAttention.v.weight"},
    {"enc.blk.#.attn_o.weight", "encoder.block.#.layer.0.SelfAttention.o.weight"},
    {"enc.blk.#.attn_rel_b.weight", "encoder.block.#.layer.0.SelfAttention.relative_attention_bias.weight"},
    {"enc.blk.#.ffn_norm.weight", "encoder.block.#.layer.1.layer_norm.weight"},
}};
constexpr std::array<NameRule, 3> t5_gguf_gated{{
    {"enc.blk.#.ffn_gate.weight", "encoder.block.#.layer.1.DenseReluDense.wi_0.weight"},
    {"enc.blk.#.ffn_up.weight", "encoder.block.#.layer.1.DenseReluDense.wi_1.weight"},
    {"enc.blk.#.ffn_down.weight", "encoder.block.#.layer.1.DenseReluDense.wo.weight"},
}};
constexpr std::array<NameRule, 2> t5_gguf_plain{{
    {"enc.blk.#.ffn_up.weight", "encoder.block.#.layer.1.DenseReluDense.wi.weight"},
    {"enc.blk.#.ffn_down.weight", "encoder.block.#.layer.1.DenseReluDense.wo.weight"},
}};

constexpr std::array<Alias, 1> t5_aliases{{{.stored = "encoder.embed_tokens.weight", .official = "shared.weight", .unless_there = true}}};

// Of google/t5-v1_1-xxl's encoder, as the model folders of Stable Diffusion 3 and FLUX.1 have it.
constexpr std::string_view t5_xxl_config = R"({
  "architectures": ["T5EncoderModel"],
  "model_type": "t5",
  "vocab_size": 32128,
  "d_model": 4096,
  "d_kv": 64,
  "d_ff": 10240,
  "num_layers": 24,
  "num_heads": 64,
  "relative_attention_num_buckets": 32,
  "relative_attention_max_distance": 128,
  "feed_forward_proj": "gated-gelu",
  "layer_norm_epsilon": 1e-06
})";

// llama.cpp's keys of T5EncoderModel.
void describe_in_gguf(const Config& config, GgufValues& values) {
  const T5Config c = T5Config::from(config, "");
  const auto key = [](const char* name) { return "t5encoder." + std::string(name); };
  values.integer(key("context_length"), 512);  // of training; relative positions have no end
  values.integer(key("embedding_length"), c.width);
  values.integer(key("feed_forward_length"), c.mlp_width);
  values.integer(key("block_count"), c.layers);
  values.integer(key("attention.head_count"), c.heads);
  values.integer(key("attention.key_length"), c.head);
  values.integer(key("attention.value_length"), c.head);
  values.integer(key("attention.relative_buckets_count"), c.buckets);
  values.f32(key("attention.layer_norm_epsilon"), c.eps);
  values.f32(key("attention.layer_norm_rms_epsilon"), c.eps);
}

}  // namespace

const NameMap& t5_names() {
  static const NameMap map{{"", "", t5_official}};
  return map;
}

const NameMap& t5_gguf_names(bool gated) {
  static const NameMap with_gate{{"", "", t5_gguf}, {"", "", t5_gguf_gated}}, without{{"", "", t5_gguf}, {"", "", t5_gguf_plain}};
  return gated ? with_gate : without;
}

const NetworkFiles t5_files{
    .classes = {"T5EncoderModel", "MT5EncoderModel", "UMT5EncoderModel"},
    .spellings = {{.name = "transformers",
                   .marks = {"encoder.block.0.layer.0.SelfAttention.q.weight",
                             "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight", "encoder.final_layer_norm.weight"},
                   .writing = [](const TensorList&) { return t5_names(); }},
                  {.name = "gguf",
                   .marks = {"enc.blk.0.attn_q.weight", "enc.blk.0.attn_rel_b.weight", "enc.output_norm.weight"},
                   .reading = [](const TensorList& stored,
                                 const nlohmann::json&) { return t5_gguf_names(stored.contains("enc.blk.0.ffn_gate.weight")); },
                   .writing =
                       [](const TensorList& all) {
                         return t5_gguf_names(all.contains("encoder.block.0.layer.1.DenseReluDense.wi_0.weight"));
                       },
                   .surplus =
                       [](std::string_view, const Config&) {
                         return std::vector<std::string>{"*dec.blk.*", "*dec.output_norm.weight", "*output.weight"};
                       }}},
    .aliases = t5_aliases,
    // The decoder of the whole model; the embedding under its second name; a tokenizer in files for ComfyUI.
    .ignored = {"encoder.embed_tokens.weight", "decoder.*", "lm_head.weight", "spiece_model"},
    .fallback_config = t5_xxl_config,
    .gguf = {.spelling = "gguf",
             .exact = {"*.relative_attention_bias.weight"},
             .important = {"*.SelfAttention.v.weight", "*.DenseReluDense.wo.weight"},
             .architecture = "t5encoder",
             .describe = describe_in_gguf},
};

std::vector<Signature> t5_xxl_signatures(const std::string& name, std::vector<std::string_view> prefixes) {
  const std::string attention = "encoder.block.0.layer.0.SelfAttention.", mlp = "encoder.block.23.layer.1.DenseReluDense.";
  return {{"text encoder",
           name,
           "transformers",
           prefixes,
           {{attention + "q.weight", {4096, 4096}},
            {attention + "relative_attention_bias.weight", {32, 64}},
            {mlp + "wi_1.weight", {10240, 4096}},
            {"encoder.final_layer_norm.weight", {4096}}},
           {"encoder.block.24.layer.0.layer_norm.weight", "encoder.block.1.layer.0.SelfAttention.relative_attention_bias.weight"}},
          {"text encoder",
           name,
           "gguf",
           std::move(prefixes),
           {{"enc.blk.0.attn_q.weight", {4096, 4096}},
            {"enc.blk.0.attn_rel_b.weight", {32, 64}},
            {"enc.blk.23.ffn_up.weight", {10240, 4096}},
            {"enc.output_norm.weight", {4096}}},
           {"enc.blk.24.attn_norm.weight", "enc.blk.1.attn_rel_b.weight"}}};
}

}  // namespace hearth::parts
