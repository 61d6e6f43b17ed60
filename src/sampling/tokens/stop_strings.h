// Stop sequences in streamed text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::sampling {

// Generation ends at the first byte that completes a stop sequence; if it completes several, the longest counts. The result does not
// depend on how the text was split into pieces. Linear time.
class StopStrings {
 public:
  // Any number of them, including none. UsageError for an empty one, and for one that is not UTF-8, which no completion can contain.
  explicit StopStrings(const std::vector<std::string>& strings);

  // Appends text, which must not end inside a UTF-8 sequence, and returns what can be printed now: everything that cannot be part of a
  // stop sequence, in whole characters. Returns nothing after the stop.
  std::string feed(std::string_view text);
  // At the end of the completion: the text that feed() has held back. Nothing after a stop.
  std::string flush();

  struct Stop {
    size_t index;       // of the stop sequence
    uint64_t position;  // its start, in bytes of all text fed; everything before it has been returned
    bool operator==(const Stop&) const = default;
  };
  const std::optional<Stop>& stop() const { return stop_; }

 private:
  // Knuth, Morris & Pratt 1977.
  struct Matcher {
    std::string string;
    std::vector<size_t> border;  // [i]: length of the longest proper border of the first i + 1 bytes
    size_t matched = 0;          // bytes of the string that the text ends with

    void advance(char c);
  };

  std::vector<Matcher> matchers_;
  std::string held_;
  uint64_t fed_ = 0;  // bytes
  std::optional<Stop> stop_;
};

}  // namespace hearth::sampling
