// The cost of each storage type: the demo language model's perplexity on stories that are not in its training data.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "hearth/quantize.h"
#include "language_copy.h"

namespace hearth::test {
namespace {

// Every story starts as in training; all tokens have the same weight.
double perplexity_of_stories(LanguageModel model) {
  static const nlohmann::json stories =
      nlohmann::json::parse(std::ifstream(HEARTH_SOURCE_DIR "/tests/e2e/language_golden/unseen_stories.json"));
  double sum = 0;
  int64_t scored = 0;
  for (const nlohmann::json& story : stories) {
    const Perplexity p = model.perplexity({.text = story});
    sum += p.mean * double(p.scored);
    scored += p.scored;
  }
  EXPECT_EQ(scored, 9483);
  return std::exp(sum / double(scored));
}

double perplexity_as(const std::string& type, const std::filesystem::path& file) {
  quantize({.model = demo_language_model(), .output = file, .type = type, .pure = true});
  return perplexity_of_stories(LanguageModel::open(file));
}

// The table of docs/numerics.md: fewer bits are worse by more than rounding explains.
TEST(PerplexityByType, grows_with_fewer_bits) {
  const TemporaryFolder folder;
  const double exact = perplexity_of_stories(LanguageModel::open(demo_language_model()));
  EXPECT_NEAR(exact, 1.207050, 2e-5);
  double before = exact;
  const std::pair<const char*, double> ladder[] = {
      {"q6_k", 1.207000}, {"q5_k", 1.207176}, {"q4_k", 1.208323}, {"q3_k", 1.212696}, {"q2_k", 1.258350}};
  for (const auto& [type, recorded] : ladder) {
    const double now = perplexity_as(type, folder.path() / "model.gguf");
    EXPECT_GT(now, before - 1e-4) << type;  // six bits lose less than rounding moves
    EXPECT_NEAR(now, recorded, 1e-4 * recorded) << type;
    before = now;
  }
}

TEST(PerplexityByType, equals_the_recorded_values) {
  const TemporaryFolder folder;
  const std::pair<const char*, double> recorded[] = {{"bf16", 1.207043},   {"q8_0", 1.207110},   {"q5_0", 1.207186}, {"q4_0", 1.207449},
                                                     {"iq4_nl", 1.208121}, {"iq4_xs", 1.207806}, {"mxfp4", 1.208532}};
  for (const auto& [type, perplexity] : recorded)
    EXPECT_NEAR(perplexity_as(type, folder.path() / "model.gguf"), perplexity, 1e-4 * perplexity) << type;
}

}  // namespace
}  // namespace hearth::test
