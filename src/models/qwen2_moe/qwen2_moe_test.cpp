#include "models/qwen2_moe/config.h"

#include "models/decoder_case_test.h"

namespace hearth::models::qwen2_moe {
namespace {

BACKEND_TEST(Qwen2Moe, matches_reference_sparse) {
  expect_case(__FILE__, "sparse", device, read_config, 5e-6);
}  // observed 2.9e-7 reference, 5.2e-7 cpu
BACKEND_TEST(Qwen2Moe, matches_reference_long) {
  expect_case(__FILE__, "long", device, read_config, 5e-6);
}  // observed 3.0e-7 reference, 5.7e-7 cpu
BACKEND_TEST(Qwen2Moe, matches_reference_mixed) {
  expect_case(__FILE__, "mixed", device, read_config, 5e-6);
}  // observed 4.4e-7 reference, 6.5e-7 cpu
BACKEND_TEST(Qwen2Moe, each_config_key_has_the_effect_of_the_reference) {
  expect_keys(__FILE__, device, read_config, 4e-6);
}  // observed 2.8e-7 reference, 4.5e-7 cpu
BACKEND_TEST(Qwen2Moe, windows_have_the_effect_of_the_reference) {
  expect_keys(__FILE__, device, read_config, 3e-6, "windowed");
}  // observed 2.1e-7 reference, 3.2e-7 cpu
BACKEND_TEST(Qwen2Moe, a_text_may_be_fed_in_any_pieces) { expect_same_bits_in_pieces(__FILE__, "sparse", device, read_config); }

}  // namespace
}  // namespace hearth::models::qwen2_moe
