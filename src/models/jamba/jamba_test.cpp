#include "models/jamba/config.h"

#include "models/decoder_case_test.h"
#include "models/recurrent_case_test.h"

namespace hearth::models::jamba {
namespace {

BACKEND_TEST(Jamba, matches_reference_experts) { expect_case(__FILE__, "experts", device, read_config, 5e-6); }
BACKEND_TEST(Jamba, matches_reference_long) { expect_case(__FILE__, "long", device, read_config, 5e-6); }
BACKEND_TEST(Jamba, each_config_key_has_the_effect_of_the_reference) { expect_keys(__FILE__, device, read_config, 5e-6); }
BACKEND_TEST(Jamba, a_text_may_be_fed_in_any_pieces) { expect_same_bits_in_pieces(__FILE__, "experts", device, read_config); }
BACKEND_TEST(Jamba, a_text_continues_from_checkpoints_and_files) { expect_recurrent_state(__FILE__, "experts", device, read_config); }
TEST(JambaLongText, is_finite_in_every_type) {
  expect_finite(read_config,
                R"({"vocab_size": 57, "hidden_size": 256, "intermediate_size": 256, "num_hidden_layers": 3, "num_attention_heads": 4,
                    "num_key_value_heads": 2, "attn_layer_period": 3, "attn_layer_offset": 1, "expert_layer_period": 2, "num_experts": 4})");
}

TEST(JambaConfig, contradictions_are_named) {
  parts::expect_error<WeightError>([] { read_config(Config::parse(R"({"attn_layer_offset": 8})", "config.json")); },
                                   {"'attn_layer_offset' = 8, expected less than 'attn_layer_period' = 8"});
  parts::expect_error<UnsupportedError>([] { read_config(Config::parse(R"({"sliding_window": 512})", "config.json")); },
                                        {"sliding_window"});
}

}  // namespace
}  // namespace hearth::models::jamba
