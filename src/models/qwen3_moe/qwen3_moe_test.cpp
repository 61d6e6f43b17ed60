#include "models/qwen3_moe/config.h"

#include "models/decoder_case_test.h"

namespace hearth::models::qwen3_moe {
namespace {

BACKEND_TEST(Qwen3Moe, matches_reference_sparse) { expect_case(__FILE__, "sparse", device, read_config, 5e-6); }
BACKEND_TEST(Qwen3Moe, matches_reference_long) { expect_case(__FILE__, "long", device, read_config, 5e-6); }
BACKEND_TEST(Qwen3Moe, matches_reference_mixed) { expect_case(__FILE__, "mixed", device, read_config, 5e-6); }
BACKEND_TEST(Qwen3Moe, each_config_key_has_the_effect_of_the_reference) { expect_keys(__FILE__, device, read_config, 5e-6); }
BACKEND_TEST(Qwen3Moe, windows_have_the_effect_of_the_reference) { expect_keys(__FILE__, device, read_config, 5e-6, "windowed"); }
BACKEND_TEST(Qwen3Moe, a_text_may_be_fed_in_any_pieces) { expect_same_bits_in_pieces(__FILE__, "sparse", device, read_config); }

}  // namespace
}  // namespace hearth::models::qwen3_moe
