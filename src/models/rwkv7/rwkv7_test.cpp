#include "models/rwkv7/config.h"

#include "models/recurrent_case_test.h"

namespace hearth::models::rwkv7 {
namespace {

std::shared_ptr<TensorSource> listed(const nlohmann::json& shapes, const Config& config) {
  return present(std::make_shared<ListedSource>(shapes, "nothing", 1.0f), config);
}

BACKEND_TEST(Rwkv7, matches_reference_small) { expect_case(__FILE__, "small", device, read_config, 5e-6, listed); }
BACKEND_TEST(Rwkv7, matches_reference_heads_of_64) { expect_case(__FILE__, "heads_of_64", device, read_config, 5e-6, listed); }
BACKEND_TEST(Rwkv7, matches_reference_long) { expect_case(__FILE__, "long", device, read_config, 5e-6, listed); }
BACKEND_TEST(Rwkv7, each_config_key_has_the_effect_of_the_reference) {
  expect_keys(__FILE__, device, read_config, 5e-6, "perturbed", listed);
}
BACKEND_TEST(Rwkv7, a_text_may_be_fed_in_any_pieces) { expect_same_bits_in_pieces(__FILE__, "small", device, read_config, listed); }
BACKEND_TEST(Rwkv7, a_state_may_be_shortened_and_saved) { expect_recurrent_state(__FILE__, "small", device, read_config, listed); }
TEST(Rwkv7LongText, is_finite_in_every_type) {
  expect_finite(read_config, R"({"vocab_size": 57, "hidden_size": 256, "num_hidden_layers": 2, "head_dim": 64, "intermediate_size": 512})");
}

}  // namespace
}  // namespace hearth::models::rwkv7
