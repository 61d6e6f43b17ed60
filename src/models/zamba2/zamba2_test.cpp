#include "models/zamba2/config.h"

#include "models/decoder_case_test.h"
#include "models/recurrent_case_test.h"

namespace hearth::models::zamba2 {
namespace {

// Smaller input matrices than by name: golden/make.py says why. Observed: at most 1.8e-6.
std::shared_ptr<TensorSource> scaled(const nlohmann::json&, const Config&) {
  return std::make_shared<PartlyScaledSource>("in_proj", 0.125f);
}

BACKEND_TEST(Zamba2, matches_reference_adapters) { expect_case(__FILE__, "adapters", device, read_config, 5e-6, scaled); }
BACKEND_TEST(Zamba2, matches_reference_long) { expect_case(__FILE__, "long", device, read_config, 5e-6, scaled); }
BACKEND_TEST(Zamba2, each_config_key_has_the_effect_of_the_reference) {
  expect_keys(__FILE__, device, read_config, 5e-6, "perturbed", scaled);
}
BACKEND_TEST(Zamba2, a_text_may_be_fed_in_any_pieces) { expect_same_bits_in_pieces(__FILE__, "adapters", device, read_config, scaled); }
BACKEND_TEST(Zamba2, a_text_continues_from_checkpoints_and_files) {
  expect_recurrent_state(__FILE__, "adapters", device, read_config, scaled);
}
TEST(Zamba2LongText, is_finite_in_every_type) {
  expect_finite(read_config,
                R"({"vocab_size": 57, "hidden_size": 256, "intermediate_size": 256, "num_hidden_layers": 3, "num_attention_heads": 4,
                    "layers_block_type": ["mamba", "hybrid", "hybrid"], "n_mamba_heads": 8, "mamba_d_state": 16, "mamba_ngroups": 2,
                    "num_mem_blocks": 1, "adapter_rank": 256, "use_shared_attention_adapter": true, "use_mem_rope": true})");
}

TEST(Zamba2Config, contradictions_are_named) {
  const auto config = [](const char* json) { return Config::parse(json, "config.json"); };
  parts::expect_error<WeightError>([&] { read_config(config(R"({"num_hidden_layers": 2, "layers_block_type": ["mamba"]})")); },
                                   {"'layers_block_type' has 1 entries, expected 'num_hidden_layers' = 2"});
  parts::expect_error<UnsupportedError>([&] { read_config(config(R"({"num_hidden_layers": 1, "layers_block_type": ["attention"]})")); },
                                        {"the layer type \"attention\" is not supported, expected mamba or hybrid"});
  parts::expect_error<WeightError>([&] { read_config(config(R"({"n_mamba_heads": 7})")); },
                                   {"'n_mamba_heads' = 7 does not divide 'mamba_expand' times 'hidden_size' = 5120"});
}

}  // namespace
}  // namespace hearth::models::zamba2
