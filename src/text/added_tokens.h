// Tokens that are found in a prompt before anything else happens to it: special tokens and those that a user added
// (textual inversion).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/clip_cleaning.h"

namespace hearth::text {

struct AddedToken {
  std::string content;
  int32_t id = -1;
  bool lstrip = false;       // eats white space before it
  bool rstrip = false;       // eats white space after it
  bool single_word = false;  // only between spaces (transformers 4.x), only where no word character touches it (tokenizers)
  bool normalized = true;    // with Cleaning::fast: sought in the cleaned text, hence in any case
  bool special = false;
  bool spaced = false;  // decode() prints it between spaces
};

// A stretch of a prompt: an added token, or text that holds none.
struct Section {
  std::u32string text;  // with Cleaning::fast already cleaned
  int32_t id = -1;      // the added token's, or -1
};

// Finds the leftmost and there the longest of several strings.
class Finder {
 public:
  void add(std::u32string content, size_t index);
  struct Match {
    size_t begin, end, index;
  };
  // All matches that do not overlap, from left to right.
  std::vector<Match> find(std::u32string_view text) const;

 private:
  struct Entry {
    std::u32string content;
    size_t index;
  };
  std::unordered_map<char32_t, std::vector<Entry>> by_first_;  // each list: longest first
};

// Cuts prompts at the added tokens, as transformers 4.57.1's CLIPTokenizer does for Cleaning::ftfy and Cleaning::basic, and as
// tokenizers 0.22.1 does for Cleaning::fast.
class AddedTokenSplitter {
 public:
  AddedTokenSplitter(const std::vector<AddedToken>& tokens, Cleaning cleaning);
  std::vector<Section> split(std::u32string_view text) const;

 private:
  std::vector<Section> split_then_clean(std::u32string_view text) const;
  std::vector<Section> split_fast(std::u32string_view text, const Finder& finder) const;

  std::vector<AddedToken> tokens_;
  std::unordered_map<std::u32string, size_t> index_of_;
  Cleaning cleaning_;
  Finder raw_, normalized_;
};

}  // namespace hearth::text
