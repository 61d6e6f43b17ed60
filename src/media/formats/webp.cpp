#include "media/formats/webp.h"

#include <webp/decode.h>
#include <webp/demux.h>
#include <webp/encode.h>
#include <webp/mux.h>

#include <algorithm>
#include <cstddef>
#include <memory>

#include "core/error.h"

namespace hearth {
namespace {

WebPData data_of(std::string_view bytes) { return {.bytes = reinterpret_cast<const uint8_t*>(bytes.data()), .size = bytes.size()}; }

std::string chunk_of(const WebPDemuxer* demuxer, const char* name) {
  WebPChunkIterator chunk{};
  std::string bytes;
  if (WebPDemuxGetChunk(demuxer, name, 1, &chunk) != 0) bytes.assign(reinterpret_cast<const char*>(chunk.chunk.bytes), chunk.chunk.size);
  WebPDemuxReleaseChunkIterator(&chunk);
  return bytes;
}

const char* reason(WebPEncodingError error) {
  switch (error) {
    case VP8_ENC_ERROR_OUT_OF_MEMORY:
    case VP8_ENC_ERROR_BITSTREAM_OUT_OF_MEMORY: return "out of memory";
    case VP8_ENC_ERROR_PARTITION0_OVERFLOW:
    case VP8_ENC_ERROR_PARTITION_OVERFLOW: return "too much detail for the format";
    case VP8_ENC_ERROR_FILE_TOO_BIG: return "the file would be larger than 4 GiB";
    default: return "libwebp refused it";
  }
}

struct EncodedImage {
  EncodedImage() {
    WebPPictureInit(&image);
    WebPMemoryWriterInit(&writer);
    image.writer = WebPMemoryWrite;
    image.custom_ptr = &writer;
  }
  ~EncodedImage() {
    WebPPictureFree(&image);
    WebPMemoryWriterClear(&writer);
  }
  EncodedImage(const EncodedImage&) = delete;
  EncodedImage& operator=(const EncodedImage&) = delete;

  WebPPicture image{};
  WebPMemoryWriter writer{};
};

std::string with_metadata(const WebPData& image, const WebPOptions& options) {
  const std::unique_ptr<WebPMux, decltype(&WebPMuxDelete)> mux(WebPMuxNew(), WebPMuxDelete);
  bool done = mux != nullptr && WebPMuxSetImage(mux.get(), &image, 0) == WEBP_MUX_OK;
  for (const auto& [name, bytes] : {std::pair{"EXIF", options.exif}, {"XMP ", options.xmp}}) {
    const WebPData data = data_of(bytes);
    if (!bytes.empty()) done = done && WebPMuxSetChunk(mux.get(), name, &data, 0) == WEBP_MUX_OK;
  }
  WebPData assembled{};
  done = done && WebPMuxAssemble(mux.get(), &assembled) == WEBP_MUX_OK;
  const std::string bytes(reinterpret_cast<const char*>(assembled.bytes), assembled.size);
  WebPDataClear(&assembled);
  if (!done) fail<IoError>("webp: cannot add {} bytes of EXIF and {} of XMP", options.exif.size(), options.xmp.size());
  return bytes;
}

}  // namespace

WebP decode_webp(std::string_view bytes, std::string_view where, const ImageLimits& limits) {
  if (int64_t(bytes.size()) > limits.file_bytes)
    fail<IoError>("webp: {} has {} bytes, expected at most {}", where, bytes.size(), limits.file_bytes);
  if (!bytes.starts_with("RIFF") || bytes.size() < 12 || bytes.substr(8, 4) != "WEBP") fail<IoError>("webp: {} is not a WebP file", where);

  const WebPData data = data_of(bytes);
  WebPBitstreamFeatures features{};
  const VP8StatusCode status = WebPGetFeatures(data.bytes, data.size, &features);
  if (status == VP8_STATUS_NOT_ENOUGH_DATA) fail<IoError>("webp: {}: the file ends too early", where);
  if (status != VP8_STATUS_OK) fail<IoError>("webp: {}: the header is damaged", where);
  if (features.has_animation != 0) fail<UnsupportedError>("webp: {} is an animation, expected a still image", where);
  const int64_t W = features.width, H = features.height;
  if (W < 1 || H < 1) fail<IoError>("webp: {}: the header is damaged", where);
  if (W > limits.pixels / H) fail<IoError>("webp: {} is {} × {}, at most {} pixels are read", where, W, H, limits.pixels);

  WebPDemuxState state = WEBP_DEMUX_PARSE_ERROR;
  const std::unique_ptr<WebPDemuxer, decltype(&WebPDemuxDelete)> demuxer(WebPDemuxPartial(&data, &state), WebPDemuxDelete);
  if (state == WEBP_DEMUX_PARSED_HEADER || state == WEBP_DEMUX_PARSING_HEADER) fail<IoError>("webp: {}: the file ends too early", where);
  if (demuxer == nullptr || state != WEBP_DEMUX_DONE) fail<IoError>("webp: {}: the container is damaged", where);

  const bool transparent = features.has_alpha != 0;
  const int64_t C = transparent ? 4 : 3;
  std::vector<uint8_t> samples(size_t(W * H * C));
  const auto decode = transparent ? WebPDecodeRGBAInto : WebPDecodeRGBInto;
  if (decode(data.bytes, data.size, samples.data(), samples.size(), int(W * C)) == nullptr)
    fail<IoError>("webp: {}: the pixels are damaged or cut off", where);

  WebP webp{
      .kind = features.format == 2 ? "lossless" : "lossy", .exif = chunk_of(demuxer.get(), "EXIF"), .xmp = chunk_of(demuxer.get(), "XMP ")};
  if (!chunk_of(demuxer.get(), "ICCP").empty()) webp.notes.emplace_back("the embedded color profile is ignored, sRGB assumed");
  webp.image = {.width = W, .height = H, .rgb = {}};
  if (!transparent) {
    webp.image.rgb = std::move(samples);
    return webp;
  }
  webp.alpha = {.width = W, .height = H, .values = std::vector<uint8_t>(size_t(W * H))};
  webp.image.rgb.resize(size_t(W * H * 3));
  for (size_t i = 0; i < size_t(W * H); ++i) {
    std::copy_n(&samples[4 * i], 3, &webp.image.rgb[3 * i]);
    webp.alpha.values[i] = samples[4 * i + 3];
  }
  return webp;
}

std::string encode_webp(const Pixels& image, const PixelMask& alpha, const WebPOptions& options) {
  const int64_t W = image.width, H = image.height;
  if (W < 1 || H < 1 || image.rgb.size() / 3 / size_t(W) != size_t(H) || image.rgb.size() % (3 * size_t(W)) != 0)
    fail<ShapeError>("webp: {} bytes of pixels for {} × {}, expected width × height × 3", image.rgb.size(), W, H);
  const bool transparent = !alpha.values.empty();
  if (transparent && (alpha.width != W || alpha.height != H || alpha.values.size() != image.rgb.size() / 3))
    fail<ShapeError>("webp: alpha of {} × {} for an image of {} × {}", alpha.width, alpha.height, W, H);
  if (W > longest_webp_side || H > longest_webp_side)
    fail<UsageError>("webp: {} × {} is out of range, expected sides of at most {}", W, H, longest_webp_side);
  if (options.quality < 0 || options.quality > 100) fail<UsageError>("webp: quality {}, expected 0 to 100", options.quality);

  WebPConfig config;
  bool done = WebPConfigInit(&config) != 0;
  config.quality = float(options.quality);
  if (options.lossless) done = done && WebPConfigLosslessPreset(&config, 6) != 0;
  config.exact = 1;

  EncodedImage encoded;
  WebPPicture& target = encoded.image;
  target.width = int(W);
  target.height = int(H);
  target.use_argb = options.lossless ? 1 : 0;
  if (transparent) {
    std::vector<uint8_t> rgba(size_t(W * H * 4));
    for (size_t i = 0; i < size_t(W * H); ++i) {
      std::copy_n(&image.rgb[3 * i], 3, &rgba[4 * i]);
      rgba[4 * i + 3] = alpha.values[i];
    }
    done = done && WebPPictureImportRGBA(&target, rgba.data(), int(4 * W)) != 0;
  } else done = done && WebPPictureImportRGB(&target, image.rgb.data(), int(3 * W)) != 0;
  if (!done || WebPEncode(&config, &target) == 0)
    fail<IoError>("webp: cannot encode {} × {}: {}", W, H, done ? reason(target.error_code) : "out of memory");
  if (options.exif.empty() && options.xmp.empty()) return {reinterpret_cast<const char*>(encoded.writer.mem), encoded.writer.size};
  return with_metadata({.bytes = encoded.writer.mem, .size = encoded.writer.size}, options);
}

}  // namespace hearth
