// The parts of XMP (ISO 16684-1) that images of this field use: one element's text, where hearth writes its recipe into JPEG and
// WebP (`<hearth:hearth>`) and stable-diffusion.cpp its `parameters`, and tiff:Orientation. A packet is searched, not parsed as XML.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hearth {

// The text of the first element `<prefix:name>`, whatever the prefix, with XML's entities undone. None without one.
std::optional<std::string> xmp_text(std::string_view packet, std::string_view name);

// tiff:Orientation, as attribute or element, one digit: what Pillow goes by where EXIF says nothing.
std::optional<int64_t> xmp_orientation(std::string_view packet);

// A packet whose only content is `<hearth:name>text</hearth:name>`.
std::string write_xmp(std::string_view name, std::string_view text);

}  // namespace hearth
