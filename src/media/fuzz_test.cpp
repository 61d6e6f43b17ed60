// Malicious files and texts: any result is acceptable except a crash, an exception of another type, or (under the sanitizers) an invalid
// read. The seeds are the files of golden; every run makes the same changes.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "core/files/file.h"
#include "core/text/utf8.h"
#include "media/formats/image_file.h"
#include "media/formats/png_chunks.h"
#include "media/metadata/exif.h"
#include "media/metadata/parameters.h"
#include "media/metadata/xmp.h"
#include "support/golden.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;

struct Seed {
  std::string name, bytes;
};

std::vector<Seed> seeds(const char* folder, std::string_view ending) {
  std::vector<Seed> found;
  for (const auto& entry : fs::directory_iterator(test::folder_of(__FILE__) / folder))
    if (entry.path().extension() == ending) found.push_back({entry.path().stem().string(), read_file(entry.path())});
  std::sort(found.begin(), found.end(), [](const Seed& a, const Seed& b) { return a.name < b.name; });
  return found;
}

std::string mutated(std::string bytes, const std::vector<Seed>& all, std::mt19937& random) {
  const auto below = [&](size_t n) { return n == 0 ? 0 : size_t(random()) % n; };
  constexpr unsigned char edges[] = {0x00, 0x01, 0x7F, 0x80, 0xFF};
  for (size_t n = 1 + below(3); n > 0; --n) {
    const size_t at = below(bytes.size());
    switch (below(7)) {
      case 0:
        if (!bytes.empty()) bytes[at] = char(bytes[at] ^ (1 << below(8)));
        break;
      case 1:
        if (!bytes.empty()) bytes[at] = char(edges[below(std::size(edges))]);
        break;
      case 2: bytes.insert(at, below(16), char(random())); break;
      case 3: bytes.erase(at, below(16)); break;
      case 4: bytes.resize(at); break;
      case 5: bytes.insert(at, bytes.substr(below(bytes.size()), below(64))); break;
      default: {
        const std::string& other = all[below(all.size())].bytes;
        bytes.insert(at, other.substr(below(other.size()), below(128)));
      }
    }
  }
  return bytes;
}

// A change inside one chunk, with a correct length and checksum.
std::string mutated_chunk(const std::string& bytes, const std::vector<Seed>& all, std::mt19937& random) {
  std::vector<std::pair<size_t, size_t>> chunks;  // start and size of the data
  test::for_chunks(bytes, [&](const std::string&, size_t begin, size_t size) { chunks.emplace_back(begin, size); });
  if (chunks.empty()) return mutated(bytes, all, random);
  const auto [begin, size] = chunks[random() % chunks.size()];
  const std::string data = mutated(bytes.substr(begin, size), all, random);
  std::string length;
  for (int shift = 24; shift >= 0; shift -= 8) length += char(data.size() >> shift);
  return test::with_checksums(bytes.substr(0, begin - 8) + length + bytes.substr(begin - 4, 4) + data + bytes.substr(begin + size));
}

TEST(Fuzz, png_reader) {
  const ImageLimits limits{.file_bytes = 1 << 20, .pixels = 1 << 16, .text_bytes = 1 << 16};
  const std::vector<Seed> all = seeds("golden", ".png");
  ASSERT_GE(all.size(), 40u);
  std::mt19937 random(1);
  int read = 0, refused = 0;
  for (const Seed& seed : all)
    for (int i = 0; i < 300; ++i) {
      const std::string bytes = i % 3 == 0   ? mutated(seed.bytes, all, random)
                                : i % 3 == 1 ? test::with_checksums(mutated(seed.bytes, all, random))
                                             : mutated_chunk(seed.bytes, all, random);
      try {
        const Png png = decode_png(bytes, seed.name, limits);
        ++read;
        EXPECT_EQ(png.image.rgb.size(), size_t(png.image.width * png.image.height * 3)) << seed.name << " change " << i;
        const Png again = decode_png(encode_png(png.image), "memory");
        EXPECT_EQ(again.image, png.image) << seed.name << " change " << i;
        for (const PngText& text : png.texts) parse_parameters(text.text);
      } catch (const IoError& e) {
        ++refused;
        EXPECT_EQ(std::string_view(e.what()).find('\n'), std::string_view::npos) << e.what();
      }
    }
  // Some changes must be refused and some accepted.
  EXPECT_GT(read, 1000);
  EXPECT_GT(refused, 1000);
}

// JPEG and WebP, and PNG with EXIF. Half of the changes are in the first bytes, which hold headers and metadata.
TEST(Fuzz, image_reader) {
  const ImageLimits limits{.file_bytes = 1 << 20, .pixels = 1 << 14, .text_bytes = 1 << 16};
  std::mt19937 random(3);
  for (const char* ending : {".jpg", ".webp", ".png"}) {
    const std::vector<Seed> all = seeds("golden/pillow", ending);
    ASSERT_GE(all.size(), 15u) << ending;
    int read = 0, refused = 0;
    for (const Seed& seed : all) {
      if (seed.bytes.size() > 5000) continue;
      for (int i = 0; i < 120; ++i) {
        const size_t head = i % 2 == 0 ? std::min<size_t>(seed.bytes.size(), 200) : 0;
        std::string bytes =
            head == 0 ? mutated(seed.bytes, all, random) : mutated(seed.bytes.substr(0, head), all, random) + seed.bytes.substr(head);
        if (ending == std::string_view(".png") && i % 4 != 0) bytes = mutated_chunk(seed.bytes, all, random);
        try {
          const LoadedImage image = decode_image(bytes, seed.name, limits);
          ++read;
          EXPECT_EQ(image.image.rgb.size(), size_t(image.image.width * image.image.height * 3)) << seed.name << " change " << i;
          EXPECT_LE(image.image.width * image.image.height, limits.pixels) << seed.name << " change " << i;
        } catch (const Error& e) {
          ++refused;
          EXPECT_EQ(std::string_view(e.what()).find('\n'), std::string_view::npos) << e.what();
        }
      }
    }
    EXPECT_GT(read, 100) << ending;
    EXPECT_GT(refused, 100) << ending;
  }
}

TEST(Fuzz, exif_and_xmp) {
  const std::vector<Seed> all = {{"exif", write_exif("日本 a\nSteps: 1")},
                                 {"xmp", write_xmp("recipe", "a < b & c")},
                                 {"attribute", "<a tiff:Orientation=\"6\"/><x:parameters>&#x41;&amp;</x:parameters>"}};
  std::mt19937 random(4);
  for (int i = 0; i < 30'000; ++i) {
    const std::string bytes = mutated(all[size_t(i) % 3].bytes, all, random);
    const Exif exif = parse_exif(bytes);
    EXPECT_TRUE(is_utf8(exif.user_comment));
    xmp_orientation(bytes);
    xmp_text(bytes, "recipe");
    xmp_text(bytes, "parameters");
  }
}

TEST(Fuzz, texts) {
  const std::vector<Seed> all = {
      {"parameters", "a, b\nNegative prompt: c: \"d\"\nSteps: 20, Sampler: \"x, \\\"y\\\"\\u00e9\", CFG scale: 7, Model: 日本"}};
  std::mt19937 random(2);
  for (int i = 0; i < 10'000; ++i) parse_parameters(mutated(all[0].bytes, all, random));
}

}  // namespace
}  // namespace hearth
