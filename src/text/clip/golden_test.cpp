// Compares ids with those of transformers in the goldens of golden/make.py.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/files/json.h"
#include "core/text/utf8.h"
#include "support/golden.h"
#include "text/clip/clip_tokenizer.h"

namespace hearth::text {
namespace {

using Json = nlohmann::json;
using Ids = std::vector<int32_t>;

constexpr Cleaning cleanings[] = {Cleaning::ftfy, Cleaning::basic, Cleaning::fast};

std::filesystem::path here() { return test::folder_of(__FILE__); }

ClipFiles files_of(const Json& base) {
  if (base == "official") return ClipFiles::read(here() / "../../../assets/clip-vit-l-14");
  if (base == "demo") return ClipFiles::read(here() / "../../../assets/demo-model/tokenizer");
  return {};
}

// The hash of golden/make.py's fnv().
uint32_t fnv(const Ids& ids, uint32_t h = 0x811c9dc5) {
  for (const int32_t id : ids)
    for (int shift = 0; shift < 32; shift += 8) h = (h ^ (uint32_t(id) >> shift & 0xff)) * 0x01000193;
  return (h ^ 0xff) * 0x01000193;
}

std::string from_hex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2) bytes += char(std::stoi(hex.substr(i, 2), nullptr, 16));
  return bytes;
}

// G-08: more than 10 000 prompts of every kind of text with the ids of each cleaning's reference; then bytes that are not UTF-8.
TEST(Golden, corpus_equality) {
  const Json golden = load_json(here() / "golden/corpus.json");
  ASSERT_GT(golden.at("prompts").size(), 10000u);
  ASSERT_GT(golden.at("broken").size(), 1000u);
  for (size_t column = 0; column < 3; ++column) {
    const ClipTokenizer tokenizer = ClipTokenizer::parse(files_of("official"), cleanings[column]);
    ASSERT_EQ(golden.at("columns").at(1 + column), std::string(name_of(cleanings[column])));
    int wrong = 0;
    const auto compare = [&](const std::string& prompt, const Json& row) {
      const Ids ids = tokenizer.tokenize(prompt);
      if (fnv(ids) == row.at(1 + column)) return;
      if (++wrong <= 5)
        ADD_FAILURE() << name_of(cleanings[column]) << ": " << row.at(0).dump() << " gives " << fmt::format("{}", fmt::join(ids, " "));
    };
    for (const Json& row : golden.at("prompts")) compare(row.at(0).get<std::string>(), row);
    for (const Json& row : golden.at("broken")) compare(from_hex(row.at(0).get<std::string>()), row);
    EXPECT_EQ(wrong, 0) << name_of(cleanings[column]);
  }
}

// Every character of Unicode 14 in three contexts: between letters, after a number and before punctuation, between sigmas. Omitted: private
// use except for its corners, and marks newer than the tables of tokenizers (README.md).
TEST(Golden, every_code_point) {
  const Json golden = load_json(here() / "golden/code_points.json");
  const auto chunk = golden.at("chunk").get<size_t>();
  std::u32string points;
  for (const Json& range : golden.at("ranges"))
    for (char32_t c = range.at(0).get<uint32_t>(); c <= range.at(1).get<uint32_t>(); ++c) points.push_back(c);
  ASSERT_GT(points.size(), 140000u);
  for (const Cleaning cleaning : cleanings) {
    const ClipTokenizer tokenizer = ClipTokenizer::parse(files_of("demo"), cleaning);
    for (const std::string context : {"a%b", "1%!", "AΣ%Σ"}) {
      const Json& hashes = golden.at(fmt::format("{} {}", name_of(cleaning), context));
      const size_t place = context.find('%');
      for (size_t begin = 0; begin < points.size(); begin += chunk) {
        const std::u32string_view part = std::u32string_view(points).substr(begin, chunk);
        uint32_t h = 0x811c9dc5;
        for (const char32_t c : part) {
          std::string prompt = context.substr(0, place);
          append_utf8(prompt, c);
          h = fnv(tokenizer.tokenize(prompt + context.substr(place + 1)), h);
        }
        EXPECT_EQ(h, hashes.at(begin / chunk)) << fmt::format("{}, '{}', U+{:04X} to U+{:04X}", name_of(cleaning), context,
                                                              uint32_t(part.front()), uint32_t(part.back()));
      }
    }
  }
}

// Published folders of every structure: added tokens with their flags, special tokens from three files, padding with "!".
TEST(Golden, folders) {
  const Json golden = load_json(here() / "golden/cases.json");
  for (const Json& c : golden.at("cases")) {
    SCOPED_TRACE(c.at("name").get<std::string>());
    ClipFiles files = files_of(c.at("base"));
    const std::pair<const char*, std::optional<std::string>*> slots[] = {{"vocab.json", &files.vocab_json},
                                                                         {"merges.txt", &files.merges_txt},
                                                                         {"tokenizer_config.json", &files.tokenizer_config},
                                                                         {"special_tokens_map.json", &files.special_tokens_map},
                                                                         {"added_tokens.json", &files.added_tokens},
                                                                         {"tokenizer.json", &files.tokenizer_json}};
    for (const auto& [name, slot] : slots)
      if (const auto it = c.at("files").find(name); it != c.at("files").end())
        *slot = it->is_null() ? std::nullopt : std::optional(it->get<std::string>());
    for (const Cleaning cleaning : cleanings) {
      const ClipTokenizer t = ClipTokenizer::parse(files, cleaning);
      EXPECT_EQ((Ids{t.bos(), t.eos(), t.pad(), t.unk()}), c.at("special").get<Ids>());
      for (const Json& row : c.at("rows")) {
        const auto prompt = row.at("prompt").get<std::string>();
        EXPECT_EQ(t.tokenize(prompt), row.at(std::string(name_of(cleaning))).get<Ids>()) << name_of(cleaning) << ": " << prompt;
        if (cleaning != Cleaning::ftfy) continue;
        const ClipTokenizer::Encoding encoding = t.encode(prompt);
        EXPECT_EQ(encoding.ids, row.at("encoded").get<Ids>()) << prompt;
        EXPECT_EQ(encoding.truncated_text, row.at("removed").get<std::string>()) << prompt;
        EXPECT_EQ(t.pieces(prompt), row.at("pieces").get<std::vector<std::string>>()) << prompt;
        Ids all = t.tokenize(prompt);
        all.insert(all.begin(), t.bos());
        all.push_back(t.eos());
        EXPECT_EQ(t.decode(all), row.at("decoded").get<std::string>()) << prompt;
      }
    }
  }
}

// G-12: 74 and 75 tokens fit; of 76 and more the first 75 and the end token are kept, and the rest is reported.
TEST(Golden, truncation_and_padding) {
  const Json golden = load_json(here() / "golden/cases.json");
  const ClipTokenizer t = ClipTokenizer::parse(files_of("official"));
  for (const Json& row : golden.at("lengths")) {
    const auto prompt = row.at("prompt").get<std::string>();
    const int64_t words = 1 + std::count(prompt.begin(), prompt.end(), ' ');
    const ClipTokenizer::Encoding encoding = t.encode(prompt);
    EXPECT_EQ(encoding.ids, row.at("encoded").get<Ids>()) << words;
    EXPECT_EQ(encoding.truncated_text, row.at("removed").get<std::string>()) << words;
    EXPECT_EQ(encoding.tokens, std::min<int64_t>(words, 75));
    EXPECT_EQ(encoding.dropped, words - encoding.tokens);
  }
}

TEST(Golden, fix_text) {
  const Json golden = load_json(here() / "golden/cases.json");
  ASSERT_GT(golden.at("fix_text").size(), 10u);
  for (const Json& row : golden.at("fix_text")) {
    const auto text = row.at(0).get<std::string>();
    EXPECT_EQ(encode_utf8(fix_text(decode_utf8(text))), row.at(1).get<std::string>()) << row.at(0).dump();
  }
}

// The only file that transformers 5 saves, tokenizer.json, and its ids.
TEST(Golden, transformers5) {
  const std::filesystem::path folder = here() / "golden/transformers5";
  const ClipTokenizer t = ClipTokenizer::load(folder, Cleaning::fast);
  EXPECT_EQ(t.vocab_size(), 724);
  EXPECT_EQ(t.pad(), 723);
  const Json golden = load_json(folder / "ids.json");
  ASSERT_GT(golden.at("rows").size(), 30u);
  for (const Json& row : golden.at("rows")) {
    const auto prompt = row.at(0).get<std::string>();
    EXPECT_EQ(t.tokenize(prompt), row.at(1).get<Ids>()) << prompt;
  }
}

}  // namespace
}  // namespace hearth::text
