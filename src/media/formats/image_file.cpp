#include "media/formats/image_file.h"

#include <algorithm>

#include "core/error.h"
#include "core/files/file.h"
#include "media/formats/webp.h"
#include "media/metadata/exif.h"
#include "media/metadata/orientation.h"
#include "media/metadata/parameters.h"
#include "media/metadata/xmp.h"

namespace hearth {
namespace {

struct Magic {
  size_t at;
  std::string_view bytes;
  const char* name;
};
using namespace std::string_view_literals;
constexpr Magic unread[] = {
    {0, "GIF8"sv, "GIF"},
    {0, "BM"sv, "BMP"},
    {0, "II*\0"sv, "TIFF"},
    {0, "MM\0*"sv, "TIFF"},
    {4, "ftypavif"sv, "AVIF"},
    {4, "ftypavis"sv, "AVIF"},
    {4, "ftyphei"sv, "HEIC"},
    {4, "ftypmif1"sv, "HEIF"},
    {4, "ftypmsf1"sv, "HEIF"},
    {0, "\xFF\x0A"sv, "JPEG XL"},
    {0, "\0\0\0\x0CJXL \r\n\x87\n"sv, "JPEG XL"},
    {0, "\0\0\0\x0CjP  \r\n\x87\n"sv, "JPEG 2000"},
    {0, "\xFF\x4F\xFF\x51"sv, "JPEG 2000"},
    {0, "8BPS"sv, "PSD"},
    {0, "\0\0\1\0"sv, "ICO"},
    {0, "qoif"sv, "QOI"},
    {0, "DDS "sv, "DDS"},
    {0, "v/1\1"sv, "OpenEXR"},
    {0, "\x8AMNG\r\n\x1A\n"sv, "MNG"},
    {0, "gimp xcf"sv, "XCF"},
    {0, "#?RADIANCE"sv, "Radiance HDR"},
    {0, "<svg"sv, "SVG"},
    {0, "%PDF"sv, "PDF"},
};

bool is_portable_map(std::string_view bytes) {
  return bytes.size() > 2 && bytes[0] == 'P' && bytes[1] >= '1' && bytes[1] <= '7' && (bytes[2] == '\n' || bytes[2] == ' ');
}

bool are_parameters(const std::string& text) { return !parse_parameters(text).settings.empty(); }

void add(LoadedImage& image, std::string_view keyword, std::string text) {
  if (!text.empty()) image.texts.push_back({std::string(keyword), std::move(text)});
}

// Reads texts and orientation from EXIF and XMP.
void take_metadata(LoadedImage& image, const std::string& exif_bytes, const std::string& xmp) {
  Exif exif = parse_exif(exif_bytes);
  image.orientation = exif.orientation.value_or(xmp_orientation(xmp).value_or(1));
  const bool a1111 = are_parameters(exif.user_comment);
  add(image, a1111 ? parameters_keyword : "UserComment", std::move(exif.user_comment));
  for (auto& [tag, text] : exif.texts)  // ComfyUI: "prompt:{…}" and "workflow:{…}" in Make, Model or the tags before them
    for (const std::string_view keyword : {"prompt"sv, "workflow"sv})
      if (text.starts_with(std::string(keyword) + ":{")) add(image, keyword, text.substr(keyword.size() + 1));
  for (const std::string_view keyword : {parameters_keyword, recipe_keyword})
    if (image.find(keyword) == nullptr) add(image, keyword, xmp_text(xmp, keyword).value_or(""));
}

// EXIF as ImageMagick stores it in PNG: "\nexif\n    size\n", then lines of hexadecimal digits.
std::string raw_profile(std::string_view text) {
  for (int line = 0; line < 3; ++line) {
    const size_t end = text.find('\n');
    if (end == text.npos) return "";
    text.remove_prefix(end + 1);
  }
  std::string bytes;
  int high = -1;
  for (const char c : text) {
    const auto digit = "0123456789abcdef"sv.find(c >= 'A' && c <= 'F' ? char(c + 32) : c);
    if (digit == std::string_view::npos) continue;
    if (high < 0) high = int(digit);
    else {
      bytes += char(high << 4 | int(digit));
      high = -1;
    }
  }
  return bytes;
}

LoadedImage from(Png png) {
  LoadedImage image{.format = ImageFormat::png,
                    .kind = std::move(png.kind),
                    .image = std::move(png.image),
                    .deep = std::move(png.deep),
                    .alpha = std::move(png.alpha),
                    .texts = {},
                    .notes = std::move(png.notes)};
  std::string xmp;
  for (PngText& text : png.texts) {
    if (text.keyword == "XML:com.adobe.xmp") xmp = std::move(text.text);
    else if (text.keyword == "Raw profile type exif") {
      if (png.exif.empty()) png.exif = raw_profile(text.text);
    } else image.texts.push_back(std::move(text));
  }
  take_metadata(image, png.exif, xmp);
  return image;
}

LoadedImage from(Jpeg jpeg) {
  LoadedImage image{.format = ImageFormat::jpeg,
                    .kind = std::move(jpeg.kind),
                    .image = std::move(jpeg.image),
                    .texts = {},
                    .notes = std::move(jpeg.notes)};
  take_metadata(image, jpeg.exif, jpeg.xmp);
  for (std::string& comment : jpeg.comments) {
    const bool a1111 = image.find(parameters_keyword) == nullptr && are_parameters(comment);
    add(image, a1111 ? parameters_keyword : "comment", std::move(comment));
  }
  return image;
}

LoadedImage from(WebP webp) {
  LoadedImage image{.format = ImageFormat::webp,
                    .kind = std::move(webp.kind),
                    .image = std::move(webp.image),
                    .alpha = std::move(webp.alpha),
                    .texts = {},
                    .notes = std::move(webp.notes)};
  take_metadata(image, webp.exif, webp.xmp);
  return image;
}

}  // namespace

const char* name_of(ImageFormat format) { return format == ImageFormat::png ? "PNG" : format == ImageFormat::jpeg ? "JPEG" : "WebP"; }

std::optional<ImageFormat> image_format(std::string_view bytes, std::string_view where) {
  if (bytes.starts_with("\x89PNG\r\n\x1A\n")) return ImageFormat::png;
  if (bytes.starts_with("\xFF\xD8\xFF")) return ImageFormat::jpeg;
  if (bytes.starts_with("RIFF") && bytes.size() >= 12 && bytes.substr(8, 4) == "WEBP") return ImageFormat::webp;
  const auto refuse = [&](const char* name) { fail<UnsupportedError>("image: {} is a {} file, expected PNG, JPEG or WebP", where, name); };
  for (const Magic& magic : unread)
    if (bytes.size() > magic.at && bytes.substr(magic.at).starts_with(magic.bytes)) refuse(magic.name);
  if (is_portable_map(bytes)) refuse("PNM");
  return std::nullopt;
}

const std::string* LoadedImage::find(std::string_view keyword) const {
  const auto at = std::find_if(texts.begin(), texts.end(), [&](const PngText& text) { return text.keyword == keyword; });
  return at == texts.end() ? nullptr : &at->text;
}

LoadedImage decode_image(std::string_view bytes, std::string_view where, const ImageLimits& limits) {
  const auto format = image_format(bytes, where);
  if (!format) fail<IoError>("image: {} is not an image, expected PNG, JPEG or WebP", where);
  LoadedImage image = format == ImageFormat::png    ? from(decode_png(bytes, where, limits))
                      : format == ImageFormat::jpeg ? from(decode_jpeg(bytes, where, limits))
                                                    : from(decode_webp(bytes, where, limits));
  image.image = upright(std::move(image.image), image.orientation);
  image.deep = upright(std::move(image.deep), image.orientation);
  image.alpha = upright(std::move(image.alpha), image.orientation);
  return image;
}

LoadedImage read_image(const std::filesystem::path& file, const ImageLimits& limits) {
  return decode_image(read_file(file, limits.file_bytes), file.string(), limits);
}

}  // namespace hearth
