#include "models/mamba/config.h"

#include "models/decoder_case_test.h"
#include "models/recurrent_case_test.h"

namespace hearth::models::mamba {
namespace {

BACKEND_TEST(Mamba, matches_reference_tied) { expect_case(__FILE__, "tied", device, read_config, 5e-6); }
BACKEND_TEST(Mamba, matches_reference_long) { expect_case(__FILE__, "long", device, read_config, 5e-6); }
BACKEND_TEST(Mamba, matches_reference_falcon) { expect_case(__FILE__, "falcon", device, read_config, 5e-6); }
BACKEND_TEST(Mamba, each_config_key_has_the_effect_of_the_reference) { expect_keys(__FILE__, device, read_config, 5e-6); }
BACKEND_TEST(Mamba, each_key_of_falcon_has_the_effect_of_the_reference) {
  expect_keys(__FILE__, device, read_config, 5e-6, "falcon_perturbed");
}
BACKEND_TEST(Mamba, a_text_may_be_fed_in_any_pieces) { expect_same_bits_in_pieces(__FILE__, "tied", device, read_config); }
BACKEND_TEST(Mamba, a_text_continues_from_checkpoints_and_files) { expect_recurrent_state(__FILE__, "tied", device, read_config); }
TEST(MambaLongText, is_finite_in_every_type) {
  expect_finite(read_config, R"({"model_type": "mamba", "vocab_size": 57, "hidden_size": 256, "num_hidden_layers": 2})");
}

}  // namespace
}  // namespace hearth::models::mamba
