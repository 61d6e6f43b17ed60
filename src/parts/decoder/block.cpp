#include "parts/decoder/block.h"

#include <algorithm>

namespace hearth::parts {

int64_t PagedState::reachable(int64_t stored, int64_t length) const {
  const int64_t window = pages_->layout().window;
  return length >= stored || table_->oldest() <= (window == 0 ? 0 : std::max<int64_t>(0, length - window + 1)) ? length : 0;
}

std::vector<KeyValues> stored_keys(const Pass& pass, States states, const Tensor& k, const Tensor& v) {
  std::vector<KeyValues> all;
  for (size_t i = 0; i < pass.texts.size(); ++i) {
    const Slice& text = pass.texts[i];
    all.push_back(as<PagedState>(states[i]).store(text, text.of(k), v ? text.of(v) : v));
  }
  return all;
}

}  // namespace hearth::parts
