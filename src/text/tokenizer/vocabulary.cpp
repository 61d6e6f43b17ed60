#include "text/tokenizer/vocabulary.h"

#include <algorithm>
#include <limits>

#include "core/error.h"

namespace hearth::text::pipeline {

Vocabulary::Vocabulary(VocabularyEntries entries) : entries_(std::move(entries)) {
  if (!std::ranges::is_sorted(entries_, {}, &VocabularyEntries::value_type::second))
    std::ranges::stable_sort(entries_, {}, &VocabularyEntries::value_type::second);
  size_t slots = 16;
  while (slots < 2 * entries_.size()) slots *= 2;
  slots_.resize(slots);
  for (size_t i = 0; i < entries_.size(); ++i) {
    const auto& [spelling, id] = entries_[i];
    if (id < 0 || id > std::numeric_limits<int32_t>::max() - 1) fail<WeightError>("tokenizer: the token '{}' has the id {}", spelling, id);
    if (i > 0 && entries_[i - 1].second == id)
      fail<WeightError>("tokenizer: the tokens '{}' and '{}' both have the id {}", entries_[i - 1].first, spelling, id);
    const size_t at = place(spelling);
    if (slots_[at] != 0)
      fail<WeightError>("tokenizer: the token '{}' has the ids {} and {}", spelling, entries_[slots_[at] - 1].second, id);
    slots_[at] = uint32_t(i + 1);
  }
}

size_t Vocabulary::place(std::string_view spelling) const {
  const size_t mask = slots_.size() - 1;
  size_t at = std::hash<std::string_view>{}(spelling)&mask;
  while (slots_[at] != 0 && entries_[slots_[at] - 1].first != spelling) at = (at + 1) & mask;
  return at;
}

int32_t Vocabulary::find(std::string_view spelling) const {
  const uint32_t slot = slots_[place(spelling)];
  return slot == 0 ? -1 : int32_t(entries_[slot - 1].second);
}

const std::string* Vocabulary::spelling(int32_t id) const {
  if (id < 0) return nullptr;
  // The ids are nearly always 0, 1, 2 …
  if (size_t(id) < entries_.size() && entries_[size_t(id)].second == id) return &entries_[size_t(id)].first;
  const auto found = std::ranges::lower_bound(entries_, int64_t(id), {}, &VocabularyEntries::value_type::second);
  return found != entries_.end() && found->second == id ? &found->first : nullptr;
}

namespace {
uint64_t key(Trie::Node node, char byte) { return uint64_t(node) << 8 | uint8_t(byte); }
}  // namespace

void Trie::add(std::string_view text, int32_t value) {
  Node node = root;
  for (const char byte : text) {
    Node next = step(node, byte);
    if (next == nowhere) {
      next = Node(values_.size());
      values_.push_back(-1);
      if (node == root) from_root_[uint8_t(byte)] = next;
      else steps_[key(node, byte)] = next;
    }
    node = next;
  }
  if (values_[node] < 0) values_[node] = value;
}

Trie::Node Trie::step(Node node, char byte) const {
  if (node == root) return from_root_[uint8_t(byte)];
  const Node* next = steps_.find(key(node, byte));
  return next ? *next : nowhere;
}

Trie::Node Trie::walk(Node node, std::string_view text) const {
  for (const char byte : text) {
    node = step(node, byte);
    if (node == nowhere) break;
  }
  return node;
}

}  // namespace hearth::text::pipeline
