#include "models/internlm2/config.h"
#include "models/internlm2/groups_apart.h"

#include "models/decoder_case_test.h"

namespace hearth::models::internlm2 {
namespace {

std::shared_ptr<TensorSource> present(const nlohmann::json& shapes, const Config& config) {
  return groups_apart(std::make_shared<ListedSource>(shapes, "nothing", 1.0f), config);
}

// Observed errors: at most 4.7e-7.
BACKEND_TEST(Internlm2, matches_reference_grouped) { expect_case(__FILE__, "grouped", device, read_config, 4.5e-6, present); }
BACKEND_TEST(Internlm2, matches_reference_long) { expect_case(__FILE__, "long", device, read_config, 4.5e-6, present); }
BACKEND_TEST(Internlm2, each_config_key_has_the_effect_of_the_reference) {
  expect_keys(__FILE__, device, read_config, 4.5e-6, "perturbed", present);
}
BACKEND_TEST(Internlm2, a_text_may_be_fed_in_any_pieces) { expect_same_bits_in_pieces(__FILE__, "grouped", device, read_config, present); }

}  // namespace
}  // namespace hearth::models::internlm2
