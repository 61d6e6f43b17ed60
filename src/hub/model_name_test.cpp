#include "hub/model_name.h"

#include <gtest/gtest.h>

namespace hearth::hub {
namespace {

TEST(ModelName, parts) {
  const auto name = parse_model_name("Qwen/Qwen2.5-0.5B_x@refs/pr/1:a/b-q4_k_m.gguf");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->repo(), "Qwen/Qwen2.5-0.5B_x");
  EXPECT_EQ(name->revision, "refs/pr/1");
  EXPECT_EQ(name->file, "a/b-q4_k_m.gguf");
  EXPECT_EQ(name->text(), "Qwen/Qwen2.5-0.5B_x@refs/pr/1:a/b-q4_k_m.gguf");
  EXPECT_EQ(parse_model_name("org/name")->text(), "org/name");
}

TEST(ModelName, what_is_none) {
  for (const char* text : {"", "name", "org/", "/name", "a/b/c", "../name", "org/..", "org/a..b", "./name", "org/na me", "org/name:",
                           "org/name@", "org/name:../x", "org/name@../x", "org/name:/x", "-org/name", "https://huggingface.co/org/name"})
    EXPECT_FALSE(parse_model_name(text)) << text;
}

TEST(ModelName, safe_paths) {
  for (const char* path : {"a", "unet/model.safetensors", "a b/c", "..a/b..", "ü"}) EXPECT_TRUE(is_safe_path(path)) << path;
  for (const char* path : {"", "/a", "a/", "a//b", "..", "../a", "a/../b", "a/..", ".", "./a", "a\\b", "a\nb", "a\x7f"})
    EXPECT_FALSE(is_safe_path(path)) << path;
  EXPECT_FALSE(is_safe_path(std::string("a\0b", 3)));
  EXPECT_FALSE(is_safe_path(std::string(256, 'a')));
}

TEST(ModelName, files) {
  using Names = std::vector<std::string>;
  const Names all = {"README.md",
                     "m-BF16.gguf",
                     "m-Q4_0.gguf",
                     "m-Q4_0_4_4.gguf",
                     "m-Q4_K_M.gguf",
                     "m-f16-00001-of-00002.gguf",
                     "m-f16-00002-of-00002.gguf",
                     "mmproj-f16.gguf",
                     "sub/x.safetensors"};
  EXPECT_EQ(match_file(all, "q4_k_m"), Names{"m-Q4_K_M.gguf"});
  EXPECT_EQ(match_file(all, "Q4_0"), Names{"m-Q4_0.gguf"});
  EXPECT_EQ(match_file(all, "q4_k"), Names{});
  EXPECT_EQ(match_file(all, "bf16"), Names{"m-BF16.gguf"});
  const Names parts = {"m-f16-00001-of-00002.gguf", "m-f16-00002-of-00002.gguf"};
  EXPECT_EQ(match_file(all, "f16"), parts);
  EXPECT_EQ(match_file(all, "m-f16-00002-of-00002.gguf"), parts);
  EXPECT_EQ(match_file(all, "x.safetensors"), Names{"sub/x.safetensors"});
  EXPECT_EQ(match_file(all, "README.md"), Names{"README.md"});
  EXPECT_EQ(match_file(all, "nothing"), Names{});
  EXPECT_EQ(parts_of(parts[0]), 2);
  EXPECT_EQ(without_part(parts[1]), "m-f16.gguf");
}

}  // namespace
}  // namespace hearth::hub
