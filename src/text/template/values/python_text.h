// Python's str operations, on UTF-8. Positions and widths count code points.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::text::jinja {

enum class Side { left, right, both };
// Without `characters`: white space as defined by str.isspace.
std::string_view strip(std::string_view text, Side side = Side::both, std::optional<std::string_view> characters = {});

// str.split and rsplit. Without separator: runs of space, no empty pieces. `limit` < 0: no limit. The separator must not be empty.
std::vector<std::string_view> split(std::string_view text, std::optional<std::string_view> separator, int64_t limit);
std::vector<std::string_view> split_right(std::string_view text, std::optional<std::string_view> separator, int64_t limit);
std::vector<std::string_view> split_lines(std::string_view text, bool keep_ends = false);

// Non-overlapping, from the left; an empty `from` stands before each character and at the end. limit < 0: all.
std::string replace(std::string_view text, std::string_view from, std::string_view to, int64_t limit = -1);

std::string upper(std::string_view text);
std::string lower(std::string_view text);
std::string capitalize(std::string_view text);
std::string title(std::string_view text);
std::string swap_case(std::string_view text);
std::string case_fold(std::string_view text);
std::string expand_tabs(std::string_view text, int64_t size);

// str.isdigit and similar methods, by the name without "is"; nullopt for another name.
std::optional<bool> has_property(std::string_view text, std::string_view property);

// Filled up to the width; Side::both gives the odd character to the left where the width is odd, as str.center does.
std::string padded(std::string_view text, int64_t width, std::string_view fill, Side where);

// The byte at which the code point begins; text.size() for one past the end.
size_t byte_of(std::string_view text, size_t code_point);

}  // namespace hearth::text::jinja
