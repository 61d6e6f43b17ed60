#include "models/qwen3/config.h"

#include "models/decoder_case_test.h"

namespace hearth::models::qwen3 {
namespace {

BACKEND_TEST(Qwen3, matches_reference_normed) {
  expect_case(__FILE__, "normed", device, read_config, 5e-6);
}  // observed 3.9e-7 reference, 7.5e-7 cpu
BACKEND_TEST(Qwen3, matches_reference_tied) {
  expect_case(__FILE__, "tied", device, read_config, 3e-6);
}  // observed 2.1e-7 reference, 3.8e-7 cpu
BACKEND_TEST(Qwen3, each_config_key_has_the_effect_of_the_reference) {
  expect_keys(__FILE__, device, read_config, 5e-6);
}  // observed 3.0e-7 reference, 6.3e-7 cpu
BACKEND_TEST(Qwen3, a_text_may_be_fed_in_any_pieces) { expect_same_bits_in_pieces(__FILE__, "normed", device, read_config); }

}  // namespace
}  // namespace hearth::models::qwen3
