#include "models/cohere/config.h"

#include "models/decoder_case_test.h"

namespace hearth::models::cohere {
namespace {

// Observed errors: at most 4.4e-7.
BACKEND_TEST(Cohere, matches_reference_parallel) { expect_case(__FILE__, "parallel", device, read_config, 4e-6); }
BACKEND_TEST(Cohere, matches_reference_long) { expect_case(__FILE__, "long", device, read_config, 4e-6); }
BACKEND_TEST(Cohere, matches_reference_normed) { expect_case(__FILE__, "normed", device, read_config, 4e-6); }
BACKEND_TEST(Cohere, each_config_key_has_the_effect_of_the_reference) { expect_keys(__FILE__, device, read_config, 4e-6); }
BACKEND_TEST(Cohere, a_text_may_be_fed_in_any_pieces) { expect_same_bits_in_pieces(__FILE__, "parallel", device, read_config); }

}  // namespace
}  // namespace hearth::models::cohere
