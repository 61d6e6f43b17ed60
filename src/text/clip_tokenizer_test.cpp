#include "text/clip_tokenizer.h"

#include <gtest/gtest.h>

#include <map>

#include "core/error.h"
#include "support/golden.h"

namespace hearth::text {
namespace {

const std::filesystem::path repository = test::folder_of(__FILE__) / "../..";

const ClipTokenizer& official(Cleaning cleaning) {
  static std::map<Cleaning, ClipTokenizer> loaded;
  if (!loaded.contains(cleaning)) loaded.emplace(cleaning, ClipTokenizer::load(repository / "assets/clip-vit-l-14", cleaning));
  return loaded.at(cleaning);
}

using Ids = std::vector<int32_t>;

TEST(ClipTokenizer, VocabularyOfGotchas21) {
  const ClipTokenizer& t = official(Cleaning::ftfy);
  EXPECT_EQ(t.vocab_size(), 49408);
  EXPECT_EQ(t.max_id(), 49407);
  EXPECT_EQ(t.model_max_length(), 77);
  EXPECT_EQ(t.bos(), 49406);
  EXPECT_EQ(t.eos(), 49407);
  EXPECT_EQ(t.pad(), 49407);
  EXPECT_EQ(t.unk(), 49407);
  EXPECT_EQ(t.id_of("a</w>"), 320);
  EXPECT_EQ(t.id_of("cute</w>"), 2242);
  EXPECT_EQ(t.id_of("cat</w>"), 2368);
  EXPECT_EQ(t.id_of("no such token"), -1);
  EXPECT_EQ(t.tokenize("a cute cat"), (Ids{320, 2242, 2368}));
}

struct Example {
  const char* prompt;
  Ids ftfy, basic, fast;
};

// The acceptance numbers of the three cleanings (transformers 4.57.1).
TEST(ClipTokenizer, CleaningsOfGotchas21) {
  const Example examples[] = {
      {"“quotes” and ‘single’",
       {257, 5808, 257, 537, 568, 17005, 262},
       {728, 506, 5808, 728, 507, 537, 728, 502, 2688, 728, 503},
       {728, 506, 5808, 728, 507, 537, 728, 502, 2688, 728, 503}},
      {"ＡＢＣ full width",
       {5334, 1476, 23571},
       {171, 121, 223, 171, 121, 224, 171, 121, 481, 1476, 23571},
       {171, 121, 223, 171, 121, 224, 171, 121, 481, 1476, 23571}},
      {"ﬁne ligature", {3797, 19915, 4490}, {171, 105, 223, 1422, 19915, 4490}, {171, 105, 223, 1422, 19915, 4490}},
      {"&amp; &lt;b&gt;",
       {261, 283, 321, 285},
       {261, 6259, 282, 261, 3333, 282, 321, 261, 4725, 282},
       {261, 6259, 282, 261, 3333, 282, 321, 261, 4725, 282}},
      {"中文 描述",
       {19759, 255, 29032, 485, 162, 237, 237, 164, 123, 364},
       {19759, 511, 29032, 485, 162, 237, 493, 164, 123, 364},
       {19759, 255, 29032, 485, 162, 237, 237, 164, 123, 364}},
      {"emoji 👩‍👩‍👧 ok",
       {16327, 26304, 26304, 964, 356, 2481},
       {16327, 18800, 18800, 964, 356, 2481},
       {16327, 26304, 26304, 964, 356, 2481}},
      {"a\u200bb", {320, 9844, 321}, {3937}, {320, 9844, 321}},
      {"ΣΊΣΥΦΟΣ",
       {139, 225, 138, 107, 139, 225, 139, 227, 139, 228, 138, 123, 139, 480},
       {139, 225, 138, 107, 139, 225, 139, 227, 139, 228, 138, 123, 139, 480},
       {139, 225, 138, 107, 139, 225, 139, 227, 139, 228, 138, 123, 139, 481}},
  };
  for (const Example& e : examples) {
    EXPECT_EQ(official(Cleaning::ftfy).tokenize(e.prompt), e.ftfy) << e.prompt;
    EXPECT_EQ(official(Cleaning::basic).tokenize(e.prompt), e.basic) << e.prompt;
    EXPECT_EQ(official(Cleaning::fast).tokenize(e.prompt), e.fast) << e.prompt;
  }
}

}  // namespace
}  // namespace hearth::text
