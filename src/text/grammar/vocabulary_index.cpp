#include "text/grammar/vocabulary_index.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "core/error.h"

namespace hearth::text::grammar {

size_t TokenMask::count() const {
  return std::accumulate(words.begin(), words.end(), size_t(0), [](size_t n, uint64_t w) { return n + size_t(std::popcount(w)); });
}

bool TokenMask::none() const {
  return std::all_of(words.begin(), words.end(), [](uint64_t w) { return w == 0; });
}

VocabularyIndex::VocabularyIndex(std::vector<std::string> tokens, std::vector<int32_t> ends, size_t cache_bytes)
    : state_masks(cache_bytes / 2), masks(cache_bytes / 2), tokens_(std::move(tokens)), ends_(std::move(ends)) {
  for (const int32_t id : ends_) {
    if (id < 0 || size_t(id) >= tokens_.size())
      fail<UsageError>("vocabulary: {} should end a text, expected an id below {}", id, tokens_.size());
    tokens_[size_t(id)].clear();
  }
  std::vector<uint32_t> order;
  for (size_t id = 0; id < tokens_.size(); ++id) {
    if (tokens_[id].size() > 65535) fail<UsageError>("vocabulary: token {} has {} bytes, expected at most 65535", id, tokens_[id].size());
    if (!tokens_[id].empty()) order.push_back(uint32_t(id));
    longest_ = std::max(longest_, int32_t(tokens_[id].size()));
  }
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    const int compared = tokens_[a].compare(tokens_[b]);
    return compared != 0 ? compared < 0 : a < b;
  });
  nodes_.push_back({0, 0, 0, 0, 0});
  std::vector<uint32_t> path{0};  // nodes whose ends are not known yet
  std::string_view last;
  for (const uint32_t id : order) {
    const std::string_view token = tokens_[id];
    const auto shared = size_t(std::mismatch(last.begin(), last.end(), token.begin(), token.end()).first - last.begin());
    while (path.size() > shared + 1) {
      nodes_[path.back()].end = uint32_t(nodes_.size());
      path.pop_back();
    }
    for (size_t i = shared; i < token.size(); ++i) {
      path.push_back(uint32_t(nodes_.size()));
      nodes_.push_back({0, uint32_t(ids_.size()), uint16_t(i + 1), uint8_t(token[i]), 0});
    }
    ids_.push_back(id);
    last = token;
  }
  for (const uint32_t node : path) nodes_[node].end = uint32_t(nodes_.size());
  nodes_.push_back({uint32_t(nodes_.size() + 1), uint32_t(ids_.size()), 0, 0, 0});
  for (size_t node = nodes_.size() - 1; node-- > 0;) {
    uint16_t height = 0;
    for (size_t child = node + 1; child < nodes_[node].end && height != not_plain; child = nodes_[child].end) {
      const Node& c = nodes_[child];
      height = !Program::is_plain(c.byte) || c.plain_height >= not_plain - 1 ? not_plain : std::max(height, uint16_t(c.plain_height + 1));
    }
    nodes_[node].plain_height = height;
  }
}

const std::string& VocabularyIndex::token(int32_t id) const {
  if (id < 0 || size_t(id) >= tokens_.size())
    fail<UsageError>("vocabulary: there is no token {}, expected an id below {}", id, tokens_.size());
  return tokens_[size_t(id)];
}

bool VocabularyIndex::is_end(int32_t id) const { return std::find(ends_.begin(), ends_.end(), id) != ends_.end(); }

}  // namespace hearth::text::grammar
