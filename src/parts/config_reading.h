// Helpers to read a network's config.json, in addition to core/files/config.h.
#pragma once

#include <initializer_list>

#include "core/backend.h"
#include "core/files/config.h"

namespace hearth::parts {

// An integer of at least 1; `otherwise` if the key is absent. WeightError for any other value.
int64_t positive_integer(const Config& config, const std::string& key, int64_t otherwise);

// UnsupportedError if one of the keys is present and null: the reference gives null a meaning of its own or fails, but
// never uses the default.
void refuse_null(const Config& config, std::initializer_list<std::string_view> keys);
bool is_null(const Config& config, std::string_view key);  // present and null

// The activation that `key` names in a diffusers config: silu (or swish), gelu (exact), relu, in any case.
// UnsupportedError for any other. `otherwise` if the key is absent.
Activation diffusers_activation(const Config& config, const std::string& key, const std::string& otherwise);

// The activation that `key` names in a transformers config; gelu_new, gelu_pytorch_tanh and others are the tanh form.
Activation transformers_activation(const Config& config, const std::string& key, const std::string& otherwise);
// The same for a name that is a part of the key's value.
Activation named_transformers_activation(const Config& config, const std::string& key, const std::string& name);

// What the network is of the model that the config describes: all of it, or the encoder of one that may have a decoder.
enum class NetworkPart { whole, encoder };

// Keys that transformers writes into every model's config: keys of training, bookkeeping and sampling are ignored; those that would change
// the network have one supported value, and UnsupportedError names one that has another.
void read_generic_transformers_keys(const Config& config, NetworkPart part = NetworkPart::whole);

// The keys that transformers' vision towers have in common. `tower` has the reference's defaults; `activation` is that of hidden_act.
template <class Tower> void read_vision_tower(const Config& c, Tower& tower, const std::string& activation) {
  refuse_null(c, {"hidden_act", "hidden_size", "image_size", "intermediate_size", "layer_norm_eps", "num_attention_heads", "num_channels",
                  "num_hidden_layers", "patch_size"});
  tower.channels = positive_integer(c, "num_channels", tower.channels);
  tower.image_size = positive_integer(c, "image_size", tower.image_size);
  tower.patch = positive_integer(c, "patch_size", tower.patch);
  tower.width = positive_integer(c, "hidden_size", tower.width);
  tower.layers = positive_integer(c, "num_hidden_layers", tower.layers);
  tower.heads = positive_integer(c, "num_attention_heads", tower.heads);
  tower.mlp_width = positive_integer(c, "intermediate_size", tower.mlp_width);
  if (tower.width % tower.heads)
    fail<WeightError>("{}: 'num_attention_heads' = {} does not divide 'hidden_size' = {}", c.where(), tower.heads, tower.width);
  if (tower.patch > tower.image_size)
    fail<WeightError>("{}: 'patch_size' = {}, expected at most 'image_size' = {}", c.where(), tower.patch, tower.image_size);
  tower.activation = transformers_activation(c, "hidden_act", activation);
  tower.eps = float(c.number("layer_norm_eps", tower.eps));
}

}  // namespace hearth::parts
