// The parts of XMP (ISO 16684-1) that generated images use: the text of one element, which holds hearth's recipe in JPEG and WebP files
// (`<hearth:hearth>`) or stable-diffusion.cpp's `parameters`, and tiff:Orientation. A packet is searched, not parsed as XML.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hearth {

// The text of the first element `<prefix:name>` with any prefix, with XML entities decoded; nullopt if there is none.
std::optional<std::string> xmp_text(std::string_view packet, std::string_view name);

// tiff:Orientation, an attribute or element of one digit, which Pillow uses if EXIF has no orientation.
std::optional<int64_t> xmp_orientation(std::string_view packet);

// A packet whose only content is `<hearth:name>text</hearth:name>`.
std::string write_xmp(std::string_view name, std::string_view text);

}  // namespace hearth
