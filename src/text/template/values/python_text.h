// Python's str operations, on UTF-8. Positions and widths count code points.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::text::jinja {

enum class Side { left, right, both };
// Without `characters`, what str.isspace calls space.
std::string_view strip(std::string_view text, Side side = Side::both, std::optional<std::string_view> characters = {});

// str.split and rsplit. Without separator: runs of space, no empty pieces. `limit` < 0: no limit. An empty separator is the caller's error.
std::vector<std::string_view> split(std::string_view text, std::optional<std::string_view> separator, int64_t limit);
std::vector<std::string_view> split_right(std::string_view text, std::optional<std::string_view> separator, int64_t limit);
std::vector<std::string_view> split_lines(std::string_view text, bool keep_ends = false);

// Non-overlapping, from the left; an empty `from` stands before each character and at the end. limit < 0: all.
std::string replace(std::string_view text, std::string_view from, std::string_view to, int64_t limit = -1);

std::string upper(std::string_view text);
std::string lower(std::string_view text);
std::string capitalize(std::string_view text);
std::string title(std::string_view text);
bool is_identifier(std::string_view text);  // str.isidentifier

// The byte at which the code point begins; text.size() for one past the end.
size_t byte_of(std::string_view text, size_t code_point);

}  // namespace hearth::text::jinja
