#include "models/gemma2/config.h"

#include "models/decoder_case_test.h"

namespace hearth::models::gemma2 {
namespace {

// Observed errors: at most 5.9e-7.
BACKEND_TEST(Gemma2, matches_reference_alternating) { expect_case(__FILE__, "alternating", device, read_config, 5e-6); }
BACKEND_TEST(Gemma2, matches_reference_long) { expect_case(__FILE__, "long", device, read_config, 5e-6); }
BACKEND_TEST(Gemma2, each_config_key_has_the_effect_of_the_reference) { expect_keys(__FILE__, device, read_config, 5e-6); }
BACKEND_TEST(Gemma2, a_text_may_be_fed_in_any_pieces) { expect_same_bits_in_pieces(__FILE__, "alternating", device, read_config); }

}  // namespace
}  // namespace hearth::models::gemma2
