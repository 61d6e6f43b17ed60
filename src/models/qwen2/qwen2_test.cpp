#include "models/qwen2/config.h"

#include "models/decoder_case_test.h"

namespace hearth::models::qwen2 {
namespace {

BACKEND_TEST(Qwen2, matches_reference_tied) {
  expect_case(__FILE__, "tied", device, read_config, 5e-6);
}  // observed 3.4e-7 reference, 7.2e-7 cpu
BACKEND_TEST(Qwen2, matches_reference_windowed) {
  expect_case(__FILE__, "windowed", device, read_config, 4e-6);
}  // observed 3.2e-7 reference, 5.9e-7 cpu
BACKEND_TEST(Qwen2, each_config_key_has_the_effect_of_the_reference) {
  expect_keys(__FILE__, device, read_config, 4e-6);
}  // observed 2.8e-7 reference, 5.4e-7 cpu
BACKEND_TEST(Qwen2, a_text_may_be_fed_in_any_pieces) { expect_same_bits_in_pieces(__FILE__, "tied", device, read_config); }

}  // namespace
}  // namespace hearth::models::qwen2
