#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/settings/setting.h"
#include "core/error.h"
#include "core/files/file.h"
#include "core/text/utf8.h"
#include "hearth/hearth.h"
#include "media/formats/image_file.h"
#include "media/formats/webp.h"
#include "media/metadata/exif.h"
#include "media/metadata/parameters.h"
#include "media/metadata/xmp.h"

namespace hearth {
namespace {

ImageFormat format_by_name(const std::filesystem::path& file) {
  std::string ending = file.extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  if (ending == ".png") return ImageFormat::png;
  if (ending == ".jpg" || ending == ".jpeg") return ImageFormat::jpeg;
  if (ending == ".webp") return ImageFormat::webp;
  fail<UsageError>("image: '{}' has an unsupported extension, expected .png, .jpg, .jpeg or .webp", file.string());
}

void check_options(ImageFormat format, const SaveOptions& options) {
  const char* name = name_of(format);
  if (options.png_bits && format != ImageFormat::png)
    fail<UsageError>("image: {} bits per channel require PNG, {} has 8", *options.png_bits, name);
  if (options.png_bits && *options.png_bits != 8 && *options.png_bits != 16)
    fail<UsageError>("image: {} bits, expected 8 or 16", *options.png_bits);
  if (options.jpeg_chroma && format != ImageFormat::jpeg) fail<UsageError>("image: chroma subsampling requires JPEG, not {}", name);
  if (options.lossless && format != ImageFormat::webp) fail<UsageError>("image: lossless requires WebP, not {}", name);
  if (!options.quality) return;
  if (format == ImageFormat::png) fail<UsageError>("image: quality {} requires JPEG or WebP, PNG is lossless", *options.quality);
  if (options.lossless) fail<UsageError>("image: quality {} cannot be combined with lossless", *options.quality);
  const int lowest = format == ImageFormat::jpeg ? 1 : 0;
  if (*options.quality < lowest || *options.quality > 100)
    fail<UsageError>("image: quality {} for {}, expected {} to 100", *options.quality, name, lowest);
}

// Bytes of the text in UTF-16.
size_t utf16_size(const std::string& text) {
  if (!is_utf8(text)) return 2 * text.size();
  const std::u32string points = decode_utf8(text);
  return 2 * (points.size() + size_t(std::count_if(points.begin(), points.end(), [](char32_t c) { return c >= 0x10000; })));
}

size_t bytes_of(const std::vector<std::string>& texts) {
  size_t bytes = 0;
  for (const std::string& text : texts) bytes += text.size();
  return bytes;
}

// Whether the prompts fit into a JPEG's segments of 64 kB together with the rest of the metadata.
bool fits_jpeg(const Request& request) {
  constexpr size_t others = 6000, segment = 65'504;
  const nlohmann::json prompts = api::prompts_of(request);
  const std::string json = prompts.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return utf16_size(request.prompt) + utf16_size(request.negative_prompt.value_or("")) + others <= segment &&
         write_xmp(recipe_keyword, json).size() + others <= segment;
}

Image image_of(LoadedImage read) {
  Image image{.width = read.image.width, .height = read.image.height, .rgb = std::move(read.image.rgb)};
  if (const std::string* text = read.find(parameters_keyword)) image.parameters = *text;
  if (const std::string* text = read.find(recipe_keyword)) image.json = *text;
  image.alpha = std::move(read.alpha.values);
  image.rgb16 = std::move(read.deep.rgb);
  return image;
}

}  // namespace

void check_save(const std::filesystem::path& file, const SaveOptions& options, const Request& request) {
  const ImageFormat format = format_by_name(file);
  check_options(format, options);
  const int64_t side = std::max(request.width.value_or(0), request.height.value_or(0));
  const int64_t most = format == ImageFormat::jpeg ? longest_jpeg_side : longest_webp_side;
  if (format != ImageFormat::png && side > most)
    fail<UsageError>("image: a side of {} pixels for {}, expected at most {}", side, name_of(format), most);
  if (format == ImageFormat::jpeg && !fits_jpeg(request))
    fail<UsageError>("image: prompts of {} bytes exceed a JPEG's 64 kB of metadata, expected PNG or WebP",
                     bytes_of(api::prompts_of(request)));
}

void Image::save(const std::filesystem::path& file, const SaveOptions& options) const { write_file(file, encode(file, options)); }

std::string Image::encode(const std::filesystem::path& file, const SaveOptions& options) const {
  const ImageFormat format = format_by_name(file);
  check_options(format, options);
  const Pixels pixels{.width = width, .height = height, .rgb = rgb};
  const PixelMask transparency = alpha.empty() ? PixelMask{} : PixelMask{.width = width, .height = height, .values = alpha};
  if (format == ImageFormat::png) {
    std::vector<PngText> texts;
    if (!parameters.empty()) texts.push_back({std::string(parameters_keyword), parameters});
    if (!json.empty()) texts.push_back({std::string(recipe_keyword), json});
    if (options.png_bits.value_or(8) == 8) return encode_png(pixels, texts, transparency);
    if (rgb16.empty()) fail<UsageError>("image: {} in 16 bits, but the image has 8, expected Request::deep_color", file.string());
    return encode_png(DeepPixels{.width = width, .height = height, .rgb = rgb16}, texts, transparency);
  }
  const std::string exif = parameters.empty() ? "" : write_exif(parameters), xmp = json.empty() ? "" : write_xmp(recipe_keyword, json);
  if (format == ImageFormat::webp)
    return encode_webp(pixels, transparency,
                       {.quality = options.quality.value_or(90), .lossless = options.lossless, .exif = exif, .xmp = xmp});
  if (!alpha.empty()) fail<UsageError>("image: {} is transparent, which JPEG does not support, expected PNG or WebP", file.string());
  return encode_jpeg(pixels, {.quality = options.quality.value_or(90),
                              .chroma = options.jpeg_chroma == JpegChroma::full ? Chroma::full : Chroma::half,
                              .exif = exif,
                              .xmp = xmp});
}

Image Image::load(const std::filesystem::path& file) { return image_of(read_image(file)); }

Image Image::decode(std::string_view bytes, std::string_view where, int64_t most_pixels) {
  return image_of(decode_image(bytes, where, {.pixels = most_pixels}));
}

}  // namespace hearth
