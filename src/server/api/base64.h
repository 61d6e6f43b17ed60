// RFC 4648.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hearth::server {

std::string base64(std::string_view bytes);
// With or without padding, in the standard or the URL alphabet, line ends and spaces ignored. nullopt for anything else.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace hearth::server
