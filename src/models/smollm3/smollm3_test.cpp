#include "models/smollm3/config.h"

#include "models/decoder_case_test.h"

namespace hearth::models::smollm3 {
namespace {

BACKEND_TEST(SmolLM3, matches_reference_mixed) {
  expect_case(__FILE__, "mixed", device, read_config, 5e-6);
}  // observed 4.2e-7 reference, 8.6e-7 cpu
BACKEND_TEST(SmolLM3, matches_reference_long) {
  expect_case(__FILE__, "long", device, read_config, 5e-6);
}  // observed 3.3e-7 reference, 7.0e-7 cpu
BACKEND_TEST(SmolLM3, matches_reference_windowed) {
  expect_case(__FILE__, "windowed", device, read_config, 5e-6);
}  // observed 3.8e-7 reference, 7.2e-7 cpu
BACKEND_TEST(SmolLM3, each_config_key_has_the_effect_of_the_reference) {
  expect_keys(__FILE__, device, read_config, 4e-6);
}  // observed 2.6e-7 reference, 4.5e-7 cpu
BACKEND_TEST(SmolLM3, intervals_have_the_effect_of_the_reference) {
  expect_keys(__FILE__, device, read_config, 5e-6, "intervals");
}  // observed 3.5e-7 reference, 5.8e-7 cpu
BACKEND_TEST(SmolLM3, a_text_may_be_fed_in_any_pieces) { expect_same_bits_in_pieces(__FILE__, "mixed", device, read_config); }

}  // namespace
}  // namespace hearth::models::smollm3
