// Faults of Stable Diffusion 3 checkpoints and requests: each is an error of one line.
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "core/files/file.h"
#include "e2e/cases.h"
#include "e2e/checkpoint_copy.h"
#include "support/complaint.h"
#include "weights/safetensors/safetensors.h"

namespace hearth::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using Change = std::function<void(Request&)>;

std::string complaint(Model& model, const Change& change = {}) {
  Request r{.prompt = "a red house", .width = 48, .height = 32, .steps = 3, .guidance = 5, .seed = 3, .decode = false};
  if (change) change(r);
  return complaint_of([&] { model.generate(r); });
}

std::string complaint_of_opening(const CheckpointCopy& copy) {
  std::string message = complaint_of([&] { Model::open(copy.path()); });
  const std::string folder = copy.path().string();
  for (size_t at = message.find(folder); at != message.npos; at = message.find(folder)) message.replace(at, folder.size(), "FOLDER");
  return message;
}

void expect_parts(const std::string& message, std::initializer_list<const char*> parts) {
  for (const char* part : parts) EXPECT_NE(message.find(part), std::string::npos) << "no '" << part << "' in: " << message;
}

TEST(Sd3Errors, components_that_do_not_fit_together) {
  const auto changed = [](const char* file, const char* key, const Json& value) {
    CheckpointCopy copy("sd3");
    copy.edit_json(file, [&](Json& json) { json[key] = value; });
    return complaint_of_opening(copy);
  };
  EXPECT_EQ(changed("text_encoder_3/config.json", "d_model", 48),
            "WeightError: FOLDER: the T5 encoder's states have width 48 (d_model), expected the transformer's 40 (joint_attention_dim)");
  EXPECT_EQ(
      changed("transformer/config.json", "pooled_projection_dim", 30),
      "WeightError: FOLDER: the transformer takes 30 values of pooled text (pooled_projection_dim), the text encoders have 26 together");
  EXPECT_EQ(changed("transformer/config.json", "joint_attention_dim", 20),
            "WeightError: FOLDER: the transformer takes text states of width 20 (joint_attention_dim), the first two text encoders have 32 "
            "together");
  EXPECT_EQ(changed("transformer/config.json", "in_channels", 17),
            "WeightError: FOLDER: the transformer has 17 input and 16 output channels, the autoencoder's latents have 16");
  expect_parts(changed("text_encoder_3/config.json", "vocab_size", 300), {"WeightError", "T5 tokenizer has 304 tokens", "300"});
  expect_parts(changed("vae/config.json", "latent_channels", 4), {"WeightError", "latents have 4"});
  expect_parts(changed("text_encoder/config.json", "max_position_embeddings", 40), {"WeightError", "77", "40"});
}

TEST(Sd3Errors, configuration_keys) {
  const std::tuple<const char*, const char*, Json> keys[] = {{"transformer/config.json", "new_key", 1},
                                                             {"transformer/config.json", "qk_norm", "layer_norm_across_heads"},
                                                             {"transformer/config.json", "dual_attention_layers", Json::array({7})},
                                                             {"text_encoder_3/config.json", "new_key", 1},
                                                             {"scheduler/scheduler_config.json", "new_key", 1},
                                                             {"model_index.json", "new_key", 1},
                                                             {"model_index.json", "transformer", {"diffusers", "UNet2DConditionModel"}},
                                                             {"model_index.json", "text_encoder_3", {"transformers", "UMT5EncoderModel"}},
                                                             {"model_index.json", "text_encoder", {"transformers", "CLIPTextModel"}}};
  for (const auto& [file, key, value] : keys) {
    CheckpointCopy copy("sd3");
    copy.edit_json(file, [&, k = key, v = value](Json& json) { json[k] = v; });
    expect_parts(complaint_of_opening(copy), {"Error", "FOLDER", key});
  }
  CheckpointCopy copy("sd3");
  copy.edit_json("model_index.json", [](Json& json) { json["scheduler"] = {"diffusers", "DDIMScheduler"}; });
  copy.edit_json("scheduler/scheduler_config.json", [](Json& json) {
    json = {{"_class_name", "DDIMScheduler"}, {"beta_start", 0.00085}, {"beta_end", 0.012}, {"prediction_type", "v_prediction"}};
  });
  EXPECT_EQ(complaint_of_opening(copy),
            "UnsupportedError: FOLDER/scheduler/scheduler_config.json: DDIMScheduler is not set up for a flow network, expected "
            "FlowMatchEulerDiscreteScheduler or another one for flow");
}

TEST(Sd3Errors, sizes) {
  Model model = Model::open(checkpoint_folder("sd3"));
  const auto sized = [&](int64_t width, int64_t height) {
    return complaint(model, [&](Request& r) { r.width = width, r.height = height, r.steps = 1; });
  };
  EXPECT_EQ(sized(192, 16), "");
  EXPECT_EQ(sized(16, 192), "");
  expect_parts(sized(40, 32), {"UsageError", "width is 40", "multiple of 16"});
  expect_parts(sized(32, 72), {"UsageError", "height is 72", "multiple of 16"});
  expect_parts(sized(208, 32), {"UsageError", "width is 208", "at most 192"});
  expect_parts(sized(32, 208), {"UsageError", "height is 208", "at most 192"});
}

TEST(Sd3Errors, guidance) {
  Model model = Model::open(checkpoint_folder("sd3"));
  const auto skipping = [&](const std::map<std::string, std::string>& options) {
    return complaint(model, [&](Request& r) { r.guidance_method = "slg", r.guidance_options = options; });
  };
  EXPECT_EQ(skipping({{"layers", "0,2"}, {"stop", "0.9"}}), "");
  expect_parts(skipping({{"layers", "1,3"}}), {"UsageError", "slg", "1,3", "0 to 2"});
  expect_parts(skipping({}), {"UsageError", "7,8,9", "0 to 2"});
  expect_parts(skipping({{"layers", "x"}}), {"UsageError", "layers", "x"});
  expect_parts(skipping({{"layers", "1,,2"}}), {"UsageError", "layers"});
  for (const char* method : {"pag", "sag"}) {
    const std::string message = complaint(model, [&](Request& r) { r.guidance_method = method; });
    if (!message.empty()) expect_parts(message, {"Error", method});
  }
}

TEST(Sd3Errors, options) {
  Model model = Model::open(checkpoint_folder("sd3"));
  const auto with = [&](const char* option, const auto& value) { return complaint(model, [&](Request& r) { r.options[option] = value; }); };
  expect_parts(with("max_sequence_length", int64_t(0)), {"UsageError", "max_sequence_length", "0"});
  expect_parts(with("clip_skip", int64_t(9)), {"UsageError", "clip", "9"});
  EXPECT_EQ(with("no_t5", int64_t(1)), "");
  EXPECT_EQ(complaint(model, [](Request& r) { r.options["no_t5"] = 1, r.options["prompt_3"] = std::string("a house"); }),
            "UsageError: generate: prompt_3 is for the third text encoder (T5), which the run does without");
  const TemporaryFolder folder;
  CheckpointCopy any("sd3");
  write_safetensors(folder / "spot.safetensors",
                    {{"clip_l", Tensor::filled(any.device(), {1, 12}, 0.5F)}, {"clip_g", Tensor::filled(any.device(), {1, 20}, 0.5F)}});
  const auto embedding = [&](Request& r) { r.embeddings.push_back({.file = folder / "spot.safetensors"}); };
  EXPECT_EQ(complaint(model, embedding),
            "UnsupportedError: generate: embeddings are not supported by the third text encoder (T5), expected --no-t5");
  EXPECT_EQ(complaint(model, [&](Request& r) { embedding(r), r.options["no_t5"] = 1; }), "");
  CheckpointCopy copy("sd3");
  copy.edit_json("model_index.json", [](Json& index) { index["text_encoder_3"] = index["tokenizer_3"] = {nullptr, nullptr}; });
  Model bare = Model::open(copy.path());
  EXPECT_EQ(complaint(bare, [](Request& r) { r.options["negative_prompt_3"] = std::string("a"); }),
            "UsageError: generate: negative_prompt_3 is for the third text encoder (T5), which the checkpoint does not have");
}

TEST(Sd3Errors, non_finite_values_name_their_component) {
  const std::pair<const char*, const char*> faults[] = {{"text_encoder_2", "text_model.final_layer_norm.weight"},
                                                        {"text_encoder_3", "encoder.final_layer_norm.weight"},
                                                        {"transformer", "transformer_blocks.1.ff.net.2.weight"}};
  for (const auto& [component, tensor] : faults) {
    CheckpointCopy copy("sd35");
    copy.edit_tensors(component, [name = tensor](NamedTensors& tensors) {
      Tensor& x = tensors.at(name);
      std::vector<float> values = x.to_vector();
      for (float& v : values) v *= 2.5e38F;
      x = Tensor::from(x.backend(), x.shape(), values, DType::f32);
    });
    Model model = Model::open(copy.path(), {.precision = Precision::f32});
    const std::string message = complaint(model);
    EXPECT_TRUE(message.starts_with(std::string("NonFiniteError: ") + component + ": ")) << message;
  }
}

TEST(Sd3Inspect, checkpoints_are_complete_and_their_problems_are_named) {
  for (const char* checkpoint : {"sd3", "sd35"}) {
    const Inspection found = inspect(checkpoint_folder(checkpoint));
    EXPECT_TRUE(found.usable) << found.text;
    EXPECT_EQ(Json::parse(found.json).at("family"), "sd3");
    EXPECT_EQ(Json::parse(found.json).at("problems"), Json::array());
  }
  const std::pair<const char*, const char*> files[] = {
      {"text_encoder_2", "text_encoder_2/config.json"}, {"text_encoder_3", "text_encoder_3/config.json"},
      {"transformer", "transformer/config.json"},       {"vae", "vae/config.json"},
      {"tokenizer_2", "tokenizer_2/vocab.json"},        {"tokenizer_3", "tokenizer_3/tokenizer.json"},
      {"scheduler", "scheduler/scheduler_config.json"}};
  for (const auto& [component, file] : files) {
    CheckpointCopy copy("sd3");
    write_file(copy.path() / file, "{\"a\": ");
    const Inspection found = inspect(copy.path());
    EXPECT_FALSE(found.usable) << component;
    const Json problems = Json::parse(found.json).at("problems");
    ASSERT_EQ(problems.size(), 1u) << found.text;
    EXPECT_EQ(problems[0].at("component"), component);
  }
  CheckpointCopy copy("sd35");
  copy.edit_tensors("transformer", [&](NamedTensors& tensors) {
    tensors.erase("transformer_blocks.0.attn2.norm_q.weight");
    tensors["surplus"] = Tensor::zeros(copy.device(), {2});
  });
  const Json problems = Json::parse(inspect(copy.path()).json).at("problems");
  ASSERT_EQ(problems.size(), 1u);
  const std::string problem = problems[0].at("problem");
  expect_parts(problem, {"transformer_blocks.0.attn2.norm_q.weight", "surplus"});
}

}  // namespace
}  // namespace hearth::test
