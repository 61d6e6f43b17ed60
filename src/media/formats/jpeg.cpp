#include "media/formats/jpeg.h"

#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include <jerror.h>
#include <jpeglib.h>

#include "core/error.h"
#include "core/text/utf8.h"

namespace hearth {
namespace {

constexpr std::string_view exif_mark("Exif\0\0", 6), xmp_mark("http://ns.adobe.com/xap/1.0/\0", 29), profile_mark("ICC_PROFILE\0", 12);
constexpr size_t longest_segment = 65'533;

// State of reading and writing. libjpeg reports errors by longjmp, which skips destructors, so code inside guarded() must own nothing.
struct Guard {
  jpeg_error_mgr errors{};
  std::jmp_buf jump{};
  char message[JMSG_LENGTH_MAX] = "out of memory";
  std::vector<std::string> notes;
};

Guard& guard_of(j_common_ptr info) { return *static_cast<Guard*>(info->client_data); }

[[noreturn]] void give_up(j_common_ptr info, const char* message) {
  Guard& guard = guard_of(info);
  std::strncpy(guard.message, message, sizeof guard.message - 1);
  std::longjmp(guard.jump, 1);
}

void on_error(j_common_ptr info) {
  char message[JMSG_LENGTH_MAX];
  info->err->format_message(info, message);
  give_up(info, message);
}

void on_message(j_common_ptr info, int level) {
  constexpr size_t most_notes = 20;  // a malicious file could otherwise cause any number
  Guard& guard = guard_of(info);
  if (level >= 0 || guard.notes.size() >= most_notes) return;
  char message[JMSG_LENGTH_MAX];
  info->err->format_message(info, message);
  try {
    guard.notes.emplace_back(message);
  } catch (const std::bad_alloc&) {
    // An exception must not pass through libjpeg; the next allocation will report the lack of memory.
  }
}

jpeg_error_mgr* install(Guard& guard) {
  jpeg_std_error(&guard.errors);
  guard.errors.error_exit = on_error;
  guard.errors.emit_message = on_message;
  return &guard.errors;
}

template <class F> bool guarded(Guard& guard, F&& calls) {
  if (setjmp(guard.jump) != 0) return false;
  calls();
  return true;
}

// Limits the number of scans, because a file could otherwise cost a pass over the image for every few bytes. No encoder writes more than a
// few dozen. libjpeg reports progress only on request.
void on_progress(j_common_ptr info) {
  constexpr int most_scans = 500;
  if (info->is_decompressor != 0 && reinterpret_cast<j_decompress_ptr>(info)->input_scan_number > most_scans)
    give_up(info, "more than 500 scans");
}

struct Reader : Guard {
  explicit Reader(std::string_view bytes) {
    info.err = install(*this);
    info.client_data = static_cast<Guard*>(this);
    made = guarded(*this, [&] { jpeg_create_decompress(&info); });
    source.next_input_byte = reinterpret_cast<const JOCTET*>(bytes.data());
    source.bytes_in_buffer = bytes.size();
    source.init_source = [](j_decompress_ptr) {};
    source.term_source = [](j_decompress_ptr) {};
    source.resync_to_restart = jpeg_resync_to_restart;
    source.fill_input_buffer = [](j_decompress_ptr i) -> boolean { give_up(reinterpret_cast<j_common_ptr>(i), "the file ends too early"); };
    source.skip_input_data = [](j_decompress_ptr i, long count) {
      if (count <= 0) return;
      if (size_t(count) > i->src->bytes_in_buffer) give_up(reinterpret_cast<j_common_ptr>(i), "the file ends too early");
      i->src->next_input_byte += count;
      i->src->bytes_in_buffer -= size_t(count);
    };
    info.src = &source;
    progress.progress_monitor = on_progress;
    info.progress = &progress;
  }
  ~Reader() { jpeg_destroy_decompress(&info); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  jpeg_decompress_struct info{};
  jpeg_source_mgr source{};
  jpeg_progress_mgr progress{};
  bool made = false;
};

struct Writer : Guard {
  Writer() {
    info.err = install(*this);
    info.client_data = static_cast<Guard*>(this);
    made = guarded(*this, [&] { jpeg_create_compress(&info); });
  }
  ~Writer() {
    jpeg_destroy_compress(&info);
    std::free(bytes);
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  jpeg_compress_struct info{};
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  bool made = false;
};

const char* process_of(const jpeg_decompress_struct& info) {
  if (info.arith_code != 0) return info.progressive_mode != 0 ? "progressive, arithmetic coding" : "arithmetic coding";
  return info.progressive_mode != 0 ? "progressive" : "baseline";
}

std::string kind_of(const jpeg_decompress_struct& info) {
  const auto color = [&]() -> const char* {
    switch (info.jpeg_color_space) {
      case JCS_GRAYSCALE: return "gray";
      case JCS_RGB: return "RGB";
      case JCS_YCbCr: return "YCbCr";
      case JCS_CMYK: return "CMYK";
      case JCS_YCCK: return "YCCK";
      default: return "unknown color space";
    }
  }();
  std::string kind = fmt::format("{}, {}", process_of(info), color);
  if (info.num_components < 3) return kind;
  const jpeg_component_info &luma = info.comp_info[0], &chroma = info.comp_info[1];
  const int across = luma.h_samp_factor / chroma.h_samp_factor, down = luma.v_samp_factor / chroma.v_samp_factor;
  if (across * chroma.h_samp_factor != luma.h_samp_factor || down * chroma.v_samp_factor != luma.v_samp_factor || down > 2 || across > 4)
    return kind;
  return kind + fmt::format(" 4:{}:{}", 4 / across, down == 1 ? 4 / across : 0);
}

// Each 8 × 8 block of each channel takes at least one bit, except with arithmetic coding. A small file that claims to be a large image is
// therefore refused before memory is allocated for its pixels.
bool could_hold(const jpeg_decompress_struct& info, size_t bytes) {
  if (info.arith_code != 0) return true;
  uint64_t blocks = 0;
  for (int i = 0; i < info.num_components; ++i) blocks += uint64_t(info.comp_info[i].width_in_blocks) * info.comp_info[i].height_in_blocks;
  return blocks <= uint64_t(bytes) * 8;
}

void take_markers(const jpeg_decompress_struct& info, Jpeg& jpeg, std::vector<std::string>& notes) {
  for (jpeg_saved_marker_ptr marker = info.marker_list; marker != nullptr; marker = marker->next) {
    const std::string_view data(reinterpret_cast<const char*>(marker->data), marker->data_length);
    if (marker->marker == JPEG_COM) jpeg.comments.push_back(utf8_or_latin1(data.substr(0, data.find_last_not_of('\0') + 1)));
    else if (data.starts_with(exif_mark) && jpeg.exif.empty()) jpeg.exif = data.substr(exif_mark.size());
    else if (data.starts_with(xmp_mark) && jpeg.xmp.empty()) jpeg.xmp = data.substr(xmp_mark.size());
    else if (data.starts_with(profile_mark) && (notes.empty() || !notes[0].starts_with("the embedded")))
      notes.insert(notes.begin(), "the embedded color profile is ignored, sRGB assumed");
  }
}

// a · b / 255, to the nearest.
uint8_t product(unsigned a, unsigned b) {
  const unsigned t = a * b + 128;
  return uint8_t(((t >> 8) + t) >> 8);
}

// Converts one row of libjpeg's output to red, green, blue.
void convert_row(const uint8_t* in, int colors, int64_t W, uint8_t* out) {
  for (int64_t x = 0; x < W; ++x)
    for (int c = 0; c < 3; ++c) {
      if (colors == 1) out[3 * x + c] = in[x];
      else if (colors == 3) out[3 * x + c] = in[3 * x + c];
      else out[3 * x + c] = uint8_t(in[4 * x + 3] - product(255u - in[4 * x + c], in[4 * x + 3]));  // stored inverted
    }
}

void write_segment(jpeg_compress_struct& info, std::string_view mark, std::string_view data) {
  if (data.empty()) return;
  jpeg_write_m_header(&info, JPEG_APP0 + 1, unsigned(mark.size() + data.size()));
  for (const std::string_view part : {mark, data})
    for (const char c : part) jpeg_write_m_byte(&info, uint8_t(c));
}

}  // namespace

Jpeg decode_jpeg(std::string_view bytes, std::string_view where, const ImageLimits& limits) {
  if (int64_t(bytes.size()) > limits.file_bytes)
    fail<IoError>("jpeg: {} has {} bytes, expected at most {}", where, bytes.size(), limits.file_bytes);
  if (!bytes.starts_with("\xFF\xD8\xFF")) fail<IoError>("jpeg: {} is not a JPEG file", where);

  Reader reader(bytes);
  jpeg_decompress_struct& info = reader.info;
  const auto check = [&](bool done) {
    if (!done) fail<IoError>("jpeg: {}: {}", where, reader.message);
  };
  check(reader.made);
  check(guarded(reader, [&] {
    for (const int marker : {JPEG_APP0 + 1, JPEG_APP0 + 2, JPEG_COM}) jpeg_save_markers(&info, marker, 0xFFFF);
    jpeg_read_header(&info, TRUE);
  }));

  const int colors = info.num_components;
  Jpeg jpeg{.image = {.width = info.image_width, .height = info.image_height, .rgb = {}}, .kind = kind_of(info)};
  Pixels& image = jpeg.image;
  if (colors != 1 && colors != 3 && colors != 4)
    fail<UnsupportedError>("jpeg: {} has {} channels, expected 1 (gray), 3 (YCbCr, RGB) or 4 (CMYK, YCCK)", where, colors);
  if (image.width > limits.pixels / image.height)
    fail<IoError>("jpeg: {} is {} × {}, at most {} pixels are read", where, image.width, image.height, limits.pixels);
  if (!could_hold(info, bytes.size()))
    fail<IoError>("jpeg: {} is {} × {} by its header, too much for {} bytes", where, image.width, image.height, bytes.size());

  const size_t row_bytes = size_t(image.width) * 3;
  image.rgb.resize(row_bytes * size_t(image.height));
  std::vector<uint8_t> row(size_t(image.width) * size_t(colors));
  check(guarded(reader, [&] {
    info.out_color_space = colors == 1 ? JCS_GRAYSCALE : colors == 3 ? JCS_RGB : JCS_CMYK;
    jpeg_start_decompress(&info);
    while (info.output_scanline < info.output_height) {
      uint8_t* out = image.rgb.data() + info.output_scanline * row_bytes;
      uint8_t* line = row.data();
      jpeg_read_scanlines(&info, &line, 1);
      convert_row(row.data(), colors, int64_t(info.image_width), out);
    }
  }));
  take_markers(info, jpeg, reader.notes);  // before libjpeg frees them
  check(guarded(reader, [&] { jpeg_finish_decompress(&info); }));
  jpeg.notes = std::move(reader.notes);
  return jpeg;
}

std::string encode_jpeg(const Pixels& image, const JpegOptions& options) {
  const int64_t W = image.width, H = image.height;
  if (W < 1 || H < 1 || image.rgb.size() / 3 / size_t(W) != size_t(H) || image.rgb.size() % (3 * size_t(W)) != 0)
    fail<ShapeError>("jpeg: {} bytes of pixels for {} × {}, expected width × height × 3", image.rgb.size(), W, H);
  if (W > longest_jpeg_side || H > longest_jpeg_side)
    fail<UsageError>("jpeg: {} × {} is out of range, expected sides of at most {}", W, H, longest_jpeg_side);
  if (options.quality < 1 || options.quality > 100) fail<UsageError>("jpeg: quality {}, expected 1 to 100", options.quality);
  if (options.exif.size() > longest_segment - exif_mark.size() || options.xmp.size() > longest_segment - xmp_mark.size())
    fail<UsageError>("jpeg: {} bytes of EXIF and {} of XMP, expected at most {} and {}", options.exif.size(), options.xmp.size(),
                     longest_segment - exif_mark.size(), longest_segment - xmp_mark.size());

  Writer writer;
  jpeg_compress_struct& info = writer.info;
  const bool done = writer.made && guarded(writer, [&] {
                      jpeg_mem_dest(&info, &writer.bytes, &writer.size);
                      info.image_width = JDIMENSION(W);
                      info.image_height = JDIMENSION(H);
                      info.input_components = 3;
                      info.in_color_space = JCS_RGB;
                      jpeg_set_defaults(&info);
                      jpeg_set_quality(&info, options.quality, TRUE);
                      info.optimize_coding = TRUE;
                      info.comp_info[0].h_samp_factor = info.comp_info[0].v_samp_factor = options.chroma == Chroma::half ? 2 : 1;
                      jpeg_start_compress(&info, TRUE);
                      write_segment(info, exif_mark, options.exif);
                      write_segment(info, xmp_mark, options.xmp);
                      while (info.next_scanline < info.image_height) {
                        auto* row = const_cast<uint8_t*>(image.rgb.data()) + size_t(info.next_scanline) * size_t(W) * 3;
                        jpeg_write_scanlines(&info, &row, 1);
                      }
                      jpeg_finish_compress(&info);
                    });
  if (!done) fail<IoError>("jpeg: cannot encode {} × {}: {}", W, H, writer.message);
  return {reinterpret_cast<const char*>(writer.bytes), writer.size};
}

}  // namespace hearth
