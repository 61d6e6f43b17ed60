#include "models/gpt_oss/config.h"
#include "models/gpt_oss/stacks.h"

#include "models/decoder_case_test.h"

namespace hearth::models::gpt_oss {
namespace {

std::shared_ptr<TensorSource> present(const nlohmann::json& shapes, const Config&) {
  return unstacked(std::make_shared<ListedSource>(shapes, "experts.", 40.0f), stacks);
}

// Observed errors: at most 5e-7.
BACKEND_TEST(GptOss, matches_reference_sparse) { expect_case(__FILE__, "sparse", device, read_config, 5e-6, present); }
BACKEND_TEST(GptOss, matches_reference_long) { expect_case(__FILE__, "long", device, read_config, 5e-6, present); }
BACKEND_TEST(GptOss, each_config_key_has_the_effect_of_the_reference) {
  expect_keys(__FILE__, device, read_config, 5e-6, "perturbed", present);
}
BACKEND_TEST(GptOss, a_text_may_be_fed_in_any_pieces) { expect_same_bits_in_pieces(__FILE__, "sparse", device, read_config, present); }

}  // namespace
}  // namespace hearth::models::gpt_oss
