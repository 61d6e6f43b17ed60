// Checkpoints saved by torch (safe_serialization=False) give the same bits as their safetensors.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "core/files/file.h"
#include "e2e/checkpoint_copy.h"
#include "e2e/language_copy.h"
#include "hearth/hearth.h"
#include "support/complaint.h"
#include "support/torch_writer.h"

namespace hearth::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// Replaces model.safetensors by pytorch_model.bin, or by `shards` shards of it.
void pickle(LanguageCopy& copy, size_t count) {
  copy.edit_tensors([&](std::map<std::string, Tensor>& tensors) {
    if (count == 1) return write_torch(copy / "pytorch_model.bin", tensors);
    std::vector<std::map<std::string, Tensor>> shards(count);
    Json index = {{"metadata", {{"total_size", 0}}}, {"weight_map", Json::object()}};
    size_t next = 0;
    for (const auto& [name, x] : tensors) {
      const size_t i = next++ % count;
      shards[i][name] = x;
      index["weight_map"][name] = fmt::format("pytorch_model-{:05}-of-{:05}.bin", i + 1, count);
    }
    for (size_t i = 0; i < count; ++i) write_torch(copy / fmt::format("pytorch_model-{:05}-of-{:05}.bin", i + 1, count), shards[i]);
    std::ofstream(copy / "pytorch_model.bin.index.json") << index.dump();
  });
  fs::remove(copy / "model.safetensors");
}

TEST(Pickled, a_language_model_completes_as_from_safetensors) {
  const CompletionRequest request{.prompt = "Once there was",
                                  .max_tokens = 24,
                                  .sampling = {.temperature = 0},
                                  .ignore_end = true,
                                  .logprobs = 2,
                                  .prompt_logprobs = true};
  const Completion wanted = LanguageModel::open(demo_language_model(), {.threads = 2}).complete(request);
  ASSERT_EQ(wanted.tokens.size(), 24u);
  for (const size_t shards : {1, 3}) {
    LanguageCopy copy;
    pickle(copy, shards);
    const Completion made = LanguageModel::open(copy.path(), {.threads = 2}).complete(request);
    EXPECT_EQ(made.tokens, wanted.tokens) << shards;
    EXPECT_EQ(made.text, wanted.text) << shards;
    EXPECT_EQ(made.prompt_logprobs, wanted.prompt_logprobs) << shards;
    ASSERT_EQ(made.logprobs.size(), wanted.logprobs.size());
    for (size_t i = 0; i < made.logprobs.size(); ++i) EXPECT_EQ(made.logprobs[i].top, wanted.logprobs[i].top) << shards << ", token " << i;
  }
}

// Saves every component's weights as torch does.
void pickle(CheckpointCopy& copy) {
  for (const char* component : {"unet", "vae", "text_encoder"}) {
    const fs::path stored = copy.weights(component);
    const char* file = stored.filename() == "model.safetensors" ? "pytorch_model.bin" : "diffusion_pytorch_model.bin";
    copy.edit_tensors(component, [&](NamedTensors& tensors) { write_torch(stored.parent_path() / file, tensors); });
    fs::remove(stored);
  }
}

TEST(Pickled, images_are_those_of_safetensors) {
  for (const char* checkpoint : {"pndm", "euler"}) {
    const Request request{.prompt = "a cat", .width = 32, .height = 32, .steps = 3, .seed = 5};
    const Generation wanted = Model::open(checkpoint_folder(checkpoint)).generate(request);
    CheckpointCopy copy(checkpoint);
    pickle(copy);
    const Generation made = Model::open(copy.path()).generate(request);
    EXPECT_EQ(made.latents.values, wanted.latents.values) << checkpoint;
    EXPECT_EQ(made.images[0].rgb, wanted.images[0].rgb) << checkpoint;
    const Inspection found = inspect(copy.path());
    EXPECT_TRUE(found.usable) << found.text;
  }
}

TEST(Pickled, errors_are_one_line) {
  CheckpointCopy copy("pndm");
  pickle(copy);
  const fs::path file = copy.path() / "unet/diffusion_pytorch_model.bin";
  const auto complaint = [&](const fs::path& path) {
    return complaint_of([&] { Model::open(path).generate({.prompt = "a cat", .steps = 1}); });
  };
  const std::string whole = read_file(file);
  for (const size_t part : {size_t(0), whole.size() / 2, whole.size() - 1}) {
    write_file(file, whole.substr(0, part));
    EXPECT_EQ(complaint(copy.path()).find("IoError: " + file.string()), 0u) << complaint(copy.path());
  }
  write_file(file, "cos\nsystem\n(S'echo harm'\ntR.");
  EXPECT_EQ(complaint(copy.path()),
            "IoError: " + file.string() +
                ": requests a call of os.system, which no checkpoint needs: the file is refused, and nothing was executed");
  LanguageCopy language;
  pickle(language, 3);
  write_file(language / "pytorch_model-00002-of-00003.bin", read_file(language / "pytorch_model-00001-of-00003.bin"));
  const std::string message = complaint_of([&] { LanguageModel::open(language.path()); });
  EXPECT_NE(message.find("pytorch_model-00002-of-00003.bin: lacks"), std::string::npos) << message;
}

}  // namespace
}  // namespace hearth::test
