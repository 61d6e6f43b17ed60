// Activations as checkpoints' configs name them.
#pragma once

#include "core/backend.h"
#include "core/config.h"

namespace hearth::parts {

// The activation that `key` names in a diffusers config: silu (or swish), gelu (exact), relu, in any case.
// UnsupportedError for another one. `otherwise` where the key is absent.
Activation diffusers_activation(const Config& config, const std::string& key, const std::string& otherwise);

// The activation that `key` names in a transformers config, where gelu_new, gelu_pytorch_tanh and others are the tanh form.
Activation transformers_activation(const Config& config, const std::string& key, const std::string& otherwise);

}  // namespace hearth::parts
