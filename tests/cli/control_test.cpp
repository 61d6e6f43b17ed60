// Flags of control networks act. Also: tests/e2e/control_test.cpp.
#include "cli/generate_test.h"

namespace hearth::test {
namespace {

const std::string golden = HEARTH_SOURCE_DIR "/tests/e2e/golden/", network = golden + "control/canny";

class ControlFlags : public GenerateTest {
 protected:
  void SetUp() override { generate({"--output", "start.png"}); }
  Ended run(Arguments more) const {
    more.insert(more.end(), {"--model", golden + "pndm", "--width", "64", "--height", "64", "--steps", "2"});
    return generate(more);
  }
  Pixels made(const Arguments& more) const {
    const Ended r = run(more);
    EXPECT_EQ(r.code, 0) << r.err;
    return image("a.png");
  }
};

TEST_F(ControlFlags, each_key_and_flag_has_an_effect) {
  const Pixels none = made({});
  const std::string control = "path=" + network + ",image=start.png";
  const Pixels plain = made({"--control", control});
  EXPECT_NE(plain, none);
  EXPECT_EQ(made({"--control", control + ",scale=0"}), none);
  for (const char* key : {"scale=0.3", "end=0.5", "guess=on", "preprocess=invert"})
    EXPECT_NE(made({"--control", control + "," + key}), plain) << key;
  EXPECT_EQ(made({"--control", control, "--control-preprocess", "invert", "--save-control", "seen.png"}),
            made({"--control", control + ",preprocess=invert"}));
  const Pixels start = image("start.png"), seen = image("seen.png");
  ASSERT_EQ(seen.rgb.size(), start.rgb.size());
  for (size_t i = 0; i < start.rgb.size(); ++i) ASSERT_EQ(seen.rgb[i], 255 - start.rgb[i]);
}

TEST_F(ControlFlags, what_is_wrong_is_refused_in_one_line) {
  EXPECT_EQ(not_one_line(run({"--control", "path=" + network}), 2), "");
  EXPECT_EQ(not_one_line(run({"--control", "path=" + network + ",image=start.png,scale=big"}), 2), "");
  EXPECT_EQ(not_one_line(run({"--control", "path=" + network + ",image=missing.png"}), 1), "");
  const Ended typo = run({"--control", "path=" + network + ",image=start.png,scal=2"});
  EXPECT_EQ(not_one_line(typo, 2), "");
  EXPECT_NE(typo.err.find("'scal' is unknown"), std::string::npos) << typo.err;
  EXPECT_NE(typo.err.find("did you mean scale?"), std::string::npos) << typo.err;
  EXPECT_EQ(not_one_line(run({"--control", "path=" + golden + "control/xl,image=start.png"}), 1), "");
  EXPECT_EQ(not_one_line(run({"--control-preprocess", "canny"}), 2), "");
  EXPECT_EQ(not_one_line(run({"--save-control", "b.png"}), 2), "");
}

}  // namespace
}  // namespace hearth::test
