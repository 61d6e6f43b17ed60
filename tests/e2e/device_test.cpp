// Devices of components: separate devices, devices with their own memory, and one device shared by several models.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "backends/backends.h"
#include "backends/reference/reference_backend.h"
#include "core/memory.h"
#include "core/observe.h"
#include "e2e/cases.h"
#include "hearth/language.h"
#include "support/backend_test.h"
#include "support/complaint.h"
#include "support/detached_backend.h"
#include "support/tolerance.h"

namespace hearth::test {
namespace {

Request small_request() { return {.prompt = "a (red:1.3) house", .width = 40, .height = 32, .steps = 3, .seed = 5}; }

// Whichever component is on another device, results are equal within rounding and the report names the device.
TEST(Devices, a_component_may_be_on_another_device) {
  const Generation plain = Model::open_demo({.precision = Precision::f32}).generate(small_request());
  for (const std::string component : {"text_encoder", "unet", "vae"}) {
    OpenOptions options{.precision = Precision::f32};
    options.components[component].device = "reference";
    const Generation made = Model::open_demo(options).generate(small_request());
    for (const auto& part : nlohmann::json::parse(made.report)["components"]) {
      EXPECT_EQ(part["device"], part["name"] == component ? "reference" : "cpu");
    }
    const auto values = [](const Generation& g) { return std::vector<float>(g.images[0].rgb.begin(), g.images[0].rgb.end()); };
    const double latents = relative_error(made.latents.values, plain.latents.values), image = relative_error(values(made), values(plain));
    if (std::getenv("HEARTH_PRINT_ERRORS")) printf("%s elsewhere: latents %.1e, image %.1e\n", component.c_str(), latents, image);
    EXPECT_LE(latents, 5e-5) << component;  // observed: at most 1.3e-5
    EXPECT_LE(image, 1e-3) << component;    // observed: at most 1.3e-4
    if (component != "vae") { EXPECT_NE(made.latents.values, plain.latents.values) << component; }
  }
}

TEST(Devices, the_memory_of_one_with_two_components_counts_once) {
  OpenOptions options;
  for (const char* encoder : {"text_encoder", "text_encoder_2"}) options.components[encoder].device = "reference";
  Model model = Model::open(checkpoint_folder("xl"), options);
  const auto cpu = shared_backend({.name = "cpu"}), reference = shared_backend({.name = "reference"});
  const MemoryWatch here(cpu->ledger()), there(reference->ledger());
  const Generation made = model.generate(small_request());
  EXPECT_EQ(nlohmann::json::parse(made.report)["memory"]["measured"]["peak"], here.peak() + there.peak());
}

// Editing, second passes and previews move latents, masks and images between devices.
TEST(Devices, every_kind_of_run_supports_a_component_on_another_device) {
  Request edit = small_request(), twice = small_request(), larger = small_request();
  const Generation begun = Model::open_demo({.precision = Precision::f32}).generate(edit);
  edit.edit.image = edit.edit.mask = begun.images[0];
  edit.edit.strength = 0.7;
  twice.hires = Hires{.scale = 1.5};
  larger.hires = Hires{.scale = 1.5, .upscaler = "lanczos"};
  larger.preview.show = [](const std::vector<Image>&, int64_t, int64_t) {};
  for (const Request& request : {edit, twice, larger}) {
    const Generation plain = Model::open_demo({.precision = Precision::f32}).generate(request);
    for (const std::string component : {"text_encoder", "unet", "vae"}) {
      OpenOptions options{.precision = Precision::f32};
      options.components[component].device = "reference";
      const Generation made = Model::open_demo(options).generate(request);
      const double error = relative_error(made.latents.values, plain.latents.values);
      if (std::getenv("HEARTH_PRINT_ERRORS")) printf("%s elsewhere: latents %.1e\n", component.c_str(), error);
      EXPECT_LE(error, 1e-3) << component;  // observed 1.9e-4, with the image upscaler, which works on 8-bit pixels
    }
  }
}

TEST(Devices, an_unknown_one_is_named) {
  OpenOptions options;
  options.components["vae"].device = "cdua";
  EXPECT_EQ(complaint_of([&] { Model::open_demo(options); }),
            "UsageError: backend: 'cdua' is unknown, expected auto, cpu, vulkan, reference, or vulkan:NUMBER");
}

// Whole runs on a graphics card, and on a card and the CPU.
TEST(Devices, a_graphics_card_gives_the_results_of_the_cpu) {
  if (!make_test_backend("vulkan")) GTEST_SKIP() << "this machine has no driver of Vulkan";
  Request edit = small_request();
  const Generation begun = Model::open_demo({.precision = Precision::f32}).generate(edit);
  edit.edit.image = edit.edit.mask = begun.images[0];
  edit.edit.strength = 0.7;
  const Generation edited = Model::open_demo({.precision = Precision::f32}).generate(edit);
  OpenOptions options{.device = "vulkan", .precision = Precision::f32};
  for (const bool mixed : {false, true}) {
    if (mixed) options.components["text_encoder"].device = "cpu", options.gpu_layers = 3;
    Model model = Model::open_demo(options);
    const double of_prompt = relative_error(model.generate(small_request()).latents.values, begun.latents.values),
                 of_edit = relative_error(model.generate(edit).latents.values, edited.latents.values);
    if (std::getenv("HEARTH_PRINT_ERRORS")) printf("on Vulkan, mixed %d: latents %.1e, of an edit %.1e\n", mixed, of_prompt, of_edit);
    EXPECT_LE(of_prompt, 5e-5) << mixed;  // observed: at most 1.2e-5
    EXPECT_LE(of_edit, 5e-5) << mixed;    // observed: at most 8.8e-6
  }
  const auto complete = [](const LanguageOptions& how) {
    LanguageModel model = LanguageModel::open_demo(how);
    return model.complete({.prompt = "The lighthouse", .max_tokens = 9, .sampling = {.temperature = 0}}).text;
  };
  const std::string wanted = complete({});
  EXPECT_EQ(complete({.device = "vulkan"}), wanted);
  EXPECT_EQ(complete({.device = "vulkan", .gpu_layers = 1}), wanted);
  EXPECT_EQ(complete({.device = "vulkan", .cache_type = CacheType::f16}), complete({.cache_type = CacheType::f16}));
}

// A backend with memory that the host cannot read and with deferred work gives the bits of the backend behind it, in every kind of run.
class Detached : public testing::Test {
 protected:
  Detached() { add_detached_backend(); }

  static Model open(const std::string& device, const std::string& checkpoint = "demo", OpenOptions options = {}) {
    options.device = device;
    return Model::open(checkpoint_folder(checkpoint), options);
  }
  static void expect_same(const Request& request, const std::string& checkpoint = "demo", const OpenOptions& options = {}) {
    const Generation there = open("detached", checkpoint, options).generate(request);
    const Generation here = open("reference", checkpoint, options).generate(request);
    EXPECT_EQ(there.latents.values, here.latents.values);
    ASSERT_EQ(there.images.size(), here.images.size());
    for (size_t i = 0; i < here.images.size(); ++i) EXPECT_EQ(there.images[i].rgb, here.images[i].rgb);
  }
};

TEST_F(Detached, from_a_prompt) { expect_same(small_request()); }

TEST_F(Detached, in_tiles) {
  Request request = small_request();
  request.width = 72;
  request.vae_tiling = VaeTiling::on;
  request.vae_tile = 32;
  expect_same(request);
}

TEST_F(Detached, prompts_and_guidance_of_other_programs) {
  Request request = small_request();
  request.compat = Compat::comfyui;
  request.sampler = "dpm_adaptive";
  request.negative_prompt = "people";
  expect_same(request);
}

TEST_F(Detached, inpainting_and_a_second_pass) {
  const Generation begun = open("reference").generate(small_request());
  Request request = small_request();
  request.edit.image = begun.images[0];
  request.edit.mask = begun.images[0];
  request.edit.strength = 0.7;
  expect_same(request);
  Request twice = small_request();
  twice.hires.emplace();
  twice.hires->upscaler = "latent";
  expect_same(twice);
}

TEST_F(Detached, previews) {
  Request request = small_request();
  std::vector<std::vector<uint8_t>> seen;
  request.preview.show = [&](const std::vector<Image>& images, int64_t, int64_t) { seen.push_back(images[0].rgb); };
  expect_same(request);
  ASSERT_EQ(seen.size(), 8u);  // PLMS makes one more denoiser call
  EXPECT_TRUE(std::equal(seen.begin(), seen.begin() + 4, seen.begin() + 4));
}

TEST_F(Detached, language_models) {
  const auto complete = [](const std::string& device) {
    LanguageModel model = LanguageModel::open_demo({.device = device});
    return model.complete({.prompt = "The lighthouse", .max_tokens = 12, .sampling = {.temperature = 0}, .logprobs = 2}).text;
  };
  EXPECT_EQ(complete("detached"), complete("reference"));
}

// Observes the dtypes of a run: of the outputs of blocks and of the results of ops.
struct Types : Observer {
  void on_tap(std::string_view path, const Tensor& x) override {
    if (x.dtype() != DType::f32) narrow_streams.emplace_back(path);
  }
  void on_op(const OpEvent& event) override { narrow_results += is_16bit_float(event.y.dtype()); }
  std::vector<std::string> narrow_streams;
  int64_t narrow_results = 0;
};

// 16 bits between the layers of a block, as on a GPU, and f32 streams: the image is near that in f32, and block outputs stay f32.
TEST(InnerTypes, streams_stay_f32_and_results_near_f32) {
  const std::map<DType, double> limits{{DType::f16, 1e-2}, {DType::bf16, 1e-1}};  // observed: at most 4.7e-3, 3.2e-2
  for (const auto& [type, limit] : limits)
    add_backend(std::string("inner ") + std::string(name_of(type)),
                [type = type](int threads) { return make_reference_backend(threads, type); });
  for (const char* checkpoint : {"pndm", "ddim_v", "xl", "xl_refiner"}) {
    const Case c = find_case(checkpoint, checkpoint == std::string("xl_refiner") ? "hand_off" : "default");
    const Array wide = open_model(c, {.device = "reference", .precision = Precision::f32}).generate(c.request).latents;
    for (const auto& [type, limit] : limits) {
      Model model = open_model(c, {.device = std::string("inner ") + std::string(name_of(type)), .precision = Precision::f32});
      Types types;
      const ObserverScope watching(types);
      const Generation made = model.generate(c.request);
      const double error = relative_error(made.latents.values, wide.values);
      if (std::getenv("HEARTH_PRINT_ERRORS")) printf("%s, inner %s: %.1e\n", checkpoint, std::string(name_of(type)).c_str(), error);
      EXPECT_LE(error, limit) << checkpoint << " " << name_of(type);
      EXPECT_GT(error, 1e-5) << checkpoint << " " << name_of(type);
      EXPECT_GT(types.narrow_results, 100) << checkpoint;
      EXPECT_EQ(types.narrow_streams, std::vector<std::string>()) << checkpoint;
    }
  }
}

int threads_of_process() {
  return int(std::distance(std::filesystem::directory_iterator("/proc/self/task"), std::filesystem::directory_iterator()));
}

// Two models share the threads of one device.
TEST(Devices, models_share_them) {
  const Model one = Model::open_demo({.threads = 4});
  const int threads = threads_of_process();
  const Model two = Model::open_demo({.threads = 4});
  const LanguageModel three = LanguageModel::open_demo({.threads = 4});
  EXPECT_EQ(threads_of_process(), threads);
  const Model other = Model::open_demo({.threads = 3});
  EXPECT_EQ(threads_of_process(), threads + 2);
}

}  // namespace
}  // namespace hearth::test
