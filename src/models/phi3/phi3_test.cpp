#include "models/phi3/config.h"

#include "models/decoder_case_test.h"

namespace hearth::models::phi3 {
namespace {

// Observed errors: at most 8.8e-7.
BACKEND_TEST(Phi3, matches_reference_windowed) { expect_case(__FILE__, "windowed", device, read_config, 5e-6); }
BACKEND_TEST(Phi3, matches_reference_short) { expect_case(__FILE__, "short", device, read_config, 5e-6); }
BACKEND_TEST(Phi3, matches_reference_stretched) { expect_case(__FILE__, "stretched", device, read_config, 5e-6); }
BACKEND_TEST(Phi3, matches_reference_partial) { expect_case(__FILE__, "partial", device, read_config, 5e-6); }
BACKEND_TEST(Phi3, matches_reference_long) { expect_case(__FILE__, "long", device, read_config, 5e-6); }
BACKEND_TEST(Phi3, each_config_key_has_the_effect_of_the_reference) { expect_keys(__FILE__, device, read_config, 5e-6); }
BACKEND_TEST(Phi3, sizes_and_partial_rotation_have_the_effect_of_the_reference) {
  expect_keys(__FILE__, device, read_config, 5e-6, "plain");
}
BACKEND_TEST(Phi3, a_text_may_be_fed_in_any_pieces) { expect_same_bits_in_pieces(__FILE__, "stretched", device, read_config); }

}  // namespace
}  // namespace hearth::models::phi3
