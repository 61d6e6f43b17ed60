#include "media/formats/png.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <functional>
#include <map>

#include "core/files/file.h"
#include "media/formats/png_chunks.h"
#include "media/golden_files_test.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;
using namespace std::string_literals;

using test::from_base64;
using test::golden_json;
using test::random_pixels;

fs::path golden(const std::string& name) { return test::golden_file(name); }

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& e) { return e.what(); }
  return "no error";
}

// The text chunks of the file: keyword → kind.
std::map<std::string, std::string> kinds(const std::string& bytes) {
  std::map<std::string, std::string> found;
  test::for_chunks(bytes, [&](const std::string& kind, size_t begin, size_t) {
    if (kind == "tEXt" || kind == "iTXt" || kind == "zTXt") found[bytes.c_str() + begin] = kind;
  });
  return found;
}

TEST(Png, reads_every_color_type_and_depth) {
  const auto expected = golden_json("pictures.json");
  EXPECT_EQ(expected["pixels"].size(), 23u);
  for (const auto& [name, pixels] : expected["pixels"].items()) {
    const Png png = read_png(golden(name + ".png"));
    EXPECT_EQ(png.image.width, expected["width"]) << name;
    EXPECT_EQ(png.image.height, expected["height"]) << name;
    EXPECT_EQ(png.image.rgb, from_base64(pixels)) << name;
    EXPECT_TRUE(png.notes.empty()) << name << ": " << png.notes[0];
  }
}

TEST(Png, reads_every_kind_of_text_in_order) {
  const auto expected = golden_json("pictures.json")["texts"].get<std::vector<std::pair<std::string, std::string>>>();
  const Png png = read_png(golden("texts.png"));
  ASSERT_EQ(png.texts.size(), 5u);
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(png.texts[i].keyword, expected[i].first);
    EXPECT_EQ(png.texts[i].text, expected[i].second);
  }
}

TEST(Png, writes_the_same_files_as_pillow_and_reads_them) {
  std::vector<PngText> texts;
  for (const auto& [keyword, text] : golden_json("pictures.json")["texts"].get<std::vector<std::pair<std::string, std::string>>>())
    texts.push_back({keyword, text});
  const Pixels pixels{.width = 2, .height = 2, .rgb = {1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3}};
  const Png pillow = read_png(golden("pillow.png"));
  EXPECT_EQ(pillow.texts, texts);
  EXPECT_EQ(pillow.image, pixels);
  EXPECT_EQ(kinds(encode_png(pixels, texts)), (golden_json("pillow.json").get<std::map<std::string, std::string>>()));
}

TEST(Png, comes_back_as_written) {
  const std::vector<PngText> texts = {{"parameters", "a, b: \"c\"\nd\té"},
                                      {"hearth", "Жук 日本 🙂"},
                                      {"just beyond Latin-1", "łódź"},
                                      {"e", ""},
                                      {"f", std::string(100'000, 'x')}};
  for (const auto& [W, H] : {std::pair{1, 1}, {1, 9}, {13, 1}, {64, 48}, {1000, 3}}) {
    const Pixels pixels = random_pixels(W, H, unsigned(W));
    const Png png = decode_png(encode_png(pixels, texts), "memory");
    EXPECT_EQ(png.image, pixels);
    EXPECT_EQ(png.texts, texts);
    EXPECT_TRUE(png.notes.empty());
  }
}

TEST(Png, sixteen_bits_and_transparency_come_back) {
  const Pixels pixels = random_pixels(13, 7, 5);
  DeepPixels deep{.width = 13, .height = 7, .rgb = {}};
  PixelMask alpha{.width = 13, .height = 7, .values = {}};
  for (size_t i = 0; i < pixels.rgb.size(); ++i)
    deep.rgb.push_back(uint16_t(pixels.rgb[i] << 8 | pixels.rgb[(i * 7 + 1) % pixels.rgb.size()]));
  for (size_t i = 0; i < pixels.rgb.size(); i += 3) alpha.values.push_back(uint8_t(pixels.rgb[i] ^ 0x55));

  const Png plain = decode_png(encode_png(deep), "memory");
  EXPECT_EQ(plain.deep, deep);
  EXPECT_EQ(plain.image, pixels);  // the upper bytes, like Pillow
  EXPECT_EQ(plain.alpha, PixelMask{});
  EXPECT_EQ(plain.kind, "16 bits, RGB");
  const Png deep_alpha = decode_png(encode_png(deep, {}, alpha), "memory");
  EXPECT_EQ(deep_alpha.deep, deep);
  EXPECT_EQ(deep_alpha.alpha, alpha);
  const Png shallow = decode_png(encode_png(pixels, {}, alpha), "memory");
  EXPECT_EQ(shallow.image, pixels);
  EXPECT_EQ(shallow.alpha, alpha);
  EXPECT_EQ(shallow.deep, DeepPixels{});
  EXPECT_EQ(shallow.kind, "8 bits, RGB with alpha");
  alpha.width = 7, alpha.height = 13;
  EXPECT_EQ(message_of([&] { encode_png(pixels, {}, alpha); }), "png: alpha of 7 × 13 for an image of 13 × 7");
}

// libpng's limit is a million columns; a single color compresses best.
TEST(Png, a_wide_one_and_a_black_one_come_back_too) {
  for (const auto& [W, H] : {std::pair{1'000'001, 1}, {1000, 1000}}) {
    const Pixels black{.width = W, .height = H, .rgb = std::vector<uint8_t>(size_t(W) * H * 3)};
    EXPECT_EQ(decode_png(encode_png(black), "memory").image, black);
  }
}

TEST(Png, file_is_written_whole_or_not_at_all) {
  const fs::path folder = fs::temp_directory_path() / fmt::format("hearth-png-{}", ::getpid());
  fs::create_directory(folder);
  const Pixels pixels = random_pixels(5, 4, 1);
  write_png(folder / "a.png", pixels);
  EXPECT_EQ(read_png(folder / "a.png").image, pixels);
  EXPECT_THROW(write_png(folder / "no/a.png", pixels), IoError);
  EXPECT_THROW(write_png(folder / "b.png", pixels, std::vector<PngText>{{"", "x"}}), UsageError);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1);
  fs::remove_all(folder);
}

TEST(Png, refuses_values_out_of_range) {
  const Pixels one{.width = 1, .height = 1, .rgb = {1, 2, 3}};
  const auto says = [&](const Pixels& pixels, const std::vector<PngText>& texts) { return message_of([&] { encode_png(pixels, texts); }); };
  EXPECT_EQ(says({.width = 2, .height = 1, .rgb = {1, 2, 3}}, {}), "png: 3 bytes of pixels for 2 × 1, expected width × height × 3");
  EXPECT_EQ(says({.width = 1, .height = 1, .rgb = {1, 2, 3, 4}}, {}), "png: 4 bytes of pixels for 1 × 1, expected width × height × 3");
  EXPECT_EQ(says({.width = 2, .height = 1, .rgb = std::vector<uint8_t>(9)}, {}),
            "png: 9 bytes of pixels for 2 × 1, expected width × height × 3");
  EXPECT_EQ(says({.width = 0, .height = 0, .rgb = {}}, {}), "png: 0 bytes of pixels for 0 × 0, expected width × height × 3");
  for (const std::string& key : {std::string(), std::string(" a"), std::string("a "), std::string("a\n"), std::string("\x7f"),
                                 std::string("é"), std::string(80, 'k')})
    EXPECT_NE(says(one, {{key, "x"}}).find("expected 1 to 79 printable ASCII"), std::string::npos) << key;
  EXPECT_EQ(says(one, {{"k", "\xff"}}), "png: the text 'k' is not valid UTF-8");
  EXPECT_EQ(says(one, {{"k", std::string("a\0b", 3)}}), "png: the text 'k' contains a zero byte");
  EXPECT_EQ(says(one, {{std::string(79, 'k'), "x"}}), "no error");
  EXPECT_EQ(says(one, {{"~", "x"}}), "no error");
}

TEST(Png, hostile_files_end_with_one_line) {
  const auto names = golden_json("pictures.json")["hostile"].get<std::vector<std::string>>();
  EXPECT_EQ(names.size(), 18u);
  for (const std::string& name : names) {
    const std::string message = message_of([&] { read_png(golden(name + ".png")); });
    EXPECT_EQ(message.rfind("png: ", 0), 0u) << name << ": " << message;
    EXPECT_NE(message.find(name + ".png"), std::string::npos) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
  const auto ends_with = [](const std::string& text, const std::string& end) {
    return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
  };
  EXPECT_TRUE(ends_with(message_of([] { read_png(golden("truncated_pixels.png")); }), "truncated_pixels.png: the file ends too early"));
  EXPECT_TRUE(ends_with(message_of([] { read_png(golden("jpeg.png")); }), "jpeg.png is not a PNG file"));
  EXPECT_TRUE(
      ends_with(message_of([] { read_png(golden("large_claim.png")); }),
                "is 16000 × 16000 by its header, too much for " + std::to_string(fs::file_size(golden("large_claim.png"))) + " bytes"));
  EXPECT_TRUE(ends_with(message_of([] { read_png(golden("huge.png")); }), "is 2147483647 × 2147483647, at most 268435456 pixels are read"));
}

TEST(Png, packed_text_beyond_the_limit_is_never_unpacked) {
  for (const auto& name : golden_json("pictures.json")["bombs"].get<std::vector<std::string>>()) {
    const Png png = read_png(golden(name + ".png"), {.text_bytes = 1'000'000});
    EXPECT_TRUE(png.texts.empty()) << name;
    EXPECT_EQ(png.notes.size(), 1u) << name;  // the image is valid; the note reports what was dropped
    ASSERT_EQ(read_png(golden(name + ".png")).texts.size(), 1u) << name;
    EXPECT_EQ(read_png(golden(name + ".png")).texts[0].text.size(), 3'000'000u) << name;
  }
}

TEST(Png, limits_are_checked_first) {
  const std::string bytes = encode_png(random_pixels(10, 10, 3));
  EXPECT_EQ(message_of([&] { decode_png(bytes, "x", {.pixels = 99}); }), "png: x is 10 × 10, at most 99 pixels are read");
  EXPECT_EQ(decode_png(bytes, "x", {.pixels = 100}).image.width, 10);
  EXPECT_EQ(message_of([&] { decode_png(bytes, "x", {.file_bytes = 10}); }),
            fmt::format("png: x has {} bytes, expected at most 10", bytes.size()));
  EXPECT_EQ(decode_png(bytes, "x", {.file_bytes = int64_t(bytes.size())}).image.width, 10);
  EXPECT_EQ(message_of([] { read_png(golden("jpeg.png"), {.file_bytes = 10}); }).rfind("read ", 0), 0u);  // before it is in memory
  EXPECT_EQ(message_of([&] { decode_png(std::string_view(bytes).substr(0, 7), "x"); }), "png: x is not a PNG file");
}

// Deflate expands by a factor of at most 1032.
TEST(Png, an_impossible_height_is_refused_from_the_header) {
  std::string bytes = encode_png(random_pixels(1000, 1, 3));
  const size_t most = bytes.size() * 1032 / 3000;
  const auto says = [&](size_t height) {
    for (size_t i = 0; i < 4; ++i) bytes[20 + i] = char(height >> (24 - 8 * i));
    return message_of([&] { decode_png(test::with_checksums(bytes), "x"); });
  };
  EXPECT_EQ(says(most + 1), fmt::format("png: x is 1000 × {} by its header, too much for {} bytes", most + 1, bytes.size()));
  EXPECT_EQ(says(most).find("too much"), std::string::npos);
}

TEST(Png, a_color_profile_is_noted) {
  std::string profile(132, '\0');  // the smallest that libpng accepts
  const auto put = [&](size_t at, std::string_view text) { profile.replace(at, text.size(), text); };
  put(3, "\x84");
  put(12, "mntrRGB XYZ ");
  put(36, "acsp");
  put(68, std::string_view("\0\0\xf6\xd6\0\1\0\0\0\0\xd3\x2d", 12));
  std::string chunk(1000, '\0');
  uLongf size = chunk.size();  // libpng refuses profile chunks below 92 bytes, so this one is not compressed
  ::compress2(reinterpret_cast<Bytef*>(chunk.data()), &size, reinterpret_cast<const Bytef*>(profile.data()), profile.size(), 0);
  chunk.resize(size);
  chunk.insert(0, std::string_view("iCCPp\0\0", 7));
  size = chunk.size() - 4;
  chunk.insert(0, {char(size >> 24), char(size >> 16), char(size >> 8), char(size)});
  std::string bytes = encode_png(random_pixels(2, 2, 3));
  bytes.insert(bytes.find("IDAT") - 4, chunk + "\0\0\0\0"s);
  EXPECT_EQ(decode_png(test::with_checksums(bytes), "x").notes,
            std::vector<std::string>{"the embedded color profile is ignored, sRGB assumed"});
}

TEST(Png, of_many_notes_the_first_twenty_are_kept) {
  std::string bytes = encode_png(random_pixels(2, 2, 3), std::vector<PngText>(30, {"k", "日"}));
  for (size_t at; (at = bytes.find("日")) != bytes.npos;) bytes.replace(at, 3, "月");
  EXPECT_EQ(decode_png(bytes, "x").notes, std::vector<std::string>(20, "iTXt: CRC error"));
}

TEST(Png, a_damaged_text_is_left_out_and_noted) {
  std::string bytes = encode_png(random_pixels(2, 2, 3), std::vector<PngText>{{"k", "日"}});
  bytes.replace(bytes.find("日"), 3, "月");
  const Png damaged = decode_png(bytes, "x");
  EXPECT_TRUE(damaged.texts.empty());
  EXPECT_EQ(damaged.notes, std::vector<std::string>{"iTXt: CRC error"});
}

TEST(Png, a_text_that_is_not_utf8_is_read_as_latin1_with_a_note) {
  std::string bytes = encode_png(random_pixels(2, 2, 3), std::vector<PngText>{{"k", "日"}});
  bytes.replace(bytes.find("日"), 3, "caf\xe9");
  bytes[bytes.find("iTXt") - 1] += 1;  // the chunk is one byte longer
  const Png png = decode_png(test::with_checksums(bytes), "x");
  ASSERT_EQ(png.texts.size(), 1u);
  EXPECT_EQ(png.texts[0].text, "café");
  EXPECT_EQ(png.notes, std::vector<std::string>{"the text 'k' is not valid UTF-8; it is read as Latin-1"});
}

}  // namespace
}  // namespace hearth
