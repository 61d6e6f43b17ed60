#include "models/image_prompt/mask.h"

#include <nlohmann/json.hpp>

#include "support/backend_test.h"
#include "support/golden.h"
#include "weights/seeded.h"

namespace hearth::models::image_prompt {
namespace {

Pixels picture(int64_t width, int64_t height) {
  Pixels image{.width = width, .height = height, .rgb = {}};
  for (const float u : seeded_uniforms("picture", width * height * 3)) image.rgb.push_back(uint8_t(u * 256));
  return image;
}

HOST_TEST(ImagePromptMask, is_that_of_the_reference) {
  const test::Golden golden(__FILE__, "masks", device);
  const nlohmann::json cases = nlohmann::json::parse(golden.metadata().at("facts")).at("cases");
  ASSERT_EQ(cases.size(), 4u);
  for (const auto& [name, c] : cases.items()) {
    SCOPED_TRACE(name);
    const int64_t width = c.at("size")[0], height = c.at("size")[1];
    const std::vector<float> mask = prepared_mask(picture(c.at("picture")[0], c.at("picture")[1]), width, height);
    EXPECT_EQ(mask, golden.values(name));
    for (const int64_t positions : c.at("positions")) {
      const std::vector<float> at = mask_at(mask, width, height, positions),
                               expected = golden.values(fmt::format("{}.{}", name, positions));
      ASSERT_EQ(at.size(), expected.size());
      for (size_t i = 0; i < at.size(); ++i) EXPECT_NEAR(at[i], expected[i], 2e-5) << positions << " " << i;
    }
  }
}

}  // namespace
}  // namespace hearth::models::image_prompt
