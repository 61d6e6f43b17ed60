#include "models/recurrent_gemma/config.h"

#include "models/recurrent_case_test.h"

namespace hearth::models::recurrent_gemma {
namespace {

std::shared_ptr<TensorSource> listed(const nlohmann::json& shapes, const Config& config) {
  return present(std::make_shared<ListedSource>(shapes, "nothing", 1.0f), config);
}

BACKEND_TEST(RecurrentGemma, matches_reference_mixed) { expect_case(__FILE__, "mixed", device, read_config, 5e-6, listed); }
BACKEND_TEST(RecurrentGemma, matches_reference_windowed) { expect_case(__FILE__, "windowed", device, read_config, 5e-6, listed); }
BACKEND_TEST(RecurrentGemma, matches_reference_long) { expect_case(__FILE__, "long", device, read_config, 5e-6, listed); }
BACKEND_TEST(RecurrentGemma, each_config_key_has_the_effect_of_the_reference) {
  expect_keys(__FILE__, device, read_config, 5e-6, "perturbed", listed);
}
BACKEND_TEST(RecurrentGemma, a_text_may_be_fed_in_any_pieces) {
  expect_same_bits_in_pieces(__FILE__, "windowed", device, read_config, listed);
}
BACKEND_TEST(RecurrentGemma, a_state_may_be_shortened_and_saved) { expect_recurrent_state(__FILE__, "mixed", device, read_config, listed); }
TEST(RecurrentGemmaLongText, is_finite_in_every_type) {
  expect_finite(read_config,
                R"({"vocab_size": 57, "hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 3, "num_attention_heads": 1,
                    "num_key_value_heads": 1, "lru_width": 256, "attention_window_size": 64})");
}

}  // namespace
}  // namespace hearth::models::recurrent_gemma
