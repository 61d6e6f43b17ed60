// Short deterministic fuzzing: damaged tokenizer files of every kind, and texts of random bytes. Most useful under sanitizers.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "core/error.h"
#include "core/files/file.h"
#include "core/text/utf8.h"
#include "support/golden.h"
#include "text/tokenizer/golden_strings_test.h"
#include "text/tokenizer/tokenizer.h"

namespace hearth::text {
namespace {

namespace fs = std::filesystem;

void damage(std::string& text, SplitMix& random) {
  for (uint64_t n = 1 + random.below(3); n > 0 && !text.empty(); --n) {
    const size_t at = random.below(text.size());
    switch (random.below(5)) {
      case 0: text[at] = char(random.next()); break;
      case 1: text.erase(at, 1 + random.below(20)); break;
      case 2: text.insert(at, text.substr(random.below(text.size()), random.below(30))); break;
      case 3: text[at] = "0123456789\"{}[]:, \n"[random.below(19)]; break;
      default:
        if (random.below(8) == 0) text.resize(at);
        else text[at] = char(text[at] ^ 1);
    }
  }
}

void use(const Tokenizer& t, SplitMix& random) {
  std::string text = golden_string(random.below(10000), {});
  for (uint64_t n = random.below(8); n > 0; --n) text += char(random.next());
  const std::vector<int32_t> ids = t.encode(text);
  for (const int32_t id : ids) ASSERT_GE(id, 0);
  const std::string decoded =
      t.decode(ids, {.skip_special_tokens = random.below(2) == 0, .clean_up_tokenization_spaces = random.below(2) == 0});
  ASSERT_EQ(valid_utf8(decoded), decoded);
}

class Damaged : public testing::TestWithParam<const char*> {};

// A damaged folder is refused with one of our errors in one line, or it is another valid tokenizer.
TEST_P(Damaged, is_refused_or_works) {
  const fs::path source = test::folder_of(__FILE__) / "golden" / GetParam();
  const fs::path folder = fs::temp_directory_path() / fmt::format("hearth-tokenizer-fuzz-{}-{}", getpid(), GetParam());
  fs::create_directories(folder);
  std::vector<std::pair<std::string, std::string>> files;
  for (const auto& entry : fs::directory_iterator(source))
    if (entry.path().filename() != "golden.json") files.emplace_back(entry.path().filename().string(), read_file(entry.path()));
  std::ranges::sort(files);
  SplitMix random(5);
  int refused = 0, loaded = 0;
  for (int i = 0; i < 120; ++i) {
    const size_t victim = random.below(files.size());
    for (size_t f = 0; f < files.size(); ++f) {
      std::string bytes = files[f].second;
      if (f == victim) damage(bytes, random);
      const std::string_view pieces[] = {bytes};
      write_file_unflushed(folder / files[f].first, pieces);
    }
    try {
      const Tokenizer t = Tokenizer::open(folder);
      ++loaded;
      ASSERT_NO_FATAL_FAILURE(use(t, random));
    } catch (const Error& e) {
      ++refused;
      ASSERT_EQ(std::string_view(e.what()).find('\n'), std::string_view::npos) << e.what();
    }
  }
  EXPECT_GT(refused, 10);
  EXPECT_GT(loaded, 0);
  fs::remove_all(folder);
}
INSTANTIATE_TEST_SUITE_P(Fuzz, Damaged,
                         testing::Values("gpt2", "qwen2_slow", "gpt2_slow", "llama_model", "t5", "t5_json", "llama2", "bert", "mistral"),
                         [](const auto& name) { return std::string(name.param); });

TEST(Fuzz, random_gguf_vocabularies) {
  static const char* const models[] = {"llama", "gpt2", "t5", "bert"};
  SplitMix random(9);
  int refused = 0, loaded = 0;
  for (int i = 0; i < 3000; ++i) {
    GgufVocabulary v;
    v.model = models[random.below(4)];
    v.pre = "gpt-2";
    const uint64_t count = 1 + random.below(12);
    for (uint64_t n = 0; n < count; ++n) {
      std::string token;
      for (uint64_t c = random.below(4); c > 0; --c) token += random.below(8) == 0 ? char(random.next()) : char('a' + random.below(4));
      v.tokens.push_back(token);
      v.scores.push_back(float(random.below(100)) - 50);
      v.token_types.push_back(int32_t(random.below(8)));
    }
    if (random.below(8) == 0) v.scores.pop_back();
    for (uint64_t n = random.below(4); n > 0; --n) v.merges.push_back(v.tokens[random.below(count)] + " " + v.tokens[random.below(count)]);
    if (random.below(2) == 0) v.unk = int32_t(random.below(count + 1));
    if (random.below(2) == 0) v.bos = int32_t(random.below(count + 1));
    for (uint64_t n = random.below(40); n > 0; --n) v.precompiled_charsmap += char(random.below(16));
    try {
      const Tokenizer t = Tokenizer::from_gguf(v);
      ++loaded;
      ASSERT_NO_FATAL_FAILURE(use(t, random));
    } catch (const Error& e) {
      ++refused;
      ASSERT_EQ(std::string_view(e.what()).find('\n'), std::string_view::npos) << e.what();
    }
  }
  EXPECT_GT(refused, 100);
  EXPECT_GT(loaded, 100);
}

}  // namespace
}  // namespace hearth::text
