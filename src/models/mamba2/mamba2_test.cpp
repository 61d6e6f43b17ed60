#include "models/mamba2/config.h"

#include "models/decoder_case_test.h"
#include "models/recurrent_case_test.h"

namespace hearth::models::mamba2 {
namespace {

BACKEND_TEST(Mamba2, matches_reference_groups) { expect_case(__FILE__, "groups", device, read_config, 5e-6); }
BACKEND_TEST(Mamba2, matches_reference_limits) { expect_case(__FILE__, "limits", device, read_config, 5e-6); }
BACKEND_TEST(Mamba2, matches_reference_long) { expect_case(__FILE__, "long", device, read_config, 5e-6); }
BACKEND_TEST(Mamba2, each_config_key_has_the_effect_of_the_reference) { expect_keys(__FILE__, device, read_config, 5e-6); }
BACKEND_TEST(Mamba2, a_text_may_be_fed_in_any_pieces) { expect_same_bits_in_pieces(__FILE__, "groups", device, read_config); }
BACKEND_TEST(Mamba2, a_text_continues_from_checkpoints_and_files) { expect_recurrent_state(__FILE__, "groups", device, read_config); }
TEST(Mamba2LongText, is_finite_in_every_type) {
  expect_finite(
      read_config,
      R"({"vocab_size": 57, "hidden_size": 256, "num_hidden_layers": 2, "num_heads": 8, "head_dim": 64, "state_size": 16, "n_groups": 2})");
}

TEST(Mamba2Config, contradictions_are_named) {
  const auto config = [](const char* json) { return Config::parse(json, "config.json"); };
  parts::expect_error<WeightError>([&] { read_config(config(R"({"num_heads": 6, "head_dim": 8, "expand": 2, "hidden_size": 20})")); },
                                   {"'num_heads' = 6 times 'head_dim' = 8 is 48, expected 40, 'expand' times 'hidden_size'"});
  parts::expect_error<WeightError>([&] { read_config(config(R"({"num_heads": 6, "n_groups": 4})")); },
                                   {"'n_groups' = 4 does not divide 'num_heads' = 6"});
  parts::expect_error<WeightError>([&] { read_config(config(R"({"time_step_limit": [0.5, 0.1]})")); },
                                   {"'time_step_limit' = [0.5,0.1], expected two numbers in ascending order"});
}

}  // namespace
}  // namespace hearth::models::mamba2
