#include "models/qwen3_next/config.h"

#include "models/recurrent_case_test.h"

namespace hearth::models::qwen3_next {
namespace {

std::shared_ptr<TensorSource> listed(const nlohmann::json& shapes, const Config& config) {
  return present(std::make_shared<ListedSource>(shapes, "nothing", 1.0f), config);
}

// Observed: 1.6e-5, 1.1e-6, 2.6e-6, 4.0e-6. Four layers of "mixed" amplify rounding: the backend that computes in f64 and rounds only the
// results of ops has an error of 5.8e-6 there.
BACKEND_TEST(Qwen3Next, matches_reference_mixed) { expect_case(__FILE__, "mixed", device, read_config, 5e-5, listed); }
BACKEND_TEST(Qwen3Next, matches_reference_long) { expect_case(__FILE__, "long", device, read_config, 5e-6, listed); }
BACKEND_TEST(Qwen3Next, each_config_key_has_the_effect_of_the_reference) {
  expect_keys(__FILE__, device, read_config, 1e-5, "perturbed", listed);
}
BACKEND_TEST(Qwen3Next, the_interval_has_the_effect_of_the_reference) {
  expect_keys(__FILE__, device, read_config, 2e-5, "interval", listed);
}
BACKEND_TEST(Qwen3Next, a_text_may_be_fed_in_any_pieces) { expect_same_bits_in_pieces(__FILE__, "mixed", device, read_config, listed); }
BACKEND_TEST(Qwen3Next, a_state_may_be_shortened_and_saved) { expect_recurrent_state(__FILE__, "mixed", device, read_config, listed); }
TEST(Qwen3NextLongText, is_finite_in_every_type) {
  expect_finite(read_config,
                R"({"vocab_size": 57, "hidden_size": 256, "num_hidden_layers": 2, "layer_types": ["linear_attention", "full_attention"],
                    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 64, "max_position_embeddings": 4096, "num_experts": 4,
                    "num_experts_per_tok": 2, "moe_intermediate_size": 256, "shared_expert_intermediate_size": 256,
                    "linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 64, "linear_value_head_dim": 64})",
                ".linear_attn.a");
}

}  // namespace
}  // namespace hearth::models::qwen3_next
