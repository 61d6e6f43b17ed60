#include "models/deepseek/config.h"

#include "models/decoder_case_test.h"

namespace hearth::models::deepseek {
namespace {

// Observed errors: at most 7.8e-7.
BACKEND_TEST(Deepseek, matches_reference_sparse) { expect_case(__FILE__, "sparse", device, read_config, 5e-6); }
BACKEND_TEST(Deepseek, matches_reference_long) { expect_case(__FILE__, "long", device, read_config, 5e-6); }
BACKEND_TEST(Deepseek, each_config_key_has_the_effect_of_the_reference) { expect_keys(__FILE__, device, read_config, 5e-6); }
BACKEND_TEST(Deepseek, a_text_may_be_fed_in_any_pieces) { expect_same_bits_in_pieces(__FILE__, "sparse", device, read_config); }

}  // namespace
}  // namespace hearth::models::deepseek
