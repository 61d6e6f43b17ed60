#include "text/byte_pairs.h"

#include <queue>

#include "core/utf8.h"

namespace hearth::text {

namespace {

struct ByteTable {
  std::array<std::string, 256> symbol;
  std::array<int, 512> byte;

  ByteTable() {
    byte.fill(-1);
    char32_t next = 256;
    for (int b = 0; b < 256; ++b) {
      const bool printable = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
      const char32_t c = printable ? char32_t(b) : next++;
      append_utf8(symbol[size_t(b)], c);
      byte[c] = b;
    }
  }
};

const ByteTable& byte_table() {
  static const ByteTable table;
  return table;
}

uint64_t key(int32_t left, int32_t right) { return uint64_t(uint32_t(left)) << 32 | uint32_t(right); }

// A pair of neighbours that could be merged. It is out of date once either has changed.
struct Candidate {
  int32_t rank;
  uint32_t position;
  int32_t left, right;
  bool operator>(const Candidate& other) const { return rank != other.rank ? rank > other.rank : position > other.position; }
};

struct Symbol {
  int32_t id;
  uint32_t previous, next, end;  // neighbours; one past the last byte
};

constexpr uint32_t none = ~0u;

}  // namespace

std::string_view byte_symbol(uint8_t byte) { return byte_table().symbol[byte]; }

int byte_of_symbol(char32_t c) { return c < 512 ? byte_table().byte[c] : -1; }

BytePairs::BytePairs(const std::vector<Merge>& merges, const TokenIds& ids, Order order) : order_(order) {
  const auto id_of = [&](const std::string& spelling) {
    const auto it = ids.find(spelling);
    return it == ids.end() ? -1 : it->second;
  };
  for (int b = 0; b < 256; ++b) {
    const std::string symbol(byte_symbol(uint8_t(b)));
    inner_[size_t(b)] = id_of(symbol);
    final_[size_t(b)] = id_of(symbol + std::string(word_end));
  }
  merges_.reserve(merges.size());
  for (const Merge& m : merges) merges_.emplace(key(m.left, m.right), Target{int32_t(merges_.size()), m.result});
}

const BytePairs::Target* BytePairs::find(int32_t left, int32_t right) const {
  if (left < 0 || right < 0) return nullptr;
  const auto it = merges_.find(key(left, right));
  return it == merges_.end() ? nullptr : &it->second;
}

void BytePairs::encode(std::string_view word, std::vector<Piece>& pieces) const {
  const auto n = uint32_t(word.size());
  std::vector<Symbol> symbols(n);
  for (uint32_t i = 0; i < n; ++i)
    symbols[i] = {(i + 1 == n ? final_ : inner_)[uint8_t(word[i])], i == 0 ? none : i - 1, i + 1 == n ? none : i + 1, i + 1};

  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
  std::vector<Candidate> later;  // found in this round, to be looked at in the next
  const auto consider = [&](uint32_t left) {
    if (left == none || symbols[left].next == none) return;
    const Symbol &a = symbols[left], &b = symbols[a.next];
    if (const Target* target = find(a.id, b.id)) later.push_back({target->rank, left, a.id, b.id});
  };
  for (uint32_t i = 0; i + 1 < n; ++i) consider(i);

  int32_t round = -1;
  while (true) {
    if (order_ == Order::single || queue.empty() || queue.top().rank != round) {
      for (const Candidate& c : later) queue.push(c);
      later.clear();
      if (queue.empty()) break;
      round = queue.top().rank;
    }
    const Candidate best = queue.top();
    queue.pop();
    Symbol& a = symbols[best.position];
    if (a.id != best.left || a.next == none || symbols[a.next].id != best.right) continue;
    Symbol& b = symbols[a.next];
    a.id = find(best.left, best.right)->result;
    a.next = b.next;
    a.end = b.end;
    if (b.next != none) symbols[b.next].previous = best.position;
    b.id = -1;
    consider(a.previous);
    consider(best.position);
  }

  uint32_t begin = 0;
  for (uint32_t i = n == 0 ? none : 0; i != none; i = symbols[i].next) {
    Piece piece{symbols[i].id, {}};
    if (piece.id < 0) {
      piece.text = byte_symbol(uint8_t(word[begin]));
      if (symbols[i].end == n) piece.text += word_end;
    }
    begin = symbols[i].end;
    pieces.push_back(std::move(piece));
  }
}

}  // namespace hearth::text
