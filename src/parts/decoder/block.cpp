#include "parts/decoder/block.h"

#include <algorithm>

namespace hearth::parts {

int64_t PagedState::reachable(int64_t stored, int64_t length) const {
  const int64_t window = pages_->layout().window;
  return length >= stored || table_->oldest() <= (window == 0 ? 0 : std::max<int64_t>(0, length - window + 1)) ? length : 0;
}

namespace {

// What a row attends to that attends to nothing: one key whose value is zero.
KeyValues nothing(Backend& backend, const nn::KvLayout& layout) {
  const Tensor zeros = Tensor::zeros(backend, {1, layout.groups, layout.head});
  return {.k = zeros, .v = layout.latent ? zeros.slice(2, 0, layout.latent) : zeros, .queries = 1};
}

}  // namespace

std::vector<KeyValues> stored_keys(const Pass& pass, States states, const Tensor& k, const Tensor& v) {
  std::vector<KeyValues> all;
  for (size_t i = 0; i < pass.texts.size(); ++i) {
    const Slice& text = pass.texts[i];
    auto& state = as<PagedState>(states[i]);
    if (text.sees)
      all.insert(all.end(), size_t(text.count), *text.sees > 0 ? state.seen(*text.sees) : nothing(k.backend(), state.layout()));
    else all.push_back(state.store(text, text.of(k), v ? text.of(v) : v));
  }
  return all;
}

}  // namespace hearth::parts
