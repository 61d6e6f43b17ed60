#include "media/formats/png.h"

#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <cstring>
#include <new>

#include "core/files/file.h"
#include "core/text/utf8.h"

namespace hearth {
namespace {

// libpng's state. It reports errors by longjmp, which skips destructors, so code inside guarded() must own nothing.
struct Codec {
  ~Codec() {
    if (writing) png_destroy_write_struct(&png, &info);
    else png_destroy_read_struct(&png, &info, nullptr);
  }

  png_structp png = nullptr;
  png_infop info = nullptr;
  bool writing = false;
  char error[256] = "out of memory";
  std::vector<std::string> notes;
  std::string_view in;  // the bytes not yet read
  std::string out;
};

Codec& codec_of(png_structp png) { return *static_cast<Codec*>(png_get_error_ptr(png)); }

[[noreturn]] void on_error(png_structp png, png_const_charp message) {
  Codec& codec = codec_of(png);
  std::strncpy(codec.error, message, sizeof codec.error - 1);
  png_longjmp(png, 1);
}

void on_warning(png_structp png, png_const_charp message) {
  constexpr size_t most_notes = 20;  // a malicious file could otherwise cause any number
  Codec& codec = codec_of(png);
  if (codec.notes.size() >= most_notes) return;
  try {
    codec.notes.emplace_back(message);
  } catch (const std::bad_alloc&) {
    // An exception must not pass through libpng; the next allocation will report the lack of memory.
  }
}

void on_read(png_structp png, png_bytep to, size_t count) {
  Codec& codec = codec_of(png);
  if (codec.in.size() < count) png_error(png, "the file ends too early");
  std::memcpy(to, codec.in.data(), count);
  codec.in.remove_prefix(count);
}

void on_write(png_structp png, png_bytep from, size_t count) {
  bool done = true;
  try {
    codec_of(png).out.append(reinterpret_cast<const char*>(from), count);
  } catch (const std::bad_alloc&) { done = false; }
  if (!done) png_error(png, "out of memory");  // not inside the handler: a longjmp would never end it
}

// Runs calls to libpng; false if one of them failed.
template <class F> bool guarded(Codec& codec, F&& calls) {
  if (codec.png == nullptr || codec.info == nullptr || setjmp(png_jmpbuf(codec.png)) != 0) return false;
  calls();
  return true;
}

// A text chunk for libpng; the caller keeps `body` alive.
png_text text_chunk(const PngText& text, std::string& body) {
  const auto& key = text.keyword;
  const auto printable = [](char c) { return c >= ' ' && c <= '~'; };
  if (key.empty() || key.size() > 79 || !std::all_of(key.begin(), key.end(), printable) || key.front() == ' ' || key.back() == ' ')
    fail<UsageError>("png: keyword '{}', expected 1 to 79 printable ASCII characters without a space at either end", key);
  if (!is_utf8(text.text)) fail<UsageError>("png: the text '{}' is not valid UTF-8", key);
  const std::u32string points = decode_utf8(text.text);
  if (points.find(U'\0') != points.npos) fail<UsageError>("png: the text '{}' contains a zero byte", key);

  const bool latin1 = std::all_of(points.begin(), points.end(), [](char32_t c) { return c < 0x100; });
  body = text.text;
  if (latin1) body.assign(points.begin(), points.end());
  png_text chunk{};
  chunk.compression = latin1 ? PNG_TEXT_COMPRESSION_NONE : PNG_ITXT_COMPRESSION_NONE;
  chunk.key = const_cast<png_charp>(key.c_str());
  chunk.text = body.data();
  if (latin1) chunk.text_length = body.size();
  else chunk.itxt_length = body.size();
  return chunk;
}

std::string utf8_of(const png_text& chunk, std::vector<std::string>& notes) {
  const bool international = chunk.compression >= PNG_ITXT_COMPRESSION_NONE;
  const std::string_view bytes(chunk.text, international ? chunk.itxt_length : chunk.text_length);
  if (international && !is_utf8(bytes)) notes.push_back(fmt::format("the text '{}' is not valid UTF-8; it is read as Latin-1", chunk.key));
  return international ? utf8_or_latin1(bytes) : latin1_to_utf8(bytes);
}

// Deflate expands by a factor of at most 1032, so a small file that claims to be a large image is refused before memory is allocated for
// its pixels.
bool could_hold(size_t packed, uint64_t row_bytes, uint64_t rows) { return row_bytes * rows <= uint64_t(packed) * 1032; }

// The samples of one row in PNG's order, with the more significant byte of 16 bits first. `alpha` may be null.
template <class Level> void pack_row(const Level* rgb, const uint8_t* alpha, int64_t W, uint8_t* out) {
  const auto put = [&out](unsigned level) {
    if (sizeof(Level) == 2) *out++ = uint8_t(level >> 8);
    *out++ = uint8_t(level);
  };
  for (int64_t x = 0; x < W; ++x) {
    for (int c = 0; c < 3; ++c) put(rgb[3 * x + c]);
    if (alpha != nullptr) put(sizeof(Level) == 2 ? alpha[x] * 257u : alpha[x]);
  }
}

// Converts one row of RGB or RGBA samples.
void unpack_row(const uint8_t* in, int64_t y, bool transparent, Png& png) {
  const int64_t W = png.image.width;
  const bool deep = !png.deep.rgb.empty();
  for (int64_t x = y * W; x < (y + 1) * W; ++x) {
    for (int64_t i = 3 * x; i < 3 * x + 3; ++i) {
      png.image.rgb[size_t(i)] = *in;
      if (deep) png.deep.rgb[size_t(i)] = uint16_t(in[0] << 8 | in[1]);
      in += deep ? 2 : 1;
    }
    if (!transparent) continue;
    png.alpha.values[size_t(x)] = *in;
    in += deep ? 2 : 1;
  }
}

std::string kind_of(png_structp png, png_infop info) {
  const auto color = [&]() -> const char* {
    switch (png_get_color_type(png, info)) {
      case PNG_COLOR_TYPE_GRAY: return "gray";
      case PNG_COLOR_TYPE_GRAY_ALPHA: return "gray with alpha";
      case PNG_COLOR_TYPE_PALETTE: return "palette";
      case PNG_COLOR_TYPE_RGB: return "RGB";
      default: return "RGB with alpha";
    }
  }();
  return fmt::format("{} bits, {}{}", png_get_bit_depth(png, info), color,
                     png_get_interlace_type(png, info) == PNG_INTERLACE_NONE ? "" : ", interlaced");
}

// 8 or 16 bits; `Level` says which.
template <class Level>
std::string encode(int64_t W, int64_t H, const std::vector<Level>& rgb, std::span<const PngText> texts, const PixelMask& alpha) {
  if (W < 1 || H < 1 || W > PNG_UINT_31_MAX || H > PNG_UINT_31_MAX || rgb.size() / 3 / size_t(W) != size_t(H) ||
      rgb.size() % (3 * size_t(W)) != 0)
    fail<ShapeError>("png: {} bytes of pixels for {} × {}, expected width × height × 3", rgb.size() * sizeof(Level), W, H);
  const bool transparent = !alpha.values.empty();
  if (transparent && (alpha.width != W || alpha.height != H || alpha.values.size() != rgb.size() / 3))
    fail<ShapeError>("png: alpha of {} × {} for an image of {} × {}", alpha.width, alpha.height, W, H);

  std::vector<std::string> bodies(texts.size());
  std::vector<png_text> chunks(texts.size());
  for (size_t i = 0; i < texts.size(); ++i) chunks[i] = text_chunk(texts[i], bodies[i]);

  Codec codec;
  codec.writing = true;
  codec.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &codec, on_error, on_warning);
  if (codec.png != nullptr) codec.info = png_create_info_struct(codec.png);
  codec.out.reserve(rgb.size() * sizeof(Level) + 4096);
  std::vector<uint8_t> row(size_t(W) * (transparent ? 4 : 3) * sizeof(Level));
  const bool done = guarded(codec, [&] {
    png_set_write_fn(codec.png, nullptr, on_write, nullptr);
    png_set_user_limits(codec.png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_set_IHDR(codec.png, codec.info, png_uint_32(W), png_uint_32(H), 8 * sizeof(Level),
                 transparent ? PNG_COLOR_TYPE_RGB_ALPHA : PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_BASE,
                 PNG_FILTER_TYPE_BASE);
    if (!chunks.empty()) png_set_text(codec.png, codec.info, chunks.data(), int(chunks.size()));
    png_write_info(codec.png, codec.info);
    for (int64_t y = 0; y < H; ++y) {
      pack_row(rgb.data() + y * W * 3, transparent ? alpha.values.data() + y * W : nullptr, W, row.data());
      png_write_row(codec.png, row.data());
    }
    png_write_end(codec.png, codec.info);
  });
  if (!done) fail<IoError>("png: cannot encode {} × {}: {}", W, H, codec.error);
  return std::move(codec.out);
}

}  // namespace

std::string encode_png(const Pixels& image, std::span<const PngText> texts, const PixelMask& alpha) {
  return encode(image.width, image.height, image.rgb, texts, alpha);
}

std::string encode_png(const DeepPixels& image, std::span<const PngText> texts, const PixelMask& alpha) {
  return encode(image.width, image.height, image.rgb, texts, alpha);
}

void write_png(const std::filesystem::path& file, const Pixels& image, std::span<const PngText> texts) {
  write_file(file, encode_png(image, texts));
}

Png decode_png(std::string_view bytes, std::string_view where, const ImageLimits& limits) {
  if (int64_t(bytes.size()) > limits.file_bytes)
    fail<IoError>("png: {} has {} bytes, expected at most {}", where, bytes.size(), limits.file_bytes);
  if (bytes.size() < 8 || png_sig_cmp(reinterpret_cast<png_const_bytep>(bytes.data()), 0, 8) != 0)
    fail<IoError>("png: {} is not a PNG file", where);

  Codec codec;
  codec.in = bytes;
  codec.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &codec, on_error, on_warning);
  if (codec.png != nullptr) codec.info = png_create_info_struct(codec.png);
  const auto check = [&](bool done) {
    if (!done) fail<IoError>("png: {}: {}", where, codec.error);
  };

  check(guarded(codec, [&] {
    png_set_read_fn(codec.png, nullptr, on_read);
    png_set_user_limits(codec.png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_set_chunk_malloc_max(codec.png, png_alloc_size_t(limits.text_bytes));
    png_read_info(codec.png, codec.info);
  }));

  Png png{.image = {.width = int64_t(png_get_image_width(codec.png, codec.info)),
                    .height = int64_t(png_get_image_height(codec.png, codec.info)),
                    .rgb = {}},
          .kind = kind_of(codec.png, codec.info)};
  const int64_t W = png.image.width, H = png.image.height;
  if (W > limits.pixels / H) fail<IoError>("png: {} is {} × {}, at most {} pixels are read", where, W, H, limits.pixels);
  if (!could_hold(bytes.size(), png_get_rowbytes(codec.png, codec.info), uint64_t(H)))
    fail<IoError>("png: {} is {} × {} by its header, too much for {} bytes", where, W, H, bytes.size());
  if (png_get_valid(codec.png, codec.info, PNG_INFO_iCCP) != 0)
    codec.notes.emplace_back("the embedded color profile is ignored, sRGB assumed");

  const bool deep = png_get_bit_depth(codec.png, codec.info) == 16;
  const bool transparent =
      (png_get_color_type(codec.png, codec.info) & PNG_COLOR_MASK_ALPHA) != 0 || png_get_valid(codec.png, codec.info, PNG_INFO_tRNS) != 0;
  int passes = 1;
  check(guarded(codec, [&] {
    png_set_expand(codec.png);  // palette, less than 8 bits, a transparent color
    png_set_gray_to_rgb(codec.png);
    passes = png_set_interlace_handling(codec.png);
    png_read_update_info(codec.png, codec.info);
  }));
  const size_t row_bytes = png_get_rowbytes(codec.png, codec.info), pixel_bytes = (transparent ? 4 : 3) * (deep ? 2 : 1);
  if (row_bytes != size_t(W) * pixel_bytes)
    fail<IoError>("png: {}: {} bytes in a row of {} pixels, expected {} each", where, row_bytes, W, pixel_bytes);
  png.image.rgb.resize(size_t(W * H * 3));
  if (deep) png.deep = {.width = W, .height = H, .rgb = std::vector<uint16_t>(size_t(W * H * 3))};
  if (transparent) png.alpha = {.width = W, .height = H, .values = std::vector<uint8_t>(size_t(W * H))};
  // Interlaced rows are completed pass by pass, so all of them stay in memory.
  std::vector<uint8_t> rows(row_bytes * (passes == 1 ? 1 : size_t(H)));
  check(guarded(codec, [&] {
    for (int pass = 0; pass < passes; ++pass)
      for (int64_t y = 0; y < H; ++y) {
        uint8_t* row = rows.data() + (passes == 1 ? 0 : size_t(y) * row_bytes);
        png_read_row(codec.png, row, nullptr);
        if (pass + 1 == passes) unpack_row(row, y, transparent, png);
      }
    png_read_end(codec.png, codec.info);
  }));

  png_textp chunks = nullptr;
  int count = 0;
  png_get_text(codec.png, codec.info, &chunks, &count);
  for (int i = 0; i < count; ++i) png.texts.push_back({chunks[i].key, utf8_of(chunks[i], codec.notes)});
  png_bytep exif = nullptr;
  png_uint_32 exif_size = 0;
  if (png_get_eXIf_1(codec.png, codec.info, &exif_size, &exif) != 0) png.exif.assign(reinterpret_cast<const char*>(exif), exif_size);
  png.notes = std::move(codec.notes);
  return png;
}

Png read_png(const std::filesystem::path& file, const ImageLimits& limits) {
  return decode_png(read_file(file, limits.file_bytes), file.string(), limits);
}

}  // namespace hearth
