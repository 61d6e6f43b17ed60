#include "models/granite/config.h"

#include "models/decoder_case_test.h"

namespace hearth::models::granite {
namespace {

// Observed errors: at most 2.6e-7.
BACKEND_TEST(Granite, matches_reference_scaled) { expect_case(__FILE__, "scaled", device, read_config, 2.5e-6); }
BACKEND_TEST(Granite, matches_reference_long) { expect_case(__FILE__, "long", device, read_config, 2.5e-6); }
BACKEND_TEST(Granite, each_config_key_has_the_effect_of_the_reference) { expect_keys(__FILE__, device, read_config, 2.5e-6); }
BACKEND_TEST(Granite, a_text_may_be_fed_in_any_pieces) { expect_same_bits_in_pieces(__FILE__, "scaled", device, read_config); }

}  // namespace
}  // namespace hearth::models::granite
