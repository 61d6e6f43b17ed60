#include "hub/selection.h"

#include <gtest/gtest.h>

#include "hearth/error.h"
#include "support/files.h"

namespace hearth::hub {
namespace {

using Names = std::vector<std::string>;

Names take(const Names& paths, const Choice& choice = {}, const std::string& index = "") {
  Listing listing{.commit = std::string(40, 'a'), .files = {}};
  for (const std::string& path : paths) listing.files.push_back({.path = path, .size = 1'200'000'000, .sha256 = {}, .git = {}});
  Names names;
  for (const RemoteFile& file : select_files(listing, choice, "org/name", [&] { return index; })) names.push_back(file.path);
  return names;
}

std::string refused(const Names& paths, const Choice& choice = {}) {
  return test::message_of<UsageError>([&] { take(paths, choice); });
}

const char* const index_of_sd =
    R"({"_class_name": "StableDiffusionPipeline", "unet": ["diffusers", "UNet2DConditionModel"], "vae": ["diffusers", "AutoencoderKL"],
        "safety_checker": ["stable_diffusion", "StableDiffusionSafetyChecker"], "tokenizer": ["transformers", "CLIPTokenizer"],
        "image_encoder": [null, null]})";

TEST(Selection, of_a_diffusers_folder) {
  const Names repo = {"README.md",
                      "model_index.json",
                      "safety_checker/model.safetensors",
                      "sd.safetensors",
                      "tokenizer/merges.txt",
                      "tokenizer/vocab.json",
                      "unet/config.json",
                      "unet/diffusion_flax_model.msgpack",
                      "unet/diffusion_pytorch_model.bin",
                      "unet/diffusion_pytorch_model.fp16.safetensors",
                      "unet/diffusion_pytorch_model.non_ema.safetensors",
                      "unet/diffusion_pytorch_model.safetensors",
                      "unet/model.onnx",
                      "vae/config.json",
                      "vae/diffusion_pytorch_model.bin",
                      "vae/diffusion_pytorch_model.fp16.bin",
                      "vae_decoder/model.onnx"};
  EXPECT_EQ(take(repo, {}, index_of_sd),
            (Names{"model_index.json", "tokenizer/merges.txt", "tokenizer/vocab.json", "unet/config.json",
                   "unet/diffusion_pytorch_model.safetensors", "vae/config.json", "vae/diffusion_pytorch_model.bin"}));
  EXPECT_EQ(take(repo, {.variant = "fp16"}, index_of_sd),
            (Names{"model_index.json", "tokenizer/merges.txt", "tokenizer/vocab.json", "unet/config.json",
                   "unet/diffusion_pytorch_model.fp16.safetensors", "vae/config.json", "vae/diffusion_pytorch_model.fp16.bin"}));
  EXPECT_EQ(take(repo, {.exclude = {"unet/*"}}, index_of_sd), (Names{"model_index.json", "tokenizer/merges.txt", "tokenizer/vocab.json",
                                                                     "vae/config.json", "vae/diffusion_pytorch_model.bin"}));
  EXPECT_EQ(take(repo, {.all = true}).size(), repo.size());
  EXPECT_EQ(take(repo, {.exclude = {"*.bin", "*.safetensors"}, .all = true}).size(), repo.size() - 8);
  EXPECT_EQ(take(repo, {.include = {"*.json"}, .exclude = {"vae/*"}}),
            (Names{"model_index.json", "tokenizer/vocab.json", "unet/config.json"}));
  EXPECT_EQ(take(repo, {.file = "sd.safetensors"}), Names{"sd.safetensors"});
  EXPECT_EQ(test::message_of<UsageError>([&] { take(repo, {.variant = "fp8"}, index_of_sd); }),
            "org/name: has no weights of the variant 'fp8', expected one of fp16, non_ema");
}

TEST(Selection, of_shards_and_their_variants) {
  const Names repo = {"model_index.json",
                      "unet/diffusion_pytorch_model-00001-of-00002.safetensors",
                      "unet/diffusion_pytorch_model-00002-of-00002.safetensors",
                      "unet/diffusion_pytorch_model.fp16-00001-of-00001.safetensors",
                      "unet/diffusion_pytorch_model.safetensors.index.fp16.json",
                      "unet/diffusion_pytorch_model.safetensors.index.json",
                      "vae/diffusion_pytorch_model.safetensors"};
  EXPECT_EQ(take(repo, {}, index_of_sd),
            (Names{"model_index.json", "unet/diffusion_pytorch_model-00001-of-00002.safetensors",
                   "unet/diffusion_pytorch_model-00002-of-00002.safetensors", "unet/diffusion_pytorch_model.safetensors.index.json",
                   "vae/diffusion_pytorch_model.safetensors"}));
  EXPECT_EQ(take(repo, {.variant = "fp16"}, index_of_sd),
            (Names{"model_index.json", "unet/diffusion_pytorch_model.fp16-00001-of-00001.safetensors",
                   "unet/diffusion_pytorch_model.safetensors.index.fp16.json", "vae/diffusion_pytorch_model.safetensors"}));
}

TEST(Selection, only_a_variant) {
  const Names repo = {"model_index.json", "unet/diffusion_pytorch_model.fp16.safetensors"};
  EXPECT_EQ(test::message_of<UsageError>([&] { take(repo, {}, index_of_sd); }),
            "org/name: unet has no weights in full precision, expected --variant with one of fp16");
}

TEST(Selection, of_a_language_model) {
  const Names repo = {"README.md",
                      "additional_chat_templates/tools.jinja",
                      "chat_template.jinja",
                      "config.json",
                      "consolidated.safetensors",
                      "merges.txt",
                      "model-00001-of-00002.safetensors",
                      "model-00002-of-00002.safetensors",
                      "model.safetensors.index.json",
                      "onnx/model.onnx",
                      "original/consolidated.00.pth",
                      "pytorch_model.bin",
                      "tokenizer.json",
                      "tokenizer.model"};
  EXPECT_EQ(take(repo), (Names{"additional_chat_templates/tools.jinja", "chat_template.jinja", "config.json", "merges.txt",
                               "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors", "model.safetensors.index.json",
                               "tokenizer.json", "tokenizer.model"}));
}

TEST(Selection, of_one_model_among_several) {
  EXPECT_EQ(take({"README.md", "config.json", "imatrix.gguf", "m.gguf", "mmproj-m.gguf"}), Names{"m.gguf"});
  EXPECT_EQ(take({"README.md", "xl.safetensors"}), Names{"xl.safetensors"});
  const Names repo = {"m-Q4_K_M.gguf", "m-Q8_0-00001-of-00002.gguf", "m-Q8_0-00002-of-00002.gguf"};
  EXPECT_EQ(refused(repo),
            "org/name: contains 2 models, expected the file of one, as in org/name:m-Q4_K_M.gguf: m-Q4_K_M.gguf (1.2 GB), m-Q8_0.gguf (2.4 "
            "GB in 2 "
            "parts)");
  EXPECT_EQ(take(repo, {.file = "q8_0"}), (Names{"m-Q8_0-00001-of-00002.gguf", "m-Q8_0-00002-of-00002.gguf"}));
  EXPECT_EQ(refused(repo, {.file = "q5_0"}),
            "org/name: has no file 'q5_0'; it has m-Q4_K_M.gguf (1.2 GB), m-Q8_0.gguf (2.4 GB in 2 parts)");
  EXPECT_EQ(refused({"a-q8_0.gguf", "b-q8_0.gguf"}, {.file = "q8_0"}),
            "org/name: 'q8_0' matches a-q8_0.gguf (1.2 GB), b-q8_0.gguf (1.2 GB), expected the name of one of them");
}

TEST(Selection, of_nothing) {
  EXPECT_EQ(refused({}), "org/name: the repository has no files");
  EXPECT_EQ(refused({"README.md"}),
            "org/name: contains no model that hearth supports; pass --include PATTERN or --all to download files anyway");
  EXPECT_EQ(refused({"README.md"}, {.include = {"*.json"}}), "org/name: no file of 1 matches --include and --exclude");
  EXPECT_EQ(refused({"a.gguf"}, {.exclude = {"*"}}), "org/name: --exclude leaves nothing to download");
}

}  // namespace
}  // namespace hearth::hub
