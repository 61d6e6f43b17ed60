#include "models/stablelm/config.h"

#include "models/decoder_case_test.h"

namespace hearth::models::stablelm {
namespace {

BACKEND_TEST(StableLm, matches_reference_plain) {
  expect_case(__FILE__, "plain", device, read_config, 5e-6);
}  // observed 2.2e-7 reference, 6.5e-7 cpu
BACKEND_TEST(StableLm, matches_reference_long) {
  expect_case(__FILE__, "long", device, read_config, 4e-6);
}  // observed 1.4e-7 reference, 5.0e-7 cpu
BACKEND_TEST(StableLm, matches_reference_parallel) {
  expect_case(__FILE__, "parallel", device, read_config, 3e-6);
}  // observed 1.3e-7 reference, 3.9e-7 cpu
BACKEND_TEST(StableLm, each_config_key_has_the_effect_of_the_reference) {
  expect_keys(__FILE__, device, read_config, 4e-6);
}  // observed 1.7e-7 reference, 4.3e-7 cpu
BACKEND_TEST(StableLm, a_text_may_be_fed_in_any_pieces) { expect_same_bits_in_pieces(__FILE__, "plain", device, read_config); }

}  // namespace
}  // namespace hearth::models::stablelm
