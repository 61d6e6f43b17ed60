// Parses numbers and words as users type them. Decimal only: 010 is ten. Each function throws a UsageError that states what is expected.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace hearth {

int64_t parse_integer(const std::string& text, int64_t low, int64_t high);
uint64_t parse_seed(const std::string& text);  // 0 … 2⁶⁴ − 1
double parse_number(const std::string& text);  // finite
int64_t parse_size(const std::string& text);   // bytes: "3G", "2500M", "2.6GB", "2GiB", "1000000"; K, M, G, T are powers of 1000
std::array<double, 2> parse_interval(const std::string& text);  // "0.3,5.4": two numbers, the lower first

// "name=value" → both.
std::pair<std::string, std::string> parse_named(const std::string& text);

// "1,2,3" → token ids; an empty text is an empty list.
std::vector<int32_t> parse_ids(const std::string& text);
// "14.6,7,0" → the numbers.
std::vector<double> parse_numbers(const std::string& text);
// "a,b,c" → the words, each of them one of `allowed`.
std::vector<std::string> parse_words(const std::string& text, std::span<const std::string> allowed);
// UsageError with the nearest of `allowed` if the word is not one of them.
const std::string& check_word(const std::string& word, std::span<const std::string> allowed);

}  // namespace hearth
