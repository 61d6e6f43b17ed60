// Networks that are divided between a GPU and the CPU: the same bits wherever the cut is, within the memory that was planned.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "backends/backends.h"
#include "backends/split/split_backend.h"
#include "core/memory.h"
#include "e2e/cases.h"
#include "hearth/language.h"
#include "support/complaint.h"
#include "support/detached_backend.h"

namespace hearth::test {
namespace {

using OffloadJson = nlohmann::json;

constexpr int64_t all_layers = std::numeric_limits<int64_t>::max();

struct Offloaded : ::testing::Test {
  Offloaded() {
    add_detached_backend();
    add_detached_backend("card", {.inner = "cpu", .at_once = true});
  }
  static OffloadJson component(const Generation& made, const std::string& name) {
    const OffloadJson report = OffloadJson::parse(made.report);
    for (const OffloadJson& c : report.at("components"))
      if (c.at("name") == name) return c;
    return {};
  }
};

const Request small_image{.prompt = "a red house", .width = 48, .height = 32, .steps = 2, .seed = 3};

// A UNet with levels, and transformers with one and two lists of blocks.
TEST_F(Offloaded, images_have_the_same_bits_wherever_the_cut_is) {
  for (const std::string checkpoint : {"pndm", "xl", "sd3", "flux_dev"}) {
    SCOPED_TRACE(checkpoint);
    const Request& request = small_image;
    const auto open = [&](const std::string& device, std::optional<int64_t> layers) {
      return Model::open(checkpoint_folder(checkpoint), {.device = device, .gpu_layers = layers, .precision = Precision::f32});
    };
    const Generation whole = open("reference", {}).generate(request);
    for (const int64_t layers : {int64_t(0), int64_t(1), int64_t(3), all_layers}) {
      SCOPED_TRACE(layers);
      Model model = open("detached", layers);
      const Generation made = model.generate(request);
      EXPECT_EQ(made.latents.values, whole.latents.values);
      ASSERT_EQ(made.images.size(), whole.images.size());
      EXPECT_EQ(made.images[0].rgb, whole.images[0].rgb);
      const OffloadJson report = OffloadJson::parse(made.report);
      for (const OffloadJson& c : report.at("components")) {
        const int64_t blocks = c.at("gpu").at("blocks"), of_blocks = c.at("gpu").at("of_blocks"), bytes = c.at("gpu").at("bytes");
        EXPECT_EQ(blocks, std::min(layers, of_blocks)) << c;
        const bool encodes_first = c.at("name") == "vae";  // its first blocks are the encoder's, which this run does not load
        EXPECT_EQ(bytes > 0, layers > (encodes_first ? of_blocks / 2 : 0)) << c;
        EXPECT_EQ(bytes == c.at("bytes").get<int64_t>(), layers >= of_blocks) << c;
        EXPECT_GT(of_blocks, 1) << c;
      }
    }
  }
}

TEST_F(Offloaded, the_plan_has_the_memory_of_both_sides) {
  for (const std::string checkpoint : {"pndm", "sd3"}) {
    const Request& request = small_image;
    for (const int64_t layers : {int64_t(0), int64_t(2), all_layers}) {
      SCOPED_TRACE(fmt::format("{} {}", checkpoint, layers));
      Model model = Model::open(checkpoint_folder(checkpoint), {.device = "card", .gpu_layers = layers});
      const Generation made = model.generate(request);
      const OffloadJson memory = OffloadJson::parse(made.report).at("memory");
      EXPECT_EQ(memory.at("gpu").at("measured").at("peak"), memory.at("gpu").at("planned").at("peak"));
      EXPECT_EQ(memory.at("measured").at("peak"), memory.at("planned").at("peak"));
      EXPECT_EQ(memory.at("gpu").at("planned").at("weights") > 0, layers > 0);
      EXPECT_EQ(model.predict_memory(request).gpu_bytes, memory.at("gpu").at("planned").at("peak").get<int64_t>());
    }
  }
}

// As many blocks as fit, those of the denoiser first: one more would be too much.
TEST_F(Offloaded, as_many_blocks_as_fit_into_the_memory_of_the_card) {
  const Request& request = small_image;
  const auto open = [](std::optional<int64_t> layers, std::optional<int64_t> memory) {
    return Model::open(checkpoint_folder("pndm"),
                       {.device = "card", .gpu_layers = layers, .gpu_memory = memory, .precision = Precision::f32});
  };
  const Generation plain = Model::open(checkpoint_folder("pndm"), {.precision = Precision::f32}).generate(request);
  const int64_t most = *open(all_layers, {}).predict_memory(request).gpu_bytes;
  int64_t before = 0;
  for (const int64_t memory : {int64_t(0), most / 8, most / 3, most / 2, most - 1, most}) {
    SCOPED_TRACE(memory);
    Model model = open({}, memory);
    const Generation made = model.generate(request);
    EXPECT_EQ(made.images[0].rgb, plain.images[0].rgb);
    const OffloadJson card = OffloadJson::parse(made.report).at("memory").at("gpu");
    EXPECT_LE(card.at("measured").at("peak"), memory);
    EXPECT_EQ(card.at("measured").at("peak"), card.at("planned").at("peak"));
    const OffloadJson unet = component(made, "unet"), encoder = component(made, "text_encoder");
    const int64_t blocks = unet.at("gpu").at("blocks");
    EXPECT_GE(blocks, before);
    EXPECT_EQ(blocks > 0, memory > 0);
    EXPECT_EQ(encoder.at("bytes") == encoder.at("gpu").at("bytes"), memory == most);
    if (encoder.at("gpu").at("bytes") > 0) { EXPECT_EQ(blocks, unet.at("gpu").at("of_blocks")); }
    before = blocks;
  }
}

TEST_F(Offloaded, a_card_with_memory_of_its_own_gets_what_fits_there) {
  const auto open = [](const std::string& device, std::optional<int64_t> layers) {
    return Model::open(checkpoint_folder("pndm"), {.device = device, .gpu_layers = layers, .precision = Precision::f32});
  };
  const Generation plain = open("cpu", {}).generate(small_image);
  const int64_t most = *open("card", all_layers).predict_memory(small_image).gpu_bytes;
  for (const bool fits : {false, true}) {
    const std::string name = fits ? "large card" : "small card";
    add_detached_backend(name, {.inner = "cpu", .free_memory = fits ? 2 * most : most, .at_once = true});
    Model model = open(name, {});
    const Generation made = model.generate(small_image);
    EXPECT_EQ(made.images[0].rgb, plain.images[0].rgb);
    const OffloadJson card = OffloadJson::parse(made.report).at("memory").at("gpu"), unet = component(made, "unet");
    EXPECT_LE(card.at("measured").at("peak"), (fits ? 2 * most : most) / 16 * 15);
    const OffloadJson encoder = component(made, "text_encoder");
    EXPECT_EQ(encoder.at("gpu").at("bytes") == encoder.at("bytes"), fits);
    EXPECT_GT(unet.at("gpu").at("blocks"), 0);
  }
}

TEST_F(Offloaded, a_component_on_the_cpu_stays_there) {
  const Request& request = small_image;
  OpenOptions options{.device = "detached", .gpu_layers = 2, .precision = Precision::f32};
  options.components["vae"].device = "reference";
  Model model = Model::open(checkpoint_folder("pndm"), options);
  const Generation made = model.generate(request);
  EXPECT_FALSE(component(made, "vae").contains("gpu"));
  EXPECT_EQ(component(made, "unet").at("gpu").at("blocks"), 2);
  EXPECT_EQ(made.latents.values,
            Model::open(checkpoint_folder("pndm"), {.device = "reference", .precision = Precision::f32}).generate(request).latents.values);
}

TEST_F(Offloaded, devices_and_numbers_that_do_not_fit_are_refused) {
  const auto complaint = [](OpenOptions options) { return complaint_of([&] { Model::open_demo(options); }); };
  EXPECT_EQ(complaint({.gpu_layers = 3}),
            "UsageError: open: --gpu-layers divides networks between a GPU and the CPU, but the device is cpu, expected a GPU, as in "
            "--device vulkan");
  EXPECT_EQ(complaint({.device = "reference", .gpu_memory = 1}),
            "UsageError: open: --gpu-memory divides networks between a GPU and the CPU, but the device is reference, expected a GPU, as in "
            "--device vulkan");
  EXPECT_EQ(complaint({.device = "detached", .gpu_layers = 1, .gpu_memory = 1}),
            "UsageError: open: --gpu-layers and --gpu-memory are given, expected one of them");
  EXPECT_EQ(complaint({.device = "detached", .gpu_layers = -1}), "UsageError: open: -1 layers on the GPU, expected 0 or more");
  EXPECT_EQ(complaint({.device = "detached", .gpu_memory = -1}), "UsageError: open: -1 bytes of the GPU, expected 0 or more");
  EXPECT_EQ(complaint_of([] { LanguageModel::open_demo({.gpu_layers = 3}); }),
            "UsageError: open: --gpu-layers divides networks between a GPU and the CPU, but the device is cpu, expected a GPU, as in "
            "--device vulkan");
}

Completion completed(LanguageModel& model) {
  return model.complete({.prompt = "The lighthouse", .max_tokens = 9, .sampling = {.temperature = 0}, .prompt_logprobs = true});
}

TEST_F(Offloaded, language_models_have_the_same_bits_wherever_the_cut_is) {
  LanguageModel whole = LanguageModel::open_demo({.device = "reference"});
  const Completion wanted = completed(whole);
  for (const int64_t layers : {0, 1, 2, 99}) {
    LanguageModel model = LanguageModel::open_demo({.device = "detached", .gpu_layers = layers});
    const Completion made = completed(model);
    EXPECT_EQ(made.tokens, wanted.tokens) << layers;
    EXPECT_EQ(made.prompt_logprobs, wanted.prompt_logprobs) << layers;
    EXPECT_EQ(model.plan({.prompt = "The"}).gpu->layers, std::min<int64_t>(layers, 2));
    EXPECT_EQ(model.plan({.prompt = "The"}).gpu->of_layers, 2);
  }
  EXPECT_FALSE(whole.plan({.prompt = "The"}).gpu);
}

TEST_F(Offloaded, the_plan_of_a_text_has_the_memory_of_the_card) {
  for (const int64_t layers : {0, 1, 2}) {
    const CompletionRequest request{.prompt = "The lighthouse", .max_tokens = 2, .context = 64, .ignore_end = true};
    const auto device = shared_backend({.name = "card"});
    const MemoryWatch watch(device->ledger());
    int64_t before_loading = -1;
    LanguageModel model = LanguageModel::open_demo({.device = "card", .gpu_layers = layers, .before_loading = [&](const LanguageModel& m) {
                                                      before_loading = m.plan(request).gpu->bytes;
                                                    }});
    model.complete(request);
    EXPECT_EQ(model.plan(request).gpu->bytes, before_loading);
    EXPECT_EQ(watch.peak(), before_loading) << layers;
    EXPECT_EQ(before_loading > 0, layers > 0);
  }
}

TEST_F(Offloaded, as_many_layers_as_fit_with_their_cache) {
  const auto layers_for = [](int64_t memory, std::optional<int64_t> context) {
    LanguageModel model = LanguageModel::open_demo({.device = "card", .gpu_memory = memory, .gpu_context = context});
    return model.plan({.prompt = "The", .max_tokens = 4}).gpu->layers;
  };
  // Of a prompt as long as the context.
  const auto bytes_of = [](int64_t layers) {
    LanguageModel model = LanguageModel::open_demo({.device = "card", .gpu_layers = layers});
    return model.plan({.prompt_ids = std::vector<int32_t>(32), .context = 32}).gpu->bytes;
  };
  const int64_t one = bytes_of(1), two = bytes_of(2);
  EXPECT_EQ(layers_for(1'000'000'000, {}), 2);
  EXPECT_EQ(layers_for(two - 1, 32), 1);
  EXPECT_EQ(layers_for(one, 32), 1);
  EXPECT_EQ(layers_for(one - 1, 32), 0);
  EXPECT_EQ(layers_for(one, 512), 0);
  LanguageModel model = LanguageModel::open_demo({.device = "card", .gpu_memory = one, .gpu_context = 32});
  EXPECT_EQ(complaint_of([&] { model.complete({.prompt = "The", .context = 33}); }),
            "UsageError: the context has 33 tokens, but --gpu-memory made room for 32; pass --ctx-size 33");
  EXPECT_EQ(complaint_of([&] { model.perplexity({.text = std::string(400, 'x'), .context = 40}); }),
            "UsageError: the context has 40 tokens, but --gpu-memory made room for 32; pass --ctx-size 40");
}

TEST_F(Offloaded, a_card_with_memory_of_its_own_gets_the_layers_that_fit) {
  const auto gpu_of = [](const std::string& device, std::optional<int64_t> layers) {
    LanguageModel model = LanguageModel::open_demo({.device = device, .gpu_layers = layers, .gpu_context = 32});
    return *model.plan({.prompt_ids = std::vector<int32_t>(32), .context = 32}).gpu;
  };
  LanguageModel whole = LanguageModel::open_demo({.device = "card"});
  const std::vector<int32_t> wanted = completed(whole).tokens;
  const int64_t one = gpu_of("card", 1).bytes, two = gpu_of("card", 2).bytes;
  for (const int64_t layers : {1, 2}) {
    const std::string name = layers == 1 ? "card for one" : "card for two";
    add_detached_backend(name, {.inner = "cpu", .free_memory = (layers == 1 ? one : two) / 15 * 16 + 32, .at_once = true});
    EXPECT_EQ(gpu_of(name, {}).layers, layers);
    LanguageModel model = LanguageModel::open_demo({.device = name, .gpu_context = 32});
    EXPECT_EQ(completed(model).tokens, wanted);  // of a longer context
  }
}

// The embeddings of a token go to the card once, and the hidden state of the last layer there comes back once.
TEST_F(Offloaded, a_token_crosses_once_each_way) {
  LanguageModel model = LanguageModel::open_demo({.device = "detached", .gpu_layers = 1});
  const auto device = shared_split(shared_backend({.name = "detached"}));
  const auto& split = dynamic_cast<const SplitBackend&>(*device);
  const auto moved = [&](int64_t tokens) {
    const SplitTransfers before = split.transfers();
    model.complete({.prompt = "The", .max_tokens = tokens, .context = 64, .sampling = {.temperature = 0}, .ignore_end = true});
    const SplitTransfers after = split.transfers();
    return SplitTransfers{after.up - before.up, after.down - before.down, after.bytes_up - before.bytes_up,
                          after.bytes_down - before.bytes_down};
  };
  moved(4);
  const SplitTransfers few = moved(4), more = moved(9);
  EXPECT_EQ(more.down - few.down, 5);
  EXPECT_EQ(more.bytes_down - few.bytes_down, 5 * 256 * 4);
  EXPECT_EQ(more.up - few.up, 5 * 3);  // and the rotary table, and the numbers of the text's pages
  EXPECT_EQ(more.bytes_up - few.bytes_up, 5 * (256 + 32 + 1) * 4);
}

}  // namespace
}  // namespace hearth::test
