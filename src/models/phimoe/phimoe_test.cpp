#include "models/phimoe/config.h"

#include "models/decoder_case_test.h"

namespace hearth::models::phimoe {
namespace {

BACKEND_TEST(Phimoe, matches_reference_sparse) {
  expect_case(__FILE__, "sparse", device, read_config, 3e-6);
}  // observed 1.4e-7 reference, 3.4e-7 cpu
BACKEND_TEST(Phimoe, matches_reference_short) {
  expect_case(__FILE__, "short", device, read_config, 3e-6);
}  // observed 1.5e-7 reference, 4.0e-7 cpu
BACKEND_TEST(Phimoe, matches_reference_stretched) {
  expect_case(__FILE__, "stretched", device, read_config, 5e-6);
}  // observed 2.6e-7 reference, 7.3e-7 cpu
BACKEND_TEST(Phimoe, matches_reference_long) {
  expect_case(__FILE__, "long", device, read_config, 3e-6);
}  // observed 1.2e-7 reference, 3.4e-7 cpu
BACKEND_TEST(Phimoe, each_config_key_has_the_effect_of_the_reference) {
  expect_keys(__FILE__, device, read_config, 4e-6);
}  // observed 2.0e-7 reference, 4.4e-7 cpu
BACKEND_TEST(Phimoe, a_text_may_be_fed_in_any_pieces) { expect_same_bits_in_pieces(__FILE__, "sparse", device, read_config); }

}  // namespace
}  // namespace hearth::models::phimoe
