// golden/make_comfy.py: ComfyUI's own functions in f64 on a mixture of Gaussians with given noise, on exploding and flow paths.
#include "sampling/samplers/gaussian_problem_test.h"
#include "support/golden.h"

namespace hearth::sampling {
namespace {

TEST(Comfy, trajectories_on_a_mixture) {
  const auto file = test::folder_of(__FILE__) / "golden/comfy_mixture.json";
  const auto worst = test_problem::largest_errors(file, test_problem::mixture(1.1));
  EXPECT_EQ(worst.size(), 67);
  // Observed: 4.9e-11 for dpm_2_ancestral, where a step ends near σ 0; others 1.6e-12.
  for (const auto& [name, error] : worst) EXPECT_LE(error, name.ends_with("dpm_2_ancestral") ? 4e-10 : 1e-11) << name;
}

}  // namespace
}  // namespace hearth::sampling
