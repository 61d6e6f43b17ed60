// How networks come and go: nothing of it changes a picture.
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/memory.h"
#include "e2e/checkpoint_copy.h"

namespace hearth::test {
namespace {

using Json = nlohmann::json;

Json memory_of(const Generation& made) { return Json::parse(made.report).at("memory"); }

constexpr const char* lean_mode = "each network is loaded for its own work only";

// Opens a model under a limit that leaves it room for one network only.
Model open_lean(const std::filesystem::path& folder, const Request& request) {
  int64_t limit = Model::open(folder, {.memory_limit = 8'000'000'000}).predict_memory(request).bytes;
  for (int i = 0; i < 200; ++i, limit -= 100'000) {
    Model model = Model::open(folder, {.memory_limit = limit});
    if (model.predict_memory(request).mode == lean_mode) return model;
  }
  throw std::runtime_error("no limit asks for one network after another");
}

TEST(Memory, EveryWayDrawsTheSame) {
  Request request{.prompt = "a lighthouse", .width = 96, .height = 64, .steps = 3, .seed = 4};
  Model model = Model::open_demo();
  const Generation plain = model.generate(request);
  EXPECT_EQ(memory_of(plain).at("mode"), "all networks stay in memory");
  const int64_t held = MemoryLedger::process().use().now;

  request.last = true;
  EXPECT_EQ(model.generate(request).images[0].rgb, plain.images[0].rgb);
  EXPECT_LT(MemoryLedger::process().use().now, held - (4 << 20));         // networks have gone
  EXPECT_EQ(model.generate(request).images[0].rgb, plain.images[0].rgb);  // and come again
  request.last = false;
  EXPECT_EQ(model.generate(request).images[0].rgb, plain.images[0].rgb);

  const Generation limited = Model::open_demo({.memory_limit = 8'000'000'000}).generate(request);
  EXPECT_EQ(limited.images[0].rgb, plain.images[0].rgb);
  EXPECT_EQ(memory_of(limited).at("mode"), "all networks stay in memory");

  Model lean = open_lean(checkpoint_folder("demo"), request);
  for (int i = 0; i < 2; ++i) {
    Generation made;
    try {
      made = lean.generate(request);
    } catch (const UsageError&) { break; }  // the program itself has grown a little, and so tight a limit does not allow it
    EXPECT_EQ(made.images[0].rgb, plain.images[0].rgb);
    EXPECT_EQ(memory_of(made).at("mode"), lean_mode);
    EXPECT_LT(memory_of(made).at("measured").at("peak"), memory_of(limited).at("measured").at("peak"));
  }
  EXPECT_THROW(Model::open_demo({.memory_limit = 1 << 20}).predict_memory(request), UsageError);
  EXPECT_THROW(Model::open_demo({.memory_limit = -1}), UsageError);
}

// What is loaded late is looked through early.
TEST(Memory, ANumberThatIsNoneIsFoundBeforeTheSteps) {
  CheckpointCopy copy("demo");
  copy.edit_tensors("vae", [](NamedTensors& tensors) {
    tensors.at("decoder.conv_out.bias").data<uint16_t>()[0] = 0x7e00;  // f16 NaN
  });
  EXPECT_THROW(Model::open(copy.path()), WeightError);
  const Request request{.prompt = "x", .width = 16, .height = 16, .steps = 1, .seed = 1};
  Model late = Model::open(copy.path(), {.load_when_needed = true});
  EXPECT_THROW(late.generate(request), WeightError);

  Model lean = open_lean(copy.path(), request);
  Request watched = request;
  watched.progress = [](const Progress& p) { EXPECT_EQ(p.phase, "load") << "work was done"; };
  EXPECT_THROW(lean.generate(watched), WeightError);
}

TEST(Memory, TheEncoderIsLoadedWhenItIsUsed) {
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

TEST(Memory, AFileThatIsWrittenToEndsTheRun) {
  CheckpointCopy copy("pndm");
  Model model = Model::open(copy.path());
  const Request request{.prompt = "x", .width = 16, .height = 16, .steps = 1, .seed = 1};
  model.generate(request);
  std::filesystem::resize_file(copy.path() / "text_encoder/model.safetensors", 1000);
  EXPECT_THROW(model.generate(request), IoError);
}

}  // namespace
}  // namespace hearth::test
