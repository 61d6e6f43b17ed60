// A family whose network is a parts::Decoder: it declares only its own properties and a function that reads its config.
//
//   Entry entry() {
//     return {
//         .name = "tiny",
//         .summary = "…",
//         .task = decoder_family<read_config>({.model_types = {"tiny"}, .class_name = "TinyForCausalLM", .gguf = {.name = "tiny"}}),
//     };
//   }
#pragma once

#include "models/decoder_model.h"
#include "models/registry.h"

namespace hearth::models {

// Rows for families with these keys. A bias exists if the first layer has one.
inline constexpr GgufKey gguf_attention_bias{.config = "attention_bias", .kind = GgufKey::Kind::present, .tensor = "blk.0.attn_q.bias"};
inline constexpr GgufKey gguf_mlp_bias{.config = "mlp_bias", .kind = GgufKey::Kind::present, .tensor = "blk.0.ffn_gate.bias"};
inline constexpr GgufKey gguf_window{.key = "attention.sliding_window", .config = "sliding_window", .optional = true};

// For GgufArchitecture::neighbors.
inline constexpr GgufHeads queries_and_keys[] = {{"model.layers.#.self_attn.q_proj.*", "num_attention_heads"},
                                                 {"model.layers.#.self_attn.k_proj.*", "num_key_value_heads"}};

// Completes the family's own declaration, including `gguf.keys`, with what all decoders share: sizes, keys and tensor names of GGUF files.
LanguageFamily with_decoder_tables(LanguageFamily own);

template <parts::DecoderConfig (*read)(const Config&)> LanguageFamily decoder_family(LanguageFamily own) {
  own.spell_out = [](const Config& config) { return config.completed(read); };
  own.build = [](const Config& config, Weights& weights) { return make_decoder_model(read(config), weights); };
  return with_decoder_tables(std::move(own));
}

}  // namespace hearth::models
