// Compares ids and texts with those of transformers in the goldens of golden/make.py.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/files/file.h"
#include "core/files/json.h"
#include "support/golden.h"
#include "text/tokenizer/golden_strings_test.h"
#include "text/tokenizer/tokenizer.h"

namespace hearth::text {
namespace {

std::filesystem::path golden_folder() { return test::folder_of(__FILE__) / "golden"; }

std::vector<uint32_t> hashes_of(const std::string& name) {
  const std::string bytes = read_file(golden_folder() / (name + ".bin"));
  std::vector<uint32_t> hashes(bytes.size() / 4);
  std::memcpy(hashes.data(), bytes.data(), hashes.size() * 4);
  return hashes;
}

struct Answer {
  std::vector<int32_t> ids, plain_ids;
  std::string text, clean_text;
};

Answer answer(const Tokenizer& t, const std::string& text, bool clean) {
  Answer a;
  a.ids = t.encode(text);
  a.plain_ids = t.encode(text, {.add_special_tokens = false});
  a.text = t.decode(a.ids);
  std::vector<int32_t> reversed(a.ids.rbegin(), a.ids.rend());
  a.clean_text = t.decode(reversed, {.skip_special_tokens = true, .clean_up_tokenization_spaces = clean});
  return a;
}

class Shapes : public testing::TestWithParam<const char*> {};

// The ids of each string with and without special tokens, and the texts of two rows of ids, as in transformers.
TEST_P(Shapes, equal_the_reference) {
  const std::string name = GetParam();
  const Tokenizer tokenizer = Tokenizer::open(golden_folder() / name);
  const auto special = load_json(golden_folder() / name / "golden.json").at("special").get<std::vector<std::string>>();
  const std::vector<uint32_t> hashes = hashes_of(name);
  ASSERT_GE(hashes.size(), 10000u);
  int wrong = 0;
  for (size_t i = 0; i < hashes.size(); ++i) {
    const std::string text = golden_string(i, special);
    const Answer a = answer(tokenizer, text, i % 2 == 1);
    const uint32_t h = hash_text(a.clean_text, hash_text(a.text, hash_ids(a.plain_ids, hash_ids(a.ids))));
    if (h != hashes[i] && ++wrong <= 5)
      ADD_FAILURE() << i << ": " << nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << " gives "
                    << fmt::format("{}", fmt::join(a.ids, " ")) << " and " << nlohmann::json(a.text).dump();
  }
  EXPECT_EQ(wrong, 0);
}

INSTANTIATE_TEST_SUITE_P(Golden, Shapes,
                         testing::Values("gpt2", "llama3", "qwen2", "tekken", "deepseek", "bert", "bert_cased", "gpt2_slow", "qwen2_slow",
                                         "llama_model", "llama_model_new", "llama2", "mistral", "gemma", "t5", "t5_json", "o200k", "cohere",
                                         "deepseek_llm", "deepseek_v3", "glm4", "neox"),
                         [](const auto& name) { return std::string(name.param); });

}  // namespace
}  // namespace hearth::text
