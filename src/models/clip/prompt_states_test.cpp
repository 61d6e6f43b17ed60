#include "models/clip/prompt_states.h"

#include <numeric>

#include "support/backend_test.h"
#include "support/tolerance.h"
#include "weights/weights.h"

namespace hearth::models::clip {
namespace {

constexpr parts::ClipTextConfig tiny{
    .vocabulary = 20, .positions = 4, .width = 8, .layers = 1, .heads = 2, .mlp_width = 16, .end_token = 19};

text::Chunk chunk(int32_t id, float weight) { return {{.id = 18}, {.id = id, .weight = weight}, {.id = id, .weight = weight}, {.id = 19}}; }

double sum(const Tensor& x) {
  const std::vector<float> values = x.to_vector();
  return std::accumulate(values.begin(), values.end(), 0.0);
}

// A1111's "Original" keeps the mean of an alternating prompt's states over all its entries, chunk by chunk: a text that occurs again counts
// again.
BACKEND_TEST(ClipPromptStates, a1111_keeps_the_mean_over_all_entries_of_each_chunk) {
  Weights weights = Weights::seeded(device);
  const parts::ClipTextModel model(Scope(weights), tiny);
  const auto encode = [&](float strong, float weak) {
    const text::PromptEntry a{.chunks = {chunk(1, strong), chunk(3, weak)}}, b{.chunks = {chunk(2, weak), chunk(4, strong)}};
    text::Condition condition{.entries = {a, b, a, a}, .weighted = strong != 1 || weak != 1};
    for (size_t i = 0; i < condition.entries.size(); ++i) condition.entries[i].end = int64_t(i) + 1;
    const text::Prompt prompt{.conditions = {condition}, .chunks = 2};
    const PromptEncoding how{.syntax = text::PromptSyntax::a1111, .emphasis = text::Emphasis::original};
    return encode_prompts(model, {&prompt, 1}, {}, chunk(5, 1), how)[0].conditions[0].entries;
  };
  const std::vector<EncodedEntry> plain = encode(1, 1), weighted = encode(1.7f, 0.6f);
  ASSERT_EQ(weighted.size(), 4u);
  for (int64_t c = 0; c < 2; ++c) {
    double before = 0, after = 0;
    for (size_t e = 0; e < weighted.size(); ++e) {
      EXPECT_EQ(weighted[e].end, int64_t(e) + 1);
      ASSERT_EQ(weighted[e].given[states].shape(), (Shape{1, 8, 8}));
      before += sum(plain[e].given[states].slice(1, 4 * c, 4 * c + 4));
      after += sum(weighted[e].given[states].slice(1, 4 * c, 4 * c + 4));
    }
    EXPECT_NEAR(after / before, 1, 1e-4) << c;  // observed 1.3e-5
  }
  EXPECT_EQ(weighted[0].given[states].to_vector(), weighted[2].given[states].to_vector());
  EXPECT_NE(weighted[0].given[states].to_vector(), plain[0].given[states].to_vector());
}

}  // namespace
}  // namespace hearth::models::clip
