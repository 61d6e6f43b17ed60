#include "core/text/suggest.h"

#include <gtest/gtest.h>

#include <vector>

namespace hearth {
namespace {

TEST(Suggest, edit_distance) {
  EXPECT_EQ(edit_distance("", ""), 0);
  EXPECT_EQ(edit_distance("abc", ""), 3);
  EXPECT_EQ(edit_distance("", "abc"), 3);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
  EXPECT_EQ(edit_distance("stpes", "steps"), 1);  // a swap is one change
  EXPECT_EQ(edit_distance("ca", "abc"), 3);       // swapped characters are not edited again
}

TEST(Suggest, nearest_candidate) {
  const std::vector<std::string> flags = {"--steps",     "--seed",       "--negative-prompt", "--prompt",
                                          "--cfg-scale", "--batch-size", "--batch-count",     "-p"};
  EXPECT_EQ(nearest("--stpes", flags), "--steps");
  EXPECT_EQ(nearest("--neg", flags), "--negative-prompt");
  EXPECT_EQ(nearest("--promt", flags), "--prompt");
  EXPECT_EQ(nearest("--cfgscale", flags), "--cfg-scale");
  EXPECT_EQ(nearest("--batch", flags), "");  // two start with it, neither is near
  EXPECT_EQ(nearest("--lora", flags), "");
  EXPECT_EQ(nearest("", flags), "");
  EXPECT_EQ(nearest("-q", flags), "-p");
  EXPECT_EQ(nearest("e", std::vector<std::string>{"ddim", "euler"}), "");  // one letter is too short for a prefix
  EXPECT_EQ(nearest("a", std::vector<std::string>{"b"}), "");              // nothing in common
  EXPECT_EQ(nearest("abcdef", std::vector<std::string>{"abcxyz"}), "");
  EXPECT_EQ(nearest("abcdef", std::vector<std::string>{"abcdxf", "abxdxf"}), "abcdxf");
  EXPECT_EQ(did_you_mean("--stpes", flags), "; did you mean --steps?");
  EXPECT_EQ(did_you_mean("--lora", flags), "");
  EXPECT_EQ(did_you_mean("--batch", flags), "; did you mean --batch-size or --batch-count?");
  const std::vector<std::string> samplers = {"dpm_2_ancestral", "dpm_2", "ddpm", "dpm_fast", "dpmpp_2m", "dpmpp_sde", "dpm_adaptive"};
  EXPECT_EQ(did_you_mean("dpm", samplers), "; did you mean dpm_2, dpm_fast, dpmpp_2m, dpmpp_sde, dpm_adaptive or another?");
  EXPECT_EQ(did_you_mean("dpm_f", samplers), "; did you mean dpm_fast?");
}

}  // namespace
}  // namespace hearth
