// Flags of image prompts act. Also: tests/mock_families/mock_stream/references_test.cpp, tests/e2e/flux_references_test.cpp.
#include "cli/generate_test.h"

namespace hearth::test {
namespace {

const std::string golden = HEARTH_SOURCE_DIR "/tests/e2e/golden/", prior = golden + "flux_redux";

class ImagePromptTest : public GenerateTest {
 protected:
  void SetUp() override {
    generate({"--output", "start.png"});
    generate({"--output", "other.png", "--seed", "8"});
  }
  Ended of_flux(Arguments more) const {
    more.insert(more.end(), {"--model", golden + "flux_dev", "--width", "32", "--height", "32", "--reference", "start.png"});
    return generate(more);
  }
  Pixels prompted(const Arguments& more) const {
    Arguments all = {"--redux", prior};
    all.insert(all.end(), more.begin(), more.end());
    const Ended r = of_flux(all);
    EXPECT_EQ(r.code, 0) << r.err;
    return image("a.png");
  }
};

TEST_F(ImagePromptTest, each_flag_has_an_effect) {
  const Pixels plain = prompted({});
  EXPECT_NE(prompted({"--reference", "other.png"}), plain);
  EXPECT_NE(prompted({"--redux-scale", "0.1"}), plain);
  EXPECT_NE(prompted({"--redux-pooled-scale", "0.1"}), plain);
  const Arguments parts = {"--redux", prior + "/image_embedder", "--image-encoder", prior + "/image_encoder"};
  ASSERT_EQ(of_flux(parts).code, 0);
  EXPECT_EQ(image("a.png"), plain);
  const auto component = [&](const Arguments& more) {
    Arguments all = {"--redux", prior, "--json"};
    all.insert(all.end(), more.begin(), more.end());
    const Json run = Json::parse(of_flux(all).out).at("runs").at(0);
    for (const Json& c : run.at("components"))
      if (c.at("name") == "image_encoder") return c;
    return Json();
  };
  EXPECT_EQ(component({"--image-encoder-precision", "f32"}).at("held"), "f32");
  EXPECT_EQ(component({"--image-encoder-device", "reference"}).at("device"), "reference");
}

TEST_F(ImagePromptTest, what_is_missing_or_unsupported_is_refused_in_one_line) {
  EXPECT_EQ(not_one_line(of_flux({}), 2), "");
  EXPECT_EQ(not_one_line(of_flux({"--redux", prior + "/image_embedder"}), 2), "");
  EXPECT_EQ(not_one_line(of_flux({"--redux", prior, "--redux-scale", "1,2"}), 2), "");
  EXPECT_EQ(not_one_line(of_flux({"--redux", prior, "--image-encoder-precision", "f8"}), 2), "");
  EXPECT_EQ(not_one_line(generate({"--model", golden + "flux_dev", "--redux", prior}), 2), "");
  EXPECT_EQ(not_one_line(generate({"--redux", prior, "--reference", "start.png"}), 2), "");
}

}  // namespace
}  // namespace hearth::test
