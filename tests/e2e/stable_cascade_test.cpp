// Stable Cascade, whose prior and decoder are published in two repositories (golden/make_stable_cascade.py), compared with diffusers; and
// what a model of two networks does and refuses.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "backends/backends.h"
#include "core/files/file.h"
#include "core/files/json.h"
#include "e2e/cases.h"
#include "e2e/checkpoint_copy.h"
#include "hearth/convert.h"
#include "hearth/rerun.h"
#include "hearth/tokenizer.h"
#include "models/checkpoints.h"
#include "models/diffusion/generated_weights.h"
#include "models/registry.h"
#include "support/backend_test.h"
#include "support/complaint.h"
#include "support/detached_backend.h"
#include "support/tolerance.h"
#include "weights/safetensors/safetensors.h"

namespace hearth::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

struct StableCascade : testing::Test {
  StableCascade() : file(SafetensorsFile::open(golden_folder() / "stable_cascade.safetensors")) {
    add_detached_backend();
    cases = load_json(golden_folder() / "stable_cascade.json").at("cases");
  }

  Tensor golden(const std::string& name) const { return file->read(name, file->list().at(name).shape, *copy.device); }
  std::vector<uint8_t> bytes(const Tensor& x) const { return {x.data<uint8_t>(), x.data<uint8_t>() + x.numel()}; }

  Request request(const std::string& name) const {
    const Json& c = cases.at(name);
    Request r = to_request(c);
    r.options["decoder_steps"] = c.at("decoder_steps").get<int64_t>();
    r.options["decoder_guidance"] = c.at("decoder_guidance").get<double>();
    const Json references = c.value("references", Json::array());
    for (size_t i = 0; i < references.size(); ++i)
      r.references.push_back(
          {.image = {.width = references[i][0], .height = references[i][1], .rgb = bytes(golden(fmt::format("{}.reference_{}", name, i)))},
           .name = ""});
    return r;
  }
  Request small() const {
    Request r = request("negative");
    r.steps = 3, r.options["decoder_steps"] = int64_t(2);
    return r;
  }

  const fs::path folder = checkpoint_folder("stable_cascade"), prior = checkpoint_folder("stable_cascade_prior");
  OpenOptions both(const std::string& device = "cpu") const {
    return {.components = {{"prior", {prior}}}, .device = device, .precision = Precision::f32};
  }
  std::vector<float> latents(const fs::path& path, const Request& r, const OpenOptions& options) const {
    Request latents_only = r;
    latents_only.decode = false;
    return Model::open(path, options).generate(latents_only).latents.values;
  }

  struct Device {
    std::unique_ptr<Backend> device;
  } copy{make_backend({.name = "reference", .threads = 1})};
  std::shared_ptr<SafetensorsFile> file;
  Json cases;
};

// Observed: 1.9e-5 to 3.2e-5 of the latents; the reference's own rounding is 2.0e-5 to 4.7e-5: the first step multiplies x by some 30.
TEST_F(StableCascade, latents_and_images_are_those_of_diffusers) {
  for (const std::string device : {"reference", "detached", "vulkan", "cpu"}) {
    if (device == "vulkan" && !make_test_backend(device)) continue;
    Model model = Model::open(folder, both(device));
    for (const auto& [name, c] : cases.items()) {
      if ((device == "reference" || device == "vulkan") && name == "default") continue;  // many steps
      const Generation made = model.generate(request(name));
      const Tensor wanted = golden(name + ".latents"), pictures = golden(name + ".image");
      EXPECT_EQ(made.latents.shape, std::vector<int64_t>(wanted.shape().begin(), wanted.shape().end())) << name;
      const double error = relative_error(made.latents.values, wanted.to_vector());
      EXPECT_LE(error, 1e-4) << device << " " << name;
      int difference = 0;
      for (size_t b = 0; b < made.images.size(); ++b) {
        const std::vector<uint8_t> picture = bytes(pictures.slice(0, int64_t(b), int64_t(b) + 1).dense());
        ASSERT_EQ(picture.size(), made.images[b].rgb.size()) << name;
        for (size_t i = 0; i < picture.size(); ++i)
          difference = std::max(difference, std::abs(int(picture[i]) - int(made.images[b].rgb[i])));
      }
      EXPECT_LE(difference, 2) << device << " " << name;
      if (std::getenv("HEARTH_PRINT_ERRORS"))
        printf("%s %s: latents %.1e (reference %.1e), pixels %d\n", device.c_str(), name.c_str(), error, c.at("rounding").get<double>(),
               difference);
    }
  }
}

TEST_F(StableCascade, each_setting_has_its_effect) {
  Model model = Model::open(folder, both());
  const auto values = [&](const std::function<void(Request&)>& change) {
    Request r = request("two_images");
    r.decode = false;
    change(r);
    return model.generate(r).latents.values;
  };
  const auto wanted = values([](Request&) {});
  const auto differs = [&](const std::function<void(Request&)>& change) { EXPECT_GE(relative_error(values(change), wanted), 1e-3); };
  differs([](Request& r) { r.options["decoder_steps"] = int64_t(4); });
  differs([](Request& r) { r.options["decoder_guidance"] = 2.0; });
  differs([](Request& r) { r.references.pop_back(); });
  EXPECT_CLOSE(values([](Request& r) { std::swap(r.references[0], r.references[1]); }), wanted, 1e-5);  // images have no order
  differs([](Request& r) { r.references.clear(); });
  differs([](Request& r) { r.prompt = "a boat"; });
  differs([](Request& r) { r.negative_prompt = "fog"; });
  differs([](Request& r) { r.guidance = 3; });
}

TEST_F(StableCascade, the_defaults_are_those_of_the_reference_s_pipelines) {
  Model model = Model::open(folder, both());
  Request r{.prompt = "a red house", .steps = 0, .seed = 1};
  r.width = r.height = 128, r.decode = false;
  Request stated = r;
  stated.steps = 20, stated.guidance = 4, stated.options = {{"decoder_steps", int64_t(10)}, {"decoder_guidance", 0.0}};
  EXPECT_EQ(model.generate(r).latents.values, model.generate(stated).latents.values);
  r.width.reset(), r.height.reset(), r.steps = 1, r.options["decoder_steps"] = int64_t(1);
  const Generation large = model.generate(r);
  EXPECT_EQ(large.latents.shape, (std::vector<int64_t>{1, 4, 256, 256}));
}

// One folder as StableCascadeCombinedPipeline saves it, and components in folders and files of their own.
TEST_F(StableCascade, every_layout_gives_the_same_bits) {
  const Request r = small();
  const auto wanted = latents(folder, r, both());
  const TemporaryFolder files;
  const fs::path combined = files / "combined";
  fs::copy(folder, combined, fs::copy_options::recursive);
  for (const char* part : {"prior", "text_encoder", "tokenizer", "scheduler", "image_encoder", "feature_extractor"})
    fs::copy(prior / part, combined / (std::string("prior_") + part), fs::copy_options::recursive);
  fs::permissions(combined / "model_index.json", fs::perms::owner_write, fs::perm_options::add);
  Json index = load_json(folder / "model_index.json");
  index["_class_name"] = "StableCascadeCombinedPipeline";
  index.erase("latent_dim_scale");
  const Json of_prior = load_json(prior / "model_index.json");
  for (const auto& [name, value] : of_prior.items())
    if (value.is_array()) index["prior_" + name] = value;
  write_file(combined / "model_index.json", index.dump());
  EXPECT_EQ(latents(combined, r, {.precision = Precision::f32}), wanted);
  EXPECT_TRUE(inspect(combined).usable) << inspect(combined).text;
  const Request with_image = request("image");
  EXPECT_EQ(latents(combined, with_image, {.precision = Precision::f32}), latents(folder, with_image, both()));
  const OpenOptions other_text{.components = {{"text_encoder", {folder}}}, .precision = Precision::f32};
  EXPECT_NE(complaint_of([&] { Model::open(combined, other_text); }).find("expected no --text-encoder"), std::string::npos);

  // As the lite networks are published: subfolders of other names.
  OpenOptions parts = both();
  parts.components["prior"].path = prior / "prior", parts.components["decoder"].path = folder / "decoder";
  EXPECT_EQ(latents(folder, r, parts), wanted);
}

// Stability's and ComfyUI's files: queries, keys and values in one tensor.
TEST_F(StableCascade, files_of_the_authors_give_the_same_bits) {
  const Request r = small();
  const auto wanted = latents(folder, r, both());
  const TemporaryFolder files;
  Backend& device = *copy.device;
  const auto original = [&](const fs::path& path, bool stage_b, const std::string& prefix, NamedTensors& out) {
    const auto source = SafetensorsFile::open(path);
    for (const auto& [name, info] : source->list()) {
      const auto read = [&](const std::string& n) { return copy_of(source->read(n, source->list().at(n).shape, device), info.dtype); };
      std::string renamed = name;
      const auto change = [&](const std::string& from, const std::string& to) {
        if (const size_t at = renamed.find(from); at != renamed.npos) renamed.replace(at, from.size(), to);
      };
      if (name.find(".to_k.") != name.npos || name.find(".to_v.") != name.npos) continue;
      Tensor x = read(name);
      if (const size_t at = name.find(".to_q."); at != name.npos) {
        std::vector<float> all;
        for (const char* part : {".to_q.", ".to_k.", ".to_v."})
          for (const float v : read(name.substr(0, at) + part + name.substr(at + 6)).to_vector()) all.push_back(v);
        Shape shape = x.shape().rank() == 2 ? Shape{3 * x.size(0), x.size(1)} : Shape{3 * x.size(0)};
        x = Tensor::from(device, shape, std::span<const float>(all), info.dtype);
        change(".to_q.", ".attn.in_proj_");
      }
      change(".to_out.0.", ".attn.out_proj.");
      if (stage_b) change("clip_txt_pooled_mapper.", "clip_mapper.");
      out[prefix + renamed] = x;
    }
  };
  NamedTensors b, c;
  original(folder / "decoder/diffusion_pytorch_model.safetensors", true, "model.diffusion_model.", b);
  const auto a = SafetensorsFile::open(folder / "vqgan/diffusion_pytorch_model.safetensors");
  for (const auto& [name, info] : a->list())
    if (name.starts_with("up_blocks") || name.starts_with("out_block"))
      b["vae." + name] = copy_of(a->read(name, info.shape, device), info.dtype);
  original(prior / "prior/diffusion_pytorch_model.safetensors", false, "", c);
  write_safetensors(files / "stage_b.safetensors", b);
  fs::create_directories(files / "prior");
  write_safetensors(files / "prior/diffusion_pytorch_model.safetensors", c);
  fs::copy(prior / "prior/config.json", files / "prior/config.json");
  EXPECT_NE(inspect(files / "stage_b.safetensors").text.find("Stable Cascade"), std::string::npos);

  OpenOptions options = both();
  options.components["prior"].path = files / "prior";
  options.components["decoder"].path = options.components["vqgan"].path = files / "stage_b.safetensors";
  EXPECT_EQ(latents(folder, r, options), wanted);
}

// A prior whose repository has one variant only, beside a decoder in full precision.
TEST_F(StableCascade, the_variant_is_also_that_of_given_folders) {
  const Request r = small();
  const auto wanted = latents(folder, r, both());
  const TemporaryFolder files;
  fs::copy(prior, files / "prior", fs::copy_options::recursive);
  for (const char* name : {"prior/diffusion_pytorch_model", "image_encoder/model"})
    fs::rename(files / "prior" / (std::string(name) + ".safetensors"), files / "prior" / (std::string(name) + ".bf16.safetensors"));
  OpenOptions options = both();
  options.components["prior"].path = files / "prior";
  const auto says = [&](const char* variant, const char* words) {
    options.variant = variant;
    const std::string message = complaint_of([&] { Model::open(folder, options); });
    EXPECT_NE(message.find(words), message.npos) << message;
    EXPECT_EQ(message.find('\n'), message.npos) << message;
  };
  says("", "prior: has no weights in full precision, only the variant 'bf16'");
  says("fp16", "prior: has no weights of the variant 'fp16', only 'bf16'");
  options.variant = "bf16";
  EXPECT_EQ(latents(folder, r, options), wanted);
  EXPECT_EQ(latents(folder, request("image"), options), latents(folder, request("image"), both()));
  OpenOptions subfolder = options;
  subfolder.components["prior"].path = files / "prior/prior";
  EXPECT_EQ(latents(folder, r, subfolder), wanted);
  // With a variant and without it in one folder, the variant is used.
  fs::copy(folder / "decoder/diffusion_pytorch_model.safetensors", files / "prior/prior/diffusion_pytorch_model.safetensors");
  EXPECT_EQ(latents(folder, r, options), wanted);
}

// With as many levels as the published decoders.
TEST_F(StableCascade, images_that_are_too_small_for_the_decoder_are_refused) {
  CheckpointCopy copied("stable_cascade");
  copied.edit_json("decoder/config.json", [](Json& j) {
    for (auto& [key, value] : j.items())
      if (value.is_array() && value.size() == 3) value.push_back(Json(value.back()));
  });
  const Checkpoint checkpoint = models::open_checkpoint(copied.path(), {.components = {{"prior", prior}}});
  fs::remove(copied.weights("decoder"));
  const std::vector<std::string> decoder{"decoder"};
  models::diffusion::write_generated_weights(*models::find_family(checkpoint).family.describe(checkpoint)->second(), copied.path(),
                                             DType::f32, decoder);
  Model model = Model::open(copied.path(), both());
  Request r = small();
  r.width = 40, r.height = 128;
  const std::string message = complaint_of([&] { model.generate(r); });
  EXPECT_NE(message.find("40×128 is too small for the decoder, expected at least 64 pixels each way"), message.npos) << message;
  r.width = 80;  // the next size has 128
  EXPECT_EQ(model.generate(r).images.at(0).width, 128);
}

TEST_F(StableCascade, threads_and_batches_change_nothing) {
  Request r = small();
  r.decode = false;
  const auto whole = latents(folder, r, both());
  OpenOptions threads = both();
  threads.threads = 3;
  EXPECT_EQ(latents(folder, r, threads), whole);
  r.batch_size = 2;
  const auto batch = latents(folder, r, both());
  EXPECT_TRUE(std::equal(whole.begin(), whole.end(), batch.begin()));
  r.batch_size = 1, r.seed = *r.seed + 1;
  const auto second = latents(folder, r, both());
  EXPECT_TRUE(std::equal(second.begin(), second.end(), batch.begin() + std::ptrdiff_t(whole.size())));
}

// The prior is released before the decoder is loaded, the decoder before the autoencoder.
TEST_F(StableCascade, memory_is_planned_before_the_run) {
  const auto run = [&](int64_t limit) {
    OpenOptions options = both();
    options.threads = 2, options.memory_limit = limit;
    Model model = Model::open(folder, options);
    const Generation made = model.generate(request("image"));  // uses all networks
    const Json memory = Json::parse(made.report).at("memory");
    EXPECT_EQ(memory.at("measured").at("peak").get<int64_t>(), memory.at("planned").at("peak").get<int64_t>());
    return made;
  };
  EXPECT_EQ(run(int64_t(2'000'000'000)).images.at(0).rgb, run(0).images.at(0).rgb);
}

TEST_F(StableCascade, progress_covers_the_steps_of_both_networks) {
  Request r = small();
  std::vector<std::pair<int64_t, int64_t>> steps;
  r.progress = [&](const Progress& p) {
    if (p.phase == std::string("sample")) steps.emplace_back(p.done, p.total);
  };
  Model model = Model::open(folder, both());
  const Generation made = model.generate(r);
  ASSERT_EQ(steps.size(), 6u);
  for (size_t i = 0; i < steps.size(); ++i) EXPECT_EQ(steps[i], (std::pair<int64_t, int64_t>(i, 5)));
  EXPECT_EQ(Json::parse(made.report).at("network_calls"), 5);
}

TEST_F(StableCascade, metadata_repeat_the_run) {
  const TemporaryFolder files;
  Model model = Model::open(folder, both());
  const Generation made = model.generate(small());
  made.images[0].save(files / "made.png");
  const std::vector<std::string> arguments = rerun_of(files / "made.png").arguments;
  const auto value = [&](const char* flag) {
    const auto found = std::ranges::find(arguments, flag);
    return found == arguments.end() ? "" : *(found + 1);
  };
  EXPECT_EQ(value("--decoder-steps"), "2");
  EXPECT_EQ(value("--decoder-guidance"), "0");
  EXPECT_EQ(value("--width"), "168");
}

TEST_F(StableCascade, what_a_model_of_two_networks_cannot_do_is_refused) {
  Model model = Model::open(folder, both());
  const auto refused = [&](const std::function<void(Request&)>& change, const char* words) {
    Request r = small();
    change(r);
    const std::string message = complaint_of([&] { model.generate(r); });
    EXPECT_NE(message.find(words), message.npos) << message;
    EXPECT_EQ(message.find('\n'), message.npos) << message;
  };
  const Image image{.width = 168, .height = 128, .rgb = std::vector<uint8_t>(3 * 168 * 128, 9)};
  refused([&](Request& r) { r.edit.image = image; }, "starts from an image, but the autoencoder is a decoder only");
  refused([](Request& r) { r.hires = Hires{.scale = 1.5}; },
          "hires: a second pass cannot be combined with a model that has a second network");
  refused([](Request& r) { r.stop_after = 1; }, "a run of two networks does not support stopping and resuming");
  refused([](Request& r) { r.preview.show = [](const std::vector<Image>&, int64_t, int64_t) {}; },
          "previews with a decoder-only autoencoder");
  refused([](Request& r) { r.compat = Compat::comfyui; }, "compat comfyui is not supported by stable_cascade");
  refused([](Request& r) { r.sampler = "euler"; }, "this is a Wuerstchen network");
  refused([](Request& r) { r.schedule = "karras"; }, "schedule 'karras' cannot be combined with DDPMWuerstchenScheduler");
  refused([](Request& r) { r.guidance_method = "slg"; }, "guidance 'slg'");
  refused([](Request& r) { r.options["decoder_steps"] = int64_t(0); }, "decoder_steps");
  refused([](Request& r) { r.refiner_start = 0.5; }, "a refiner's start without a refiner");
  refused([](Request& r) { r.options["no_t5"] = int64_t(1); }, "no option 'no_t5'");
}

TEST_F(StableCascade, faults_are_errors_of_one_line) {
  const auto says = [](const std::string& message, const char* words) {
    EXPECT_NE(message.find(words), message.npos) << message;
    EXPECT_EQ(message.find('\n'), message.npos) << message;
  };
  says(complaint_of([&] { Model::open(folder); }),
       "holds no prior, which makes the latents that the decoder refines: give one with --prior");
  says(complaint_of([&] { Model::open(prior); }), "holds the prior alone, expected -m with the decoder's folder");
  OpenOptions swapped = both();
  swapped.components["prior"].path = folder / "decoder";
  says(complaint_of([&] { Model::open(folder, swapped); }), "holds no prior, only decoder");
  const auto changed = [&](const fs::path& at, const std::function<void(Json&)>& change) {
    CheckpointCopy copied("stable_cascade");
    copied.edit_json(at, change);
    return complaint_of([&] { Model::open(copied.path(), both()); });
  };
  says(changed("decoder/config.json", [](Json& j) { j["effnet_in_channels"] = 15; }), "takes latents of 15 channels");
  says(changed("decoder/config.json", [](Json& j) { j["new_key"] = 1; }), "new_key");
  says(changed("text_encoder/config.json", [](Json& j) { j["projection_dim"] = 9; }), "text vector of width");
  says(changed("vqgan/config.json", [](Json& j) { j["latent_channels"] = 3; }), "vqgan's latents have 3");
  says(changed("model_index.json", [](Json& j) { j["latent_dim_scale"] = 8; }), "latent_dim_scale");
  says(changed("model_index.json", [](Json& j) { j["scheduler"] = {"diffusers", "DDPMScheduler"}; }), "expected DDPMWuerstchenScheduler");
  CheckpointCopy lacking("stable_cascade");
  lacking.edit_tensors("decoder", [](NamedTensors& tensors) { tensors.erase("clf.1.weight"); });
  says(complaint_of([&] { Model::open(lacking.path(), both()); }), "clf.1.weight");
  const TemporaryFolder files;
  const auto converted = [&](const char* layout) {
    return complaint_of([&] { convert({.model = folder, .output = files / "all.safetensors", .layout = layout}); });
  };
  says(converted("single"), "no single-file layout supports StableCascadeDecoderPipeline");
  says(converted("gguf"), "GGUF has no architecture for this decoder");
  EXPECT_TRUE(std::filesystem::is_empty(files.path()));
}

// Trainers' names of the prior's layers.
TEST_F(StableCascade, adapters_change_the_prior) {
  const TemporaryFolder files;
  Backend& device = *copy.device;
  const auto values = [&](int64_t count, float step) {
    std::vector<float> all;
    for (int64_t i = 0; i < count; ++i) all.push_back(0.3f * std::sin(step * float(i + 1)));
    return all;
  };
  const Tensor a = Tensor::from(device, {1, 16}, values(16, 1.3f)), b = Tensor::from(device, {16, 1}, values(16, 0.7f));
  const auto adapted = [&](const NamedTensors& tensors) {
    write_safetensors(files / "adapter.safetensors", tensors);
    Request r = small();
    r.loras = {{.file = files / "adapter.safetensors"}};
    return latents(folder, r, both());
  };
  const std::string flat = "lora_prior_unet_down_blocks_1_2_attention_to_q";
  const auto kohya = adapted({{flat + ".lora_down.weight", a}, {flat + ".lora_up.weight", b}});
  EXPECT_GE(relative_error(kohya, latents(folder, small(), both())), 1e-4);
  const std::string dotted = "prior.down_blocks.1.2.attention.to_q";
  EXPECT_EQ(adapted({{dotted + ".lora_A.weight", a}, {dotted + ".lora_B.weight", b}}), kohya);
  const std::string message = complaint_of([&] {
    adapted({{"lora_prior_unet_nowhere.lora_down.weight", a}, {"lora_prior_unet_nowhere.lora_up.weight", b}});
  });
  EXPECT_NE(message.find("adapter.safetensors"), message.npos) << message;
}

}  // namespace
}  // namespace hearth::test
