// Texts that end an answer, found while it is streamed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::sampling {

// The answer ends at the first byte that completes a stop string; of several that it completes, the longest counts. How the text was
// cut into pieces does not matter. Time is linear in the text.
class StopStrings {
 public:
  // Any number of them, none of them allowed. UsageError for an empty one, and for one that is not UTF-8: no answer holds it.
  explicit StopStrings(const std::vector<std::string>& strings);

  // Appends text, which does not end inside a UTF-8 sequence, and returns what can be printed now: everything that belongs to no
  // stop string, whatever comes next. Whole characters only. After the stop nothing comes any more.
  std::string feed(std::string_view text);
  // The end of the answer: what feed() has held back. Nothing after a stop.
  std::string flush();

  struct Stop {
    size_t index;       // which of the strings
    uint64_t position;  // where it begins, in bytes of all text fed; everything before it has been returned
    bool operator==(const Stop&) const = default;
  };
  const std::optional<Stop>& stop() const { return stop_; }

 private:
  // Knuth, Morris & Pratt 1977.
  struct Matcher {
    std::string string;
    std::vector<size_t> border;  // [i]: length of the longest proper border of the first i + 1 bytes
    size_t matched = 0;          // bytes of the string that the text ends in

    void advance(char c);
  };

  std::vector<Matcher> matchers_;
  std::string held_;
  uint64_t fed_ = 0;  // bytes
  std::optional<Stop> stop_;
};

}  // namespace hearth::sampling
