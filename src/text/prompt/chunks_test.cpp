#include "text/prompt/chunks.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "support/files.h"
#include "support/golden.h"

namespace hearth::text {
namespace {

// CLIP's vocabulary: 320 a, 267 comma, 2368 cat, 49406 start, 49407 end.
const ClipTokenizer& clip() {
  static const ClipTokenizer tokenizer = [] {
    ClipFiles files = ClipFiles::read(test::folder_of(__FILE__) / "../../../assets/clip-vit-l-14");
    return ClipTokenizer::parse(files);
  }();
  return tokenizer;
}

std::string words(int n, const std::string& word = "a") {
  std::string text;
  for (int i = 0; i < n; ++i) text += (i ? " " : "") + word;
  return text;
}

// The tokens of a chunk before the first end token, and whether only padding follows.
std::vector<int32_t> tokens(const Chunk& chunk) {
  std::vector<int32_t> ids;
  EXPECT_EQ(chunk.size(), 77u);
  EXPECT_EQ(chunk[0], Slot{clip().bos()});
  size_t i = 1;
  for (; i < chunk.size() && (chunk[i].embedding >= 0 || chunk[i].id != clip().eos()); ++i)
    ids.push_back(chunk[i].embedding >= 0 ? -1 - chunk[i].embedding : chunk[i].id);
  for (; i < chunk.size(); ++i) EXPECT_EQ(chunk[i], Slot{clip().eos()});
  return ids;
}

std::vector<size_t> sizes(const std::vector<Chunk>& chunks) {
  std::vector<size_t> n;
  for (const Chunk& chunk : chunks) n.push_back(tokens(chunk).size());
  return n;
}

using Sizes = std::vector<size_t>;

std::vector<Chunk> a1111(const std::string& text, std::vector<EmbeddingName> names = {}) {
  return a1111_chunks(a1111_weights(text), clip(), names);
}
std::vector<Chunk> comfyui(const std::string& text, std::vector<EmbeddingName> names = {}) {
  return comfyui_chunks(comfyui_weights(text), clip(), names);
}

TEST(Chunks, weights_stand_at_their_tokens) {
  const std::vector<Chunk> chunks = a1111("a (cat:1.5), a");
  ASSERT_EQ(chunks.size(), 1u);
  EXPECT_EQ(tokens(chunks[0]), (std::vector<int32_t>{320, 2368, 267, 320}));
  EXPECT_EQ(chunks[0][2], (Slot{2368, 1.5f}));
  EXPECT_EQ(chunks[0][3], (Slot{267, 1}));
}

TEST(Chunks, a1111_fills_seventy_five) {
  EXPECT_EQ(sizes(a1111("")), (Sizes{0}));
  EXPECT_EQ(sizes(a1111(words(75))), (Sizes{75}));
  EXPECT_EQ(sizes(a1111(words(76))), (Sizes{75, 1}));
  EXPECT_EQ(sizes(a1111(words(200))), (Sizes{75, 75, 50}));
}

TEST(Chunks, a1111_splits_at_a_comma) {
  // The comma is token 56 of 75 (index 55): 20 tokens from the end, the largest distance that counts.
  EXPECT_EQ(sizes(a1111(words(55) + ", " + words(20))), (Sizes{56, 20}));
  EXPECT_EQ(sizes(a1111(words(54) + ", " + words(21))), (Sizes{75, 1}));
  EXPECT_EQ(sizes(a1111(words(54) + ", " + words(20))), (Sizes{75}));    // it fits
  EXPECT_EQ(sizes(a1111(words(75) + ", " + words(3))), (Sizes{75, 4}));  // a comma as the last token moves nothing
  const std::vector<Chunk> moved = a1111(words(60) + ", (" + words(20, "cat") + ":1.2)");
  EXPECT_EQ(sizes(moved), (Sizes{61, 20}));
  EXPECT_EQ(moved[0][62], (Slot{49407, 1}));
  EXPECT_EQ(moved[1][1], (Slot{2368, 1.2f}));
}

TEST(Chunks, a1111_break_ends_a_chunk) {
  EXPECT_EQ(sizes(a1111("a cat BREAK a cat a")), (Sizes{2, 3}));
  EXPECT_EQ(sizes(a1111("BREAK a")), (Sizes{0, 1}));
  EXPECT_EQ(sizes(a1111("a BREAK")), (Sizes{1}));
  EXPECT_EQ(sizes(a1111("a BREAK BREAK a")), (Sizes{1, 0, 1}));
}

TEST(Chunks, a1111_knows_embeddings_by_their_names_tokens) {
  const std::vector<EmbeddingName> names = {{"cat", 2}, {"cat a", 3}, {"big", 76}};
  EXPECT_EQ(tokens(a1111("a cat, cat a Cat", names)[0]), (std::vector<int32_t>{320, -1, -1, 267, -2, -2, -2, -1, -1}));
  const std::vector<Chunk> chunks = a1111(words(74) + " (cat:1.3)", names);
  EXPECT_EQ(sizes(chunks), (Sizes{74, 2}));  // both vectors in one chunk
  EXPECT_EQ(chunks[1][1], (Slot{0, 1.3f, 0, 0}));
  EXPECT_EQ(chunks[1][2], (Slot{0, 1.3f, 0, 1}));
  EXPECT_EQ(test::message_of<UsageError>([&] { a1111("big", names); }),
            "prompt: the embedding 'big' has 76 vectors, a chunk has room for 75");
}

TEST(Chunks, comfyui_keeps_short_stretches_whole) {
  EXPECT_EQ(sizes(comfyui("")), (Sizes{0}));
  EXPECT_EQ(sizes(comfyui(words(75))), (Sizes{75}));
  EXPECT_EQ(sizes(comfyui(words(76))), (Sizes{75, 1}));
  EXPECT_EQ(sizes(comfyui(words(70) + " (" + words(7, "cat") + ")")), (Sizes{70, 7}));
  EXPECT_EQ(sizes(comfyui(words(70) + " (" + words(8, "cat") + ")")), (Sizes{75, 3}));
  EXPECT_EQ(sizes(comfyui(words(55) + ", " + words(20))), (Sizes{75, 1}));  // commas have no effect
}

TEST(Chunks, comfyui_names_embeddings) {
  const std::vector<EmbeddingName> names = {{"cat", 2, "cat.pt"}, {"many", 80}};
  const auto ids = [&](const std::string& text) { return tokens(comfyui(text, names)[0]); };
  EXPECT_EQ(ids("a embedding:cat a"), (std::vector<int32_t>{320, -1, -1, 320}));
  EXPECT_EQ(ids("embedding:cat.pt, a"), (std::vector<int32_t>{-1, -1, 267, 320}));
  EXPECT_EQ(ids("(embedding:cat:1.2)"), (std::vector<int32_t>{-1, -1}));
  EXPECT_EQ(comfyui("(embedding:cat:1.2)", names)[0][2], (Slot{0, 1.2f, 0, 1}));
  EXPECT_EQ(ids("cat"), (std::vector<int32_t>{2368}));  // the bare name is a word
  EXPECT_EQ(sizes(comfyui("embedding:many", names)), (Sizes{75, 5}));
  EXPECT_EQ(test::message_of<UsageError>([&] { comfyui("embedding:dog, a", names); }), "prompt: the embedding 'dog' is not loaded");
  EXPECT_EQ(test::message_of<UsageError>([&] { comfyui("embedding:", names); }), "prompt: the embedding '' is not loaded");
}

TEST(Chunks, plain_is_the_tokenizers_own) {
  for (const std::string& text :
       {std::string(), std::string("a (cat:1.5), BREAK"), words(75), words(90), std::string("a <|endoftext|> cat")}) {
    const Truncated cut = truncated_chunk(text, clip(), {});
    const ClipTokenizer::Encoding expected = clip().encode(text);
    std::vector<int32_t> ids;
    for (const Slot& slot : cut.chunk) ids.push_back(slot.id);
    EXPECT_EQ(ids, expected.ids);
    EXPECT_EQ(cut.tokens, expected.tokens);
    EXPECT_EQ(cut.dropped, expected.dropped);
    EXPECT_EQ(cut.dropped_text, expected.truncated_text);
  }
}

TEST(Chunks, plain_finds_names_in_the_text) {
  const std::vector<EmbeddingName> names = {{"<cat>", 2}, {"<cat>2", 1}};
  EXPECT_EQ(tokens(truncated_chunk("a <cat>a<cat>2", clip(), names).chunk), (std::vector<int32_t>{320, -1, -1, 320, -2}));
  const Truncated cut = truncated_chunk(words(74) + " <cat> cat", clip(), names);
  EXPECT_EQ(cut.dropped, 2);  // the second vector and the word
  EXPECT_EQ(cut.dropped_text, "cat");
}

}  // namespace
}  // namespace hearth::text
