#include "models/mistral/config.h"

#include "models/decoder_case_test.h"

namespace hearth::models::mistral {
namespace {

BACKEND_TEST(Mistral, matches_reference_windowed) {
  expect_case(__FILE__, "windowed", device, read_config, 3e-6);
}  // observed 2.2e-7 reference, 4.2e-7 cpu
BACKEND_TEST(Mistral, matches_reference_open) {
  expect_case(__FILE__, "open", device, read_config, 5e-6);
}  // observed 3.9e-7 reference, 6.3e-7 cpu
BACKEND_TEST(Mistral, matches_reference_long) {
  expect_case(__FILE__, "long", device, read_config, 4e-6);
}  // observed 2.0e-7 reference, 6.0e-7 cpu
BACKEND_TEST(Mistral, each_config_key_has_the_effect_of_the_reference) {
  expect_keys(__FILE__, device, read_config, 4e-6);
}  // observed 2.5e-7 reference, 5.3e-7 cpu
BACKEND_TEST(Mistral, a_text_may_be_fed_in_any_pieces) { expect_same_bits_in_pieces(__FILE__, "windowed", device, read_config); }

}  // namespace
}  // namespace hearth::models::mistral
