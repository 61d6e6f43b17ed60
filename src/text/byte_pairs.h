// Byte-pair encoding of one word (Sennrich et al. 2016) over bytes, with the end-of-word mark of OpenAI's CLIP.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace hearth::text {

// The printable character that stands for a byte in vocabulary files (GPT-2's table), in UTF-8, and back: -1 for a character
// that stands for none.
std::string_view byte_symbol(uint8_t byte);
int byte_of_symbol(char32_t c);

inline constexpr std::string_view word_end = "</w>";

// Ids by spelling. Only looked up in, never iterated: its order is the library's.
struct SpellingHash {
  using is_transparent = void;
  size_t operator()(std::string_view s) const { return std::hash<std::string_view>{}(s); }
};
using TokenIds = std::unordered_map<std::string, int32_t, SpellingHash, std::equal_to<>>;

// One piece of a word: a token, or a byte that the vocabulary lacks.
struct Piece {
  int32_t id = -1;   // -1: not in the vocabulary
  std::string text;  // the piece's spelling where id is -1
};

class BytePairs {
 public:
  struct Merge {
    int32_t left, right, result;
  };
  enum class Order {
    // All places of the best pair are merged before the next best is looked for (OpenAI, transformers 4.x).
    rounds,
    // After each merge the best pair is looked for again (tokenizers). Differs only where a merge stands before one that makes
    // its parts, which no trained table has.
    single,
  };

  BytePairs() = default;
  BytePairs(const std::vector<Merge>& merges, const TokenIds& ids, Order order);  // merges: best first

  // Appends the pieces of `word` (bytes, not empty). O(n log n) for n bytes.
  void encode(std::string_view word, std::vector<Piece>& pieces) const;

 private:
  struct Target {
    int32_t rank, result;
  };
  const Target* find(int32_t left, int32_t right) const;

  std::array<int32_t, 256> inner_{}, final_{};  // the id of each byte inside and at the end of a word, -1 where there is none
  std::unordered_map<uint64_t, Target> merges_;
  Order order_ = Order::rounds;
};

}  // namespace hearth::text
