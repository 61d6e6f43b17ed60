// HTML character references, as ftfy 6.3.1 expands them.
#pragma once

#include <cstddef>
#include <string_view>

namespace hearth::text {

// The expansion of `&name;` in UTF-8 (one or two characters); empty for an unknown name. There are 3501 names: those of the HTML standard
// that end in a semicolon, and all-capital spellings of the lower-case ones (`NTILDE`).
std::string_view html_entity(std::string_view name);

// The generated table behind it (html_entities.cpp).
extern const std::string_view html_entity_table;
extern const size_t html_entity_count;

}  // namespace hearth::text
