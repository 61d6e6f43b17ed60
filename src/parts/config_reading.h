// What reading a network's config.json needs beyond core/files/config.h.
#pragma once

#include <initializer_list>

#include "core/backend.h"
#include "core/files/config.h"

namespace hearth::parts {

// A whole number of at least 1; `otherwise` where the key is absent. WeightError for another.
int64_t positive_integer(const Config& config, const std::string& key, int64_t otherwise);

// UnsupportedError where one of the keys is present and null: the reference takes that for a value of its own or fails, but
// never for its default.
void refuse_null(const Config& config, std::initializer_list<std::string_view> keys);
bool is_null(const Config& config, std::string_view key);  // present and null

// The activation that `key` names in a diffusers config: silu (or swish), gelu (exact), relu, in any case.
// UnsupportedError for another one. `otherwise` where the key is absent.
Activation diffusers_activation(const Config& config, const std::string& key, const std::string& otherwise);

// The activation that `key` names in a transformers config, where gelu_new, gelu_pytorch_tanh and others are the tanh form.
Activation transformers_activation(const Config& config, const std::string& key, const std::string& otherwise);

// What transformers writes into every model's config: keys of training, bookkeeping and sampling are read away; those that would change the
// network have one supported value, and UnsupportedError names one that has another.
void read_generic_transformers_keys(const Config& config);

}  // namespace hearth::parts
