#include "models/qwen3_moe/config.h"

#include "models/decoder_case_test.h"

namespace hearth::models::qwen3_moe {
namespace {

BACKEND_TEST(Qwen3Moe, matches_reference_sparse) {
  expect_case(__FILE__, "sparse", device, read_config, 3e-6);
}  // observed 2.2e-7 reference, 3.9e-7 cpu
BACKEND_TEST(Qwen3Moe, matches_reference_long) {
  expect_case(__FILE__, "long", device, read_config, 3e-6);
}  // observed 1.9e-7 reference, 3.7e-7 cpu
BACKEND_TEST(Qwen3Moe, matches_reference_mixed) {
  expect_case(__FILE__, "mixed", device, read_config, 4e-6);
}  // observed 1.9e-7 reference, 4.4e-7 cpu
BACKEND_TEST(Qwen3Moe, each_config_key_has_the_effect_of_the_reference) {
  expect_keys(__FILE__, device, read_config, 4e-6);
}  // observed 2.4e-7 reference, 4.1e-7 cpu
BACKEND_TEST(Qwen3Moe, windows_have_the_effect_of_the_reference) {
  expect_keys(__FILE__, device, read_config, 2e-6, "windowed");
}  // observed 1.9e-7 reference, 3.0e-7 cpu
BACKEND_TEST(Qwen3Moe, a_text_may_be_fed_in_any_pieces) { expect_same_bits_in_pieces(__FILE__, "sparse", device, read_config); }

}  // namespace
}  // namespace hearth::models::qwen3_moe
