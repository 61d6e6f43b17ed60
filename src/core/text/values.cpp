#include "core/text/values.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "core/text/suggest.h"

namespace hearth {
namespace {

template <class T> bool read_all(const std::string& text, T& value, std::errc& error) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  error = code;
  return end == text.data() + text.size() && code != std::errc::invalid_argument;
}

}  // namespace

int64_t parse_integer(const std::string& text, int64_t low, int64_t high) {
  int64_t value = 0;
  std::errc error{};
  if (!read_all(text, value, error)) fail<UsageError>("'{}' is not a whole number", text);
  if (error != std::errc() || value < low || value > high) {
    if (high == std::numeric_limits<int64_t>::max()) fail<UsageError>("{} is out of range, expected at least {}", text, low);
    fail<UsageError>("{} is out of range, expected {} to {}", text, low, high);
  }
  return value;
}

uint64_t parse_seed(const std::string& text) {
  uint64_t value = 0;
  std::errc error{};
  if (!read_all(text, value, error))
    fail<UsageError>("'{}' is not a whole number from 0 to {}", text, std::numeric_limits<uint64_t>::max());
  if (error != std::errc()) fail<UsageError>("{} is out of range, expected 0 to {}", text, std::numeric_limits<uint64_t>::max());
  return value;
}

double parse_number(const std::string& text) {
  double value = 0;
  std::errc error{};
  if (!read_all(text, value, error)) fail<UsageError>("'{}' is not a number", text);
  if (error != std::errc() || !std::isfinite(value)) fail<UsageError>("{} is not a finite number", text);
  return value;
}

int64_t parse_size(const std::string& text) {
  const size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  std::string unit = text.substr(digits);
  while (!unit.empty() && unit.front() == ' ') unit.erase(0, 1);
  std::ranges::transform(unit, unit.begin(), [](unsigned char c) { return char(std::toupper(c)); });
  const bool binary = unit.size() == 3 && unit.ends_with("IB"), decimal = unit.size() == 2 && unit.ends_with("B") && unit[0] != 'B';
  if (binary || decimal) unit.resize(1);
  const size_t power = unit.empty() || unit == "B" ? 0 : unit.size() == 1 ? std::string_view("KMGT").find(unit) + 1 : 0;
  double number = 0;
  std::errc error{};
  if (!read_all(text.substr(0, digits), number, error) || error != std::errc() || (power == 0 && !unit.empty() && unit != "B"))
    fail<UsageError>("'{}' is not a size, expected a number of bytes or one with K, M, G or T", text);
  const double bytes = number * std::pow(binary ? 1024.0 : 1000.0, double(power));
  if (!(bytes >= 1 && bytes < 9e18)) fail<UsageError>("{} is out of range, expected 1 byte to 9000000T", text);
  return int64_t(bytes);
}

const std::string& check_word(const std::string& word, std::span<const std::string> allowed) {
  if (std::find(allowed.begin(), allowed.end(), word) == allowed.end())
    fail<UsageError>("'{}' is unknown, expected one of {}{}", word, fmt::join(allowed, ", "), did_you_mean(word, allowed));
  return word;
}

std::array<double, 2> parse_interval(const std::string& text) {
  const size_t comma = text.find(',');
  if (comma == text.npos) fail<UsageError>("'{}' is not an interval, expected two numbers with a comma between them", text);
  const std::array interval{parse_number(text.substr(0, comma)), parse_number(text.substr(comma + 1))};
  if (interval[0] > interval[1]) fail<UsageError>("the interval {} is reversed, expected the lower number first", text);
  return interval;
}

std::pair<std::string, std::string> parse_named(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == text.npos || equals == 0) fail<UsageError>("'{}' has no name and value, expected NAME=VALUE", text);
  return {text.substr(0, equals), text.substr(equals + 1)};
}

std::vector<double> parse_numbers(const std::string& text) {
  std::vector<double> numbers;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    numbers.push_back(parse_number(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return numbers;
}

std::vector<int32_t> parse_ids(const std::string& text) {
  std::vector<int32_t> ids;
  for (size_t begin = 0; !text.empty() && begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size()), first = std::min(text.find_first_not_of(' ', begin), end);
    ids.push_back(int32_t(parse_integer(text.substr(first, end - first), 0, std::numeric_limits<int32_t>::max())));
    begin = end + 1;
  }
  return ids;
}

std::vector<std::string> parse_words(const std::string& text, std::span<const std::string> allowed) {
  std::vector<std::string> words;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    words.push_back(check_word(text.substr(begin, end - begin), allowed));
    begin = end + 1;
  }
  return words;
}

}  // namespace hearth
