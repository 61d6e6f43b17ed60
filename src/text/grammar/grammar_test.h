// What the tests of grammars share: small vocabularies, masks by trying every token, and texts drawn at random through masks.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <string>
#include <vector>

#include "hearth/error.h"
#include "text/grammar/grammar.h"

namespace hearth::text::grammar::test {

// All 256 bytes, pieces that JSON and words consist of, and parts of characters. The last id ends a text; the one before it is special.
inline std::vector<std::string> small_vocabulary() {
  std::vector<std::string> tokens;
  for (int b = 0; b < 256; ++b) tokens.emplace_back(1, char(b));
  for (const char* t :
       {"{\"", "\":",   "\": ",   "\",",          "\", \"",   "\"}",  "}}",     "]}",       "],",       "[[",           "[\"",   "\"]",
        "{}",  "[]",    "[{",     "}]",           ": {",      ", ",   " \"",    "\n  ",     "\n    ",   "true",         "false", "null",
        "tr",  "al",    "the",    " the",         "ing",      "name", "\"name", "name\":",  "12",       "123",          "2024",  "-",
        "0.",  ".5",    "1e",     "E+",           "\\n",      "\\u",  "\\\"",   "00",       "ab",       "abc",          "aaaa",  "bb",
        "é",   "\xc3",  "\xa9\"", "日本",         "\xe6\x97", "\xa5", "😀",      "\xf0\x9f", "\x98\x80", "x\", \"y\": ", "((",    "))",
        "+(",  "<tool", "_call>", "</tool_call>", "e4 ",      "Nf3",  "O-O"})
    tokens.emplace_back(t);
  tokens.emplace_back("");
  tokens.emplace_back("<eos>");
  return tokens;
}

inline const VocabularyIndex& vocabulary() {
  static const VocabularyIndex index(small_vocabulary(), {int32_t(small_vocabulary().size()) - 1});
  return index;
}

// Compares the mask with the attempt to accept each token.
inline void expect_exact_mask(const GrammarState& state, const VocabularyIndex& tokens = vocabulary()) {
  const auto mask = state.mask(tokens);
  for (size_t id = 0; id < tokens.size(); ++id) {
    GrammarState copy = state;
    bool accepted = false;
    try {
      accepted = copy.accept_token(tokens, int32_t(id));
    } catch (const UnsupportedError&) {  // the nesting limit
    }
    ASSERT_EQ((*mask)[id], accepted) << "token " << id << " '" << tokens.token(int32_t(id)) << "'";
  }
}

// A text that consists of tokens drawn uniformly from the masks. After `patience` tokens, prefers tokens that end the text or close
// something. nullopt if it does not end within `limit` tokens.
inline std::optional<std::string> random_text(const Grammar& grammar, unsigned seed, size_t patience = 20, size_t limit = 3000,
                                              bool check_masks = false) {
  std::mt19937 random(seed);
  const VocabularyIndex& tokens = vocabulary();
  GrammarState state(grammar);
  std::string text;
  for (size_t n = 0; n < limit; ++n) {
    if (check_masks) expect_exact_mask(state);
    const auto mask = state.mask(tokens);
    std::vector<int32_t> allowed, closing;
    for (size_t id = 0; id < tokens.size(); ++id) {
      if (!(*mask)[id]) continue;
      allowed.push_back(int32_t(id));
      const std::string& bytes = tokens.token(int32_t(id));
      if (tokens.is_end(int32_t(id)) || bytes == "\"" || bytes == "]" || bytes == "}" || bytes == "\"}" || bytes == ")")
        closing.push_back(int32_t(id));
    }
    const auto& from = n >= patience && !closing.empty() && random() % 8 != 0 ? closing : allowed;
    const int32_t id = from[random() % from.size()];
    if (!state.accept_token(tokens, id)) {
      ADD_FAILURE() << "the mask allows token " << id << ", which is not accepted after '" << text << "'";
      return std::nullopt;
    }
    if (state.is_finished()) return text;
    text += tokens.token(id);
  }
  return std::nullopt;
}

// Whether the text is accepted with every way to divide it into tokens, as far as `tries` random ones show.
inline bool accepts_any_tokenization(const Grammar& grammar, const std::string& text, unsigned tries = 4) {
  const VocabularyIndex& tokens = vocabulary();
  std::mt19937 random(unsigned(text.size()));
  for (unsigned i = 0; i < tries; ++i) {
    GrammarState state(grammar);
    for (size_t at = 0; at < text.size();) {
      std::vector<int32_t> fitting;
      for (size_t id = 0; id + 2 < tokens.size(); ++id) {
        if (std::string_view(text).substr(at).starts_with(tokens.token(int32_t(id)))) fitting.push_back(int32_t(id));
      }
      const int32_t id = fitting[random() % fitting.size()];
      if (!(*state.mask(tokens))[size_t(id)] || !state.accept_token(tokens, id)) return false;
      at += tokens.token(id).size();
    }
    if (!state.is_complete() || !(*state.mask(tokens))[tokens.size() - 1]) return false;
  }
  return true;
}

}  // namespace hearth::text::grammar::test
