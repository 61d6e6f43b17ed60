// Loading and unloading networks does not change an image.
#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.h"
#include "core/memory.h"
#include "e2e/checkpoint_copy.h"
#include "support/sanitizer.h"

namespace hearth::test {
namespace {

using Json = nlohmann::json;

Json memory_of(const Generation& made) { return Json::parse(made.report).at("memory"); }

constexpr const char* lean_mode = "each network is loaded only while it works";
constexpr int64_t middle = 16 << 20;

// Two networks of more than twice `middle`, far more than the fluctuation of the process's measured memory.
struct Heavy : CheckpointCopy {
  Heavy() : CheckpointCopy("pndm") {
    edit_json("text_encoder/config.json", [](Json& json) {
      json.update({{"hidden_size", 384}, {"intermediate_size", 4096}, {"num_hidden_layers", 5}});
    });
    edit_json("unet/config.json", [](Json& json) { json.update({{"cross_attention_dim", 384}, {"block_out_channels", {32, 96, 352}}}); });
    for (const char* component : {"text_encoder", "unet"}) {
      seed(component);
      EXPECT_GT(std::filesystem::file_size(weights(component)), uintmax_t(2 * middle)) << component;
    }
  }
};

// Opens the model under a limit that only one of them fits into.
Model open_lean(const Heavy& heavy, const Request& request) {
  const int64_t everything = Model::open(heavy.path(), {.memory_limit = 8'000'000'000}).predict_memory(request).bytes;
  return Model::open(heavy.path(), {.memory_limit = everything - middle});
}

TEST(Memory, every_mode_generates_the_same_image) {
  Request request{.prompt = "a lighthouse", .width = 96, .height = 64, .steps = 3, .seed = 4};
  Model model = Model::open_demo();
  const Generation plain = model.generate(request);
  EXPECT_EQ(memory_of(plain).at("mode"), "all networks stay in memory");
  const int64_t held = MemoryLedger::process().use().now;

  request.last = true;
  EXPECT_EQ(model.generate(request).images[0].rgb, plain.images[0].rgb);
  EXPECT_LT(MemoryLedger::process().use().now, held - (4 << 20));         // networks were unloaded
  EXPECT_EQ(model.generate(request).images[0].rgb, plain.images[0].rgb);  // and are loaded again
  request.last = false;
  EXPECT_EQ(model.generate(request).images[0].rgb, plain.images[0].rgb);

  EXPECT_THROW(Model::open_demo({.memory_limit = 1 << 20}).predict_memory(request), UsageError);
  EXPECT_THROW(Model::open_demo({.memory_limit = -1}), UsageError);
}

TEST(Memory, a_limit_changes_the_mode_and_not_the_image) {
  HEARTH_SKIP_UNDER_ADDRESS_SANITIZER();
  const Heavy heavy;
  const Request request{.prompt = "a lighthouse", .width = 48, .height = 32, .steps = 3, .seed = 4};
  const Generation limited = Model::open(heavy.path(), {.memory_limit = 8'000'000'000}).generate(request);
  EXPECT_EQ(memory_of(limited).at("mode"), "all networks stay in memory");
  EXPECT_EQ(Model::open(heavy.path()).generate(request).images[0].rgb, limited.images[0].rgb);

  Model lean = open_lean(heavy, request);
  for (int i = 0; i < 2; ++i) {
    const Generation made = lean.generate(request);
    EXPECT_EQ(made.images[0].rgb, limited.images[0].rgb);
    EXPECT_EQ(memory_of(made).at("mode"), lean_mode);
    EXPECT_LT(memory_of(made).at("measured").at("peak").get<int64_t>() + middle,
              memory_of(limited).at("measured").at("peak").get<int64_t>());
  }
}

// Weights that are loaded later are checked when opening.
TEST(Memory, non_finite_weights_are_found_before_the_steps) {
  HEARTH_SKIP_UNDER_ADDRESS_SANITIZER();
  const auto spoil = [](CheckpointCopy& copy) {
    copy.edit_tensors("vae", [](NamedTensors& tensors) {
      tensors.at("decoder.conv_out.bias").data<uint16_t>()[0] = 0x7e00;  // f16 NaN
    });
  };
  CheckpointCopy copy("demo");
  spoil(copy);
  EXPECT_THROW(Model::open(copy.path()), WeightError);
  const Request request{.prompt = "x", .width = 16, .height = 16, .steps = 1, .seed = 1};
  Model late = Model::open(copy.path(), {.load_when_needed = true});
  EXPECT_THROW(late.generate(request), WeightError);

  Heavy heavy;
  spoil(heavy);
  Model lean = open_lean(heavy, request);
  EXPECT_EQ(lean.predict_memory(request).mode, lean_mode);
  Request watched = request;
  watched.progress = [](const Progress& p) { EXPECT_EQ(p.phase, "load") << "work was done"; };
  EXPECT_THROW(lean.generate(watched), WeightError);
}

TEST(Memory, the_encoder_is_loaded_when_it_is_used) {
  CheckpointCopy copy("pndm");
  copy.edit_tensors("vae", [](NamedTensors& tensors) { tensors.at("encoder.conv_out.bias").data<uint16_t>()[0] = 0x7e00; });
  Model model = Model::open(copy.path());
  const Request request{.prompt = "x", .width = 16, .height = 16, .steps = 1, .seed = 1};
  EXPECT_EQ(model.generate(request).images[0].rgb, Model::open(checkpoint_folder("pndm")).generate(request).images[0].rgb);
  const Array pixels{.shape = {1, 3, 16, 16}, .values = std::vector<float>(3 * 16 * 16)};
  try {
    model.encode(pixels);
    FAIL() << "a number that is none was used";
  } catch (const WeightError& e) { EXPECT_NE(std::string(e.what()).find("encoder.conv_out.bias"), std::string::npos) << e.what(); }
}

// Weights that are packed later are also cached, in their own file.
TEST(Memory, the_encoder_uses_the_packed_weight_cache) {
  const TemporaryFolder cache;
  const Array pixels{.shape = {1, 3, 16, 16}, .values = std::vector<float>(3 * 16 * 16, 0.25f)};
  std::vector<std::string> warnings;
  const auto open = [&] {
    return Model::open(checkpoint_folder("pndm"),
                       {.cache = cache.path(), .warn = [&](const std::string& line) { warnings.push_back(line); }});
  };
  const auto packed = [&] {
    std::set<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(cache.path()))
      if (entry.path().extension() == ".packed") files.insert(entry.path());
    return files;
  };
  const std::vector<float> plain = Model::open(checkpoint_folder("pndm")).encode(pixels).values;
  Model first = open();
  const auto before = packed();
  EXPECT_EQ(before.size(), 3u);
  EXPECT_EQ(first.encode(pixels).values, plain);
  std::vector<std::filesystem::path> made;
  for (const auto& file : packed())
    if (!before.contains(file)) made.push_back(file);
  ASSERT_EQ(made.size(), 1u);
  EXPECT_EQ(open().encode(pixels).values, plain);
  EXPECT_TRUE(warnings.empty());
  // The file is really read: damage is noticed and repaired.
  std::fstream(made[0], std::ios::in | std::ios::out | std::ios::binary).seekp(100).put('?');
  EXPECT_EQ(open().encode(pixels).values, plain);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("is damaged at the weight 'encoder."), std::string::npos) << warnings[0];
  EXPECT_EQ(open().encode(pixels).values, plain);
  EXPECT_EQ(warnings.size(), 1u);
  EXPECT_EQ(packed().size(), 4u);
}

TEST(Memory, networks_that_do_not_fit_are_refused_before_loading) {
  CheckpointCopy copy("pndm");
  copy.edit_json("unet/config.json", [](Json& json) { json["block_out_channels"] = {1 << 15, 1 << 16, 1 << 16}; });
  copy.hollow("unet");
  ASSERT_GT(int64_t(std::filesystem::file_size(copy.weights("unet"))), 2 * system_available_bytes());
  const auto refused = [](const auto& attempt) { return message_of<UsageError>(attempt); };
  EXPECT_NE(refused([&] {
              Model::open(copy.path(), {.progress = [](const Progress&) { ADD_FAILURE() << "it was loaded"; }});
            }).find("open: the networks need "),
            std::string::npos);
  const Request request{.prompt = "x", .width = 16, .height = 16, .steps = 1, .seed = 1};
  Model model = Model::open(copy.path(), {.load_when_needed = true});
  EXPECT_NE(refused([&] { model.generate(request); }).find("GB more memory"), std::string::npos);
  Model limited = Model::open(copy.path(), {.memory_limit = 1'000'000'000});
  EXPECT_NE(refused([&] { limited.generate(request); }).find("the memory limit of 1.00 GB"), std::string::npos);
}

TEST(Memory, a_file_that_changes_ends_the_run) {
  CheckpointCopy copy("pndm");
  Model model = Model::open(copy.path());
  const Request request{.prompt = "x", .width = 16, .height = 16, .steps = 1, .seed = 1};
  model.generate(request);
  std::filesystem::resize_file(copy.path() / "text_encoder/model.safetensors", 1000);
  EXPECT_THROW(model.generate(request), IoError);
}

}  // namespace
}  // namespace hearth::test
