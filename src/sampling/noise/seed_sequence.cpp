#include "sampling/noise/seed_sequence.h"

namespace hearth::sampling {
namespace {

void append_words(std::vector<uint32_t>& words, uint64_t value) {  // low word first; 0 is one word
  words.push_back(uint32_t(value));
  if (value >> 32) words.push_back(uint32_t(value >> 32));
}

// Each word is mixed with a constant that changes at every use.
class Stirrer {
 public:
  Stirrer(uint32_t start, uint32_t multiplier) : constant_(start), multiplier_(multiplier) {}
  uint32_t operator()(uint32_t value) {
    value ^= constant_;
    constant_ *= multiplier_;
    value *= constant_;
    return value ^ value >> 16;
  }

 private:
  uint32_t constant_, multiplier_;
};

uint32_t mixed(uint32_t x, uint32_t y) {
  const uint32_t r = 0xCA01F9DD * x - 0x4973F715 * y;
  return r ^ r >> 16;
}

}  // namespace

std::vector<uint32_t> seed_sequence(uint64_t entropy, std::initializer_list<uint64_t> spawn_key, size_t pool_size, size_t count) {
  std::vector<uint32_t> words;
  append_words(words, entropy);
  if (spawn_key.size() > 0 && words.size() < pool_size) words.resize(pool_size);
  for (const uint64_t key : spawn_key) append_words(words, key);

  Stirrer stirred(0x43B0D7E5, 0x931E8875);
  std::vector<uint32_t> pool(pool_size);
  for (size_t i = 0; i < pool_size; ++i) pool[i] = stirred(i < words.size() ? words[i] : 0);
  for (size_t from = 0; from < pool_size; ++from)
    for (size_t to = 0; to < pool_size; ++to)
      if (from != to) pool[to] = mixed(pool[to], stirred(pool[from]));
  for (size_t from = pool_size; from < words.size(); ++from)
    for (uint32_t& word : pool) word = mixed(word, stirred(words[from]));

  Stirrer drawn(0x8B51F9DD, 0x58F38DED);
  std::vector<uint32_t> state(count);
  for (size_t i = 0; i < count; ++i) state[i] = drawn(pool[i % pool_size]);
  return state;
}

}  // namespace hearth::sampling
