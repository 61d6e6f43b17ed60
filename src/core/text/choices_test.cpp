#include "hearth/choices.h"

#include <gtest/gtest.h>

#include "support/complaint.h"

namespace hearth {
namespace {

template <class Choice> void expect_names(std::initializer_list<std::string_view> names) {
  const auto all = choice_names<Choice>();
  EXPECT_TRUE(std::equal(all.begin(), all.end(), names.begin(), names.end()));
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(name_of(Choice(i)), all[i]);
    EXPECT_EQ(choice_named<Choice>(all[i]), Choice(i));
  }
}

TEST(Choices, have_names) {
  expect_names<Compat>({"", "diffusers", "comfyui", "a1111"});
  expect_names<Rng>({"cpu", "nv"});
  expect_names<PromptSyntax>({"plain", "a1111", "comfyui"});
  expect_names<Emphasis>({"original", "no-norm", "ignore", "none"});
  expect_names<ResizeMode>({"stretch", "crop", "fill"});
  expect_names<InpaintFill>({"original", "fill", "latent-noise", "latent-nothing"});
  expect_names<VaeTiling>({"auto", "on", "off"});
  EXPECT_EQ(name_of(Compat::a1111), "a1111");
  EXPECT_EQ(name_of(Rng::nv), "nv");
  EXPECT_EQ(name_of(PromptSyntax::comfyui), "comfyui");
  EXPECT_EQ(name_of(Emphasis::none), "none");
}

TEST(Choices, unknown_names_are_refused_with_a_list) {
  const auto complaint = [](auto choose) { return test::complaint_of(choose); };
  EXPECT_EQ(complaint([] { choice_named<Compat>("forge"); }), "UsageError: compat 'forge' is unknown, expected diffusers, comfyui, a1111");
  EXPECT_EQ(complaint([] { choice_named<Rng>("cuda"); }), "UsageError: noise source 'cuda' is unknown, expected cpu, nv");
  EXPECT_EQ(complaint([] { choice_named<PromptSyntax>("x"); }), "UsageError: prompt syntax 'x' is unknown, expected plain, a1111, comfyui");
  EXPECT_EQ(complaint([] { choice_named<Emphasis>("x"); }),
            "UsageError: emphasis 'x' is unknown, expected original, no-norm, ignore, none");
}

}  // namespace
}  // namespace hearth
