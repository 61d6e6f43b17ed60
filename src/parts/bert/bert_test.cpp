#include "parts/bert/bert.h"

#include <set>

#include "parts/golden_case_test.h"

namespace hearth::parts {
namespace {

using Rows = std::vector<std::vector<int32_t>>;

struct BertCase : GoldenCase {
  BertCase(const std::string& name, Backend& backend) : GoldenCase(__FILE__, name, backend) {}

  Tensor run(const Config& json) const {
    const BertConfig c = BertConfig::from(json);
    Weights w = weights();
    const BertModel bert(Scope(w), c);
    w.finish();
    return bert(fact("ids").get<Rows>(), fact("lengths").get<std::vector<int64_t>>());
  }
};

void check_bert(Backend& device, const char* name, double limit) {
  const BertCase c(name, device);
  test::TapRecorder recorder;
  const ObserverScope scope(recorder);
  EXPECT_CLOSE(c.run(c.config()), c.golden.values("y"), limit);
  c.expect_taps(recorder, limit);
}

BACKEND_TEST(Bert, matches_reference_with_masked_padding) { check_bert(device, "masked", 2e-6); }  // observed 1.2e-7 reference, 2.6e-7 cpu
BACKEND_TEST(Bert, matches_reference_without_a_mask) { check_bert(device, "whole", 1e-6); }        // observed 8.2e-8 reference, 1.7e-7 cpu
BACKEND_TEST(Bert, eps_of_each_norm) { check_bert(device, "faint", 1e-6); }                        // observed 9.1e-8 reference, 1.3e-7 cpu

// Changing each key alone gives the result of the reference.
BACKEND_TEST(Bert, each_config_key_has_the_effect_of_the_reference) {
  constexpr double limit = 2e-6;
  const BertCase c("perturbed", device);
  EXPECT_CLOSE(c.run(c.config()), c.golden.values("base"), limit);
  int i = 0;
  for (const auto& change : c.fact("changes")) {
    SCOPED_TRACE(change.dump());
    EXPECT_CLOSE(c.run(c.config_with(change["key"], change["value"])), c.golden.values(std::to_string(i++)), limit);
  }
}

BACKEND_TEST(Bert, rows_do_not_affect_each_other) {
  const BertCase c("masked", device);
  Weights w = c.weights();
  const BertModel bert(Scope(w), BertConfig::from(c.config()));
  const Rows ids{{2, 7, 9, 3, 0, 0}, {2, 4, 4, 8, 5, 3}, {2, 3, 0, 0, 0, 0}};
  const std::vector<int64_t> lengths{4, 6, 2};
  const Tensor all = bert(ids, lengths);
  for (size_t b = 0; b < 3; ++b)
    EXPECT_EQ(bert({ids[b]}, {lengths[b]}).to_vector(), all.slice(0, int64_t(b), int64_t(b) + 1).to_vector()) << b;
}

TEST(BertShapes, wrong_rows_are_named) {
  const auto device = test::make_test_backend("reference");
  const BertCase c("masked", *device);
  Weights w = c.weights();
  const BertModel bert(Scope(w), BertConfig::from(c.config()));
  expect_error<ShapeError>([&] { bert({}); }, {"0 rows"});
  expect_error<ShapeError>([&] { bert({std::vector<int32_t>(21, 1)}); }, {"21 tokens", "1 to 20"});
  expect_error<ShapeError>([&] { bert({{1, 2}, {1}}); }, {"rows of 2 and 1 tokens"});
  expect_error<UsageError>([&] { bert({{1, 50}}); }, {"id 50", "vocabulary of 50"});
  expect_error<ShapeError>([&] { bert({{1, 2}}, {1, 1}); }, {"2 lengths for 1 rows"});
  expect_error<ShapeError>([&] { bert({{1, 2}}, {3}); }, {"length is 3, expected 1 to 2"});
}

TEST(BertConfigs, published_config_asks_for_exactly_the_published_tensors) {
  const Structure s(__FILE__, "bilingual");
  const BertConfig c = BertConfig::from(s.config());
  s.expect_same([&](const Scope& w) { return BertModel(w, c); },
                [](const BertModel& bert, Backend&) {
                  EXPECT_EQ(bert({std::vector<int32_t>(77, 1)}).shape(), (Shape{1, 77, 1024}));
                });
}

// For every key of the reference's config, its effect is proven above, or it is rejected here by name.
TEST(BertConfigs, every_key_is_applied_or_refused) {
  const auto device = test::make_test_backend("reference");
  const BertCase c("perturbed", *device);
  const std::vector<std::pair<std::string, nlohmann::json>> refused{
      {"model_type", "roberta"},     {"position_embedding_type", "relative_key"},
      {"hidden_act", "tanh"},        {"is_decoder", true},
      {"add_cross_attention", true}, {"vocab_size", nullptr},
      {"a_key_of_next_year", 1}};
  for (const auto& entry : refused) {
    SCOPED_TRACE(entry.first + " = " + entry.second.dump());
    expect_error<UnsupportedError>([&] { BertConfig::from(c.config_with(entry.first, entry.second)); }, {entry.first, "config.json"});
  }
  expect_error<WeightError>([&] { BertConfig::from(c.config_with("num_attention_heads", 5)); }, {"num_attention_heads"});
}

TEST(BertConfigs, defaults_are_the_reference_s) { expect_reference_defaults<BertConfig>(__FILE__); }

}  // namespace
}  // namespace hearth::parts
