// Tensors that a GGUF file stores in another form than the published checkpoint.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "weights/aliases.h"

namespace hearth {

struct GgufForm {
  enum class Kind {
    negative_exp,  // −exp(x) in place of x. A file of a family with such tensors has decay_logarithms false in its config
    squeezed,      // [a, b] in place of [a, 1, b]
    column,        // [n, 1] in place of [n]
    groups,        // [G, n / G] in place of [n]
  };

  std::string_view names;  // official names, as a pattern of weights/aliases.h
  Kind kind;
  std::string_view count = {};  // groups: the key of config.json that is G
};

// The shape in the file of a tensor with this official name and shape. WeightError unless G, `count(key)`, divides n.
Shape gguf_shape(const std::string& official, const Shape& shape, std::span<const GgufForm> forms,
                 const std::function<int64_t(std::string_view key)>& count);
bool is_negative_exp(const std::string& official, std::span<const GgufForm> forms);

// The file's tensors, under official names, in their official shapes. The forms must outlive the source.
std::shared_ptr<TensorSource> with_official_shapes(std::shared_ptr<TensorSource> source, std::span<const GgufForm> forms);

}  // namespace hearth
