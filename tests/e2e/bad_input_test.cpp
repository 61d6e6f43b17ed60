// Every fault of a checkpoint or a request is a one-line error, without an image.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "e2e/checkpoint_copy.h"
#include "support/complaint.h"

namespace hearth::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// The error of opening and a short run, as "WeightError: …"; "" if they succeed.
std::string complaint(const fs::path& path, const Request& request = {.prompt = "a cat", .steps = 1, .seed = 1},
                      const OpenOptions& options = {}) {
  return test::complaint_of([&] { Model::open(path, options).generate(request); });
}

// The complaint contains all parts, in this order.
void expect_parts(const std::string& complaint, const std::vector<std::string>& parts) {
  size_t at = 0;
  for (const std::string& part : parts) {
    at = complaint.find(part, at);
    ASSERT_NE(at, std::string::npos) << "no '" << part << "' in: " << complaint;
  }
}

void set(CheckpointCopy& copy, const char* file, const char* key, const Json& value) {
  copy.edit_json(file, [&](Json& json) { json[key] = value; });
}

TEST(BadCheckpoint, missing_files) {
  TemporaryFolder folder;
  expect_parts(complaint(folder / "none"), {"IoError", "none", "no such file or folder"});
  expect_parts(complaint(folder.path()), {"IoError", "empty"});
  std::ofstream(folder / "notes.txt") << "x";
  expect_parts(complaint(folder.path()), {"IoError", "model_index.json"});
}

TEST(BadCheckpoint, malformed_json) {
  for (const char* file : {"model_index.json", "unet/config.json", "vae/config.json", "text_encoder/config.json",
                           "scheduler/scheduler_config.json", "tokenizer/vocab.json"}) {
    CheckpointCopy copy("pndm");
    std::ofstream(copy.path() / file) << "{\"a\": ";
    expect_parts(complaint(copy.path()), {"IoError", file, "line 1"});
  }
}

TEST(BadCheckpoint, unknown_classes_are_named) {
  const std::pair<const char*, const char*> classes[] = {
      {"unet", "UNet3DConditionModel"},   {"vae", "AutoencoderTiny"},
      {"text_encoder", "T5EncoderModel"}, {"text_encoder", "CLIPTextModelWithProjection"},
      {"tokenizer", "T5Tokenizer"},       {"scheduler", "KarrasVeScheduler"}};
  for (const auto& [component, name] : classes) {
    CheckpointCopy copy("pndm");
    copy.edit_json("model_index.json", [&, c = component, n = name](Json& json) { json[c] = {"diffusers", n}; });
    expect_parts(complaint(copy.path()), {"UnsupportedError", name});
  }
  CheckpointCopy copy("pndm");
  set(copy, "model_index.json", "_class_name", "KandinskyPipeline");
  expect_parts(complaint(copy.path()), {"UnsupportedError", "'KandinskyPipeline'", "StableDiffusionPipeline"});
  CheckpointCopy extra("pndm");
  set(extra, "model_index.json", "controlnet", {"diffusers", "ControlNetModel"});
  fs::create_directory(extra.path() / "controlnet");
  expect_parts(complaint(extra.path()), {"UnsupportedError", "'controlnet' (ControlNetModel)"});
}

TEST(BadCheckpoint, absent_components) {
  for (const char* component : {"unet", "vae", "text_encoder", "tokenizer", "scheduler"}) {
    CheckpointCopy null("pndm");
    set(null, "model_index.json", component, {nullptr, nullptr});
    expect_parts(complaint(null.path()), {"WeightError", component});
    CheckpointCopy gone("pndm");
    fs::remove_all(gone.path() / component);
    expect_parts(complaint(gone.path()), {"IoError", component});
  }
}

TEST(BadCheckpoint, components_that_do_not_match) {
  {
    CheckpointCopy copy("pndm");
    set(copy, "text_encoder/config.json", "vocab_size", 723);
    expect_parts(complaint(copy.path()), {"WeightError", "largest id is 723", "723 embedding rows"});
  }
  {
    CheckpointCopy copy("euler");  // 40 positions
    set(copy, "tokenizer/tokenizer_config.json", "model_max_length", 77);
    expect_parts(complaint(copy.path()), {"WeightError", "77 ids per prompt", "accepts 40"});
  }
  {
    CheckpointCopy copy("pndm");
    set(copy, "unet/config.json", "cross_attention_dim", 32);
    expect_parts(complaint(copy.path()), {"WeightError", "width 32", "text encoder's 24"});
  }
  {  // Without cross-attention blocks, the UNet's cross_attention_dim does not matter; only its unused tensors are an error.
    CheckpointCopy copy("pndm");
    copy.edit_json("unet/config.json", [](Json& json) {
      json["down_block_types"] = {"DownBlock2D", "DownBlock2D", "DownBlock2D"};
      json["up_block_types"] = {"UpBlock2D", "UpBlock2D", "UpBlock2D"};
      json["mid_block_type"] = nullptr;
    });
    expect_parts(complaint(copy.path()), {"WeightError", "unread", "attentions"});
  }
  {
    CheckpointCopy copy("pndm");
    set(copy, "unet/config.json", "in_channels", 9);
    expect_parts(complaint(copy.path()), {"WeightError", "conv_in.weight", "[8, 4, 3, 3]", "[8, 9, 3, 3]"});
    set(copy, "unet/config.json", "in_channels", 8);
    expect_parts(complaint(copy.path()), {"WeightError", "conv_in.weight", "[8, 4, 3, 3]", "[8, 8, 3, 3]"});
    set(copy, "unet/config.json", "in_channels", 5);
    expect_parts(complaint(copy.path()), {"WeightError", "conv_in.weight", "[8, 4, 3, 3]", "[8, 5, 3, 3]"});
    set(copy, "unet/config.json", "in_channels", 6);
    expect_parts(complaint(copy.path()), {"WeightError", "6 input", "latents have 4"});
    set(copy, "unet/config.json", "in_channels", 4);
    set(copy, "unet/config.json", "out_channels", 8);
    expect_parts(complaint(copy.path()), {"WeightError", "8 output", "latents have 4"});
  }
  for (const char* key : {"in_channels", "out_channels"}) {
    CheckpointCopy copy("pndm");
    set(copy, "vae/config.json", key, 1);
    expect_parts(complaint(copy.path()), {"UnsupportedError", "1", "expected 3 (RGB)"});
  }
}

TEST(BadCheckpoint, unsupported_config_keys_are_named) {
  const std::tuple<const char*, const char*, Json> keys[] = {{"model_index.json", "brand_new_key", 1},
                                                             {"unet/config.json", "class_embed_type", "timestep"},
                                                             {"unet/config.json", "brand_new_key", 1},
                                                             {"vae/config.json", "latents_mean", {0.1}},
                                                             {"text_encoder/config.json", "hidden_act", "swish9"},
                                                             {"scheduler/scheduler_config.json", "beta_schedule", "sigmoid"},
                                                             {"scheduler/scheduler_config.json", "prediction_type", "flow"}};
  for (const auto& [file, key, value] : keys) {
    CheckpointCopy copy("pndm");
    set(copy, file, key, value);
    expect_parts(complaint(copy.path()), {"Error", file, key});
  }
}

// G-51, G-30: missing, misshapen and unused tensors are an error that names them.
TEST(BadCheckpoint, tensors_missing_misshapen_unread) {
  CheckpointCopy copy("pndm");
  copy.edit_tensors("unet", [&](NamedTensors& tensors) {
    std::erase_if(tensors, [](const auto& t) { return t.first.starts_with("up_blocks.2.resnets.1."); });
    tensors["conv_out.bias"] = Tensor::zeros(copy.device(), {5});
    tensors["lora.down.weight"] = Tensor::zeros(copy.device(), {2, 2});
  });
  expect_parts(complaint(copy.path()),
               {"WeightError", "missing", "up_blocks.2.resnets.1.", "'conv_out.bias' has shape [5]", "lora.down.weight"});
}

TEST(BadCheckpoint, non_finite_weights_are_found_before_the_run) {
  for (const float bad : {NAN, INFINITY}) {
    for (const char* component : {"text_encoder", "unet", "vae"}) {
      CheckpointCopy copy("ancestral");
      std::string broken;
      copy.edit_tensors(component, [&](NamedTensors& tensors) {
        const auto& [name, x] = *std::prev(tensors.end());
        x.data<float>()[x.numel() - 1] = bad;  // G-84: the last element
        broken = name;
      });
      expect_parts(complaint(copy.path()), {"WeightError", broken, "1 NaN or infinite"});
    }
  }
}

TEST(BadCheckpoint, files) {
  {
    CheckpointCopy copy("pndm");
    fs::resize_file(copy.weights("vae"), fs::file_size(copy.weights("vae")) - 1);
    expect_parts(complaint(copy.path()), {"IoError", "vae"});
  }
  {
    CheckpointCopy copy("pndm");
    copy.shard("unet", 3);
    fs::remove(copy.path() / "unet/diffusion_pytorch_model-00002-of-00003.safetensors");
    expect_parts(complaint(copy.path()), {"IoError", "diffusion_pytorch_model-00002-of-00003.safetensors"});
  }
  {
    CheckpointCopy copy("pndm");
    fs::rename(copy.weights("unet"), copy.path() / "unet/diffusion_pytorch_model.bin");
    fs::resize_file(copy.path() / "unet/diffusion_pytorch_model.bin", 1000);
    expect_parts(complaint(copy.path()), {"Error", "diffusion_pytorch_model.bin"});
  }
  {
    CheckpointCopy copy("pndm");
    expect_parts(complaint(copy.path(), {}, {.variant = "fp16"}), {"IoError", "fp16"});
  }
}

// G-83: non-finite values end the run with an error that names the component and step, without an image.
TEST(NonFinite, every_component_is_named) {
  const std::tuple<const char*, const char*, std::vector<std::string>> faults[] = {
      {"text_encoder", "text_model.final_layer_norm.weight", {"NonFiniteError: text_encoder: ", "NaN or infinite"}},
      {"unet", "mid_block.resnets.0.conv2.weight", {"NonFiniteError: unet: ", "step 1 of 2"}},
      {"vae", "decoder.mid_block.resnets.0.conv2.weight", {"NonFiniteError: vae: ", "image 1 of 1"}}};
  for (const auto& [component, tensor, parts] : faults) {
    CheckpointCopy copy("ancestral");
    copy.edit_tensors(component, [name = tensor](NamedTensors& tensors) {
      Tensor& x = tensors.at(name);
      for (int64_t i = 0; i < x.numel(); ++i) x.data<float>()[i] *= 2.5e38f;
    });
    const Request request = {.prompt = "a cat", .steps = 2, .seed = 1};
    expect_parts(complaint(copy.path(), request), parts);
    // With Debug::nan, the op is named by its weight.
    Request debugged = request;
    debugged.debug.nan = true;
    const std::string blame = complaint(copy.path(), debugged);
    expect_parts(blame, {"NonFiniteError: ", "is the first op with non-finite values"});
    if (std::string(component) != "text_encoder") expect_parts(blame, {tensor});
  }
}

TEST(BadRequest, one_line_each) {
  const fs::path folder = checkpoint_folder("pndm");
  const Request good = {.prompt = "a cat", .width = 16, .height = 16, .steps = 1, .seed = 1};
  ASSERT_EQ(complaint(folder, good), "");
  const auto with = [&](auto change) {
    Request r = good;
    change(r);
    return complaint(folder, r);
  };
  expect_parts(with([](Request& r) { r.width = 513; }), {"UsageError", "width is 513", "multiple of 8"});
  expect_parts(with([](Request& r) { r.height = 777; }), {"UsageError", "height is 777", "multiple of 8"});
  expect_parts(with([](Request& r) { r.width = 0; }), {"UsageError", "width is 0"});
  expect_parts(with([](Request& r) { r.height = -8; }), {"UsageError", "height is -8"});
  expect_parts(with([](Request& r) { r.width = int64_t(1) << 40; }), {"UsageError", "at most"});
  expect_parts(with([](Request& r) { r.width = r.height = int64_t(1) << 19; }), {"UsageError", "GB"});
  expect_parts(with([](Request& r) { r.steps = -1; }), {"UsageError", "-1"});
  expect_parts(with([](Request& r) { r.batch_size = 0; }), {"UsageError", "batch size is 0"});
  expect_parts(with([](Request& r) { r.batch_size = (1 << 20) + 1; }), {"UsageError", "batch size is 1048577", "1 to 1048576"});
  expect_parts(with([](Request& r) { r.guidance = NAN; }), {"UsageError", "guidance"});
  expect_parts(with([](Request& r) { r.sampler = "eulr"; }), {"UsageError", "eulr", "euler"});
  expect_parts(with([](Request& r) { r.schedule = "karas"; }), {"UsageError", "karas", "karras"});
  expect_parts(with([](Request& r) { r.sampler = "plms", r.schedule = "karras"; }), {"UnsupportedError", "karras"});
  expect_parts(with([](Request& r) {
                 r.noise = Array{{1, 4, 2, 3}, std::vector<float>(24)};
               }),
               {"UsageError", "noise", "[1, 4, 2, 3]", "[1, 4, 2, 2]"});
  expect_parts(with([](Request& r) { r.noise = Array{{1, 4, 2, 2}, std::vector<float>(15)}; }), {"UsageError", "noise", "15 values"});
  expect_parts(with([](Request& r) {
                 r.noise = Array{{1, 4, 2, 2}, std::vector<float>(16, NAN)};
               }),
               {"NonFiniteError", "noise", "16 of 16"});
  expect_parts(complaint(folder, good, {.device = "quantum"}), {"UsageError", "quantum"});
}

}  // namespace
}  // namespace hearth::test
