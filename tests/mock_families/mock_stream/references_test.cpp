// Reference images of a family that reads their latents, and image prompts, which a prior adds to a family: from the command line, and on
// a device with memory of its own.
#include "backends/plan/plan_backend.h"
#include "core/memory.h"
#include "mock_stream/mock_stream_case_test.h"
#include "models/image_prompt/redux.h"
#include "support/files.h"
#include "support/golden.h"
#include "weights/safetensors/safetensors.h"
#include "weights/seeded_file.h"

namespace hearth::test {
namespace {

void write_picture(const fs::path& file, int64_t width, int64_t height) {
  Image image{.width = width, .height = height, .rgb = {}};
  for (const float v : test_values(file.filename().string(), width * height * 3)) image.rgb.push_back(uint8_t(v * 127.5f + 127.5f));
  image.save(file);
}

template <class Network, class Config> std::map<std::string, Shape> tensors_of(const Config& config) {
  MemoryLedger ledger;
  const auto plan = make_plan_backend(ledger);
  const auto requested = std::make_shared<RequestedTensors>();
  Weights weights(requested, *plan);
  Network(Scope(weights), config);
  return requested->tensors;
}

// As diffusers publishes a prior: a tower with a pooling head, its preparation, the embedder.
void write_prior(const fs::path& folder) {
  const Json tower = {{"model_type", "siglip_vision_model"},
                      {"hidden_size", 12},
                      {"intermediate_size", 20},
                      {"num_hidden_layers", 2},
                      {"num_attention_heads", 2},
                      {"image_size", 16},
                      {"patch_size", 5}},
             redux = {{"_class_name", "ReduxImageEncoder"}, {"redux_dim", 12}, {"txt_in_features", 16}};
  write_json(folder / "model_index.json", {{"_class_name", "FluxPriorReduxPipeline"},
                                           {"feature_extractor", {"transformers", "SiglipImageProcessor"}},
                                           {"image_embedder", {"flux", "ReduxImageEncoder"}},
                                           {"image_encoder", {"transformers", "SiglipVisionModel"}}});
  write_json(folder / "image_encoder/config.json", tower);
  write_json(folder / "image_embedder/config.json", redux);
  write_json(folder / "feature_extractor/preprocessor_config.json",
             {{"image_processor_type", "SiglipImageProcessor"}, {"size", {{"height", 16}, {"width", 16}}}, {"image_mean", 0.4}});
  ThreadPool threads;
  auto tensors = tensors_of<parts::SiglipVisionModel>(parts::SiglipVisionConfig::from(hearth::Config::parse(tower.dump(), "tower")));
  tensors["vision_model.head.probe"] = {1, 1, 12};
  write_seeded_file(folder / "image_encoder/model.safetensors", tensors, DType::f32, threads);
  write_seeded_file(folder / "image_embedder/diffusion_pytorch_model.safetensors",
                    tensors_of<parts::ReduxImageEncoder>(parts::ReduxConfig::from(hearth::Config::parse(redux.dump(), "redux"))),
                    DType::f32, threads);
}

class References : public MockStream {
 protected:
  References() {
    write_picture(folder / "one.png", 40, 56);
    write_picture(folder / "two.png", 67, 33);  // rounded down to 64 × 32
  }
  void read_references() {
    Json config;
    std::ifstream(folder / "mock/transformer/config.json") >> config;
    config["reads_references"] = true;
    write_json(folder / "mock/transformer/config.json", config);
  }
  std::string error(const Arguments& more, int code) const {
    const Ended ended = draw(more);
    EXPECT_EQ(not_one_line(ended, code), "") << ended.err;
    return ended.err;
  }
};

TEST_F(References, as_latents_act_in_their_order) {
  read_references();
  const Pixels plain = image({}), one = image({"--reference", "one.png"}), two = image({"--reference", "two.png"});
  const Pixels both = image({"--reference", "one.png", "--reference", "two.png"});
  EXPECT_NE(one.rgb, plain.rgb);
  EXPECT_NE(two.rgb, one.rgb);
  EXPECT_NE(both.rgb, one.rgb);
  EXPECT_NE(image({"--reference", "two.png", "--reference", "one.png"}).rgb, both.rgb);
}

// The same with guidance, in a batch, under a memory limit, and with tiles that cover the images.
TEST_F(References, act_alike_in_every_way_of_running) {
  read_references();
  const Arguments with = {"--reference", "two.png", "-n", "night", "--cfg-scale", "3"};
  const auto more = [&](Arguments other) {
    other.insert(other.begin(), with.begin(), with.end());
    return other;
  };
  const Pixels first = image(with);
  ASSERT_EQ(draw(more({"--seed", "6", "--batch-size", "2", "-o", "b.png"})).code, 0);
  EXPECT_EQ(read_png(folder / "b-2.png").image.rgb, first.rgb);
  EXPECT_EQ(image(more({"--memory-limit", "1G"})).rgb, first.rgb);
  EXPECT_EQ(image(more({"--vae-tiling", "on"})).rgb, first.rgb);
  EXPECT_NE(image(more({"--vae-tiling", "on", "--vae-tile-size", "32"})).rgb, first.rgb);
  const Json made = report(with);
  EXPECT_EQ(made.at("memory").at("measured").at("peak"), made.at("memory").at("planned").at("peak"));
  EXPECT_EQ(made.at("request").at("references"), Json({"two.png"}));
}

TEST_F(References, come_again_from_metadata) {
  read_references();
  const Pixels first = image({"--reference", "one.png", "--reference", "two.png"});
  const Ended again = run({"rerun", "a.png", "-m", "mock", "-o", "again.png"});
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(read_png(folder / "again.png").image.rgb, first.rgb);
  EXPECT_NE(run({"rerun", "a.png", "--print-command"}).out.find("--reference one.png --reference two.png"), std::string::npos);
  const Ended other = run({"rerun", "a.png", "-m", "mock", "--reference", "two.png", "-o", "again.png"});
  ASSERT_EQ(other.code, 0) << other.err;
  EXPECT_EQ(read_png(folder / "again.png").image.rgb, image({"--reference", "two.png"}).rgb);
  image({"--reference", "one.png", "--reference", "two.png"});
  write_picture(folder / "two.png", 64, 32);
  const Ended changed = run({"rerun", "a.png", "-m", "mock", "-o", "again.png"});
  EXPECT_EQ(not_one_line(changed, 2), "");
  EXPECT_NE(changed.err.find("--reference two.png: the image has changed since"), std::string::npos) << changed.err;
}

TEST_F(References, that_a_model_cannot_use_are_refused) {
  EXPECT_NE(error({"--reference", "one.png"}, 2).find("this model does not look at reference images, expected none"), std::string::npos);
  EXPECT_NE(error({"--reference", "nowhere.png"}, 1).find("nowhere.png"), std::string::npos);
  std::ofstream(folder / "broken.png") << "\x89PNG\r\n\x1a\nnothing else";
  EXPECT_NE(error({"--reference", "broken.png"}, 1).find("broken.png"), std::string::npos);
  read_references();
  write_picture(folder / "thin.png", 40, 7);
  EXPECT_NE(error({"--reference", "one.png", "--reference", "thin.png"}, 2)
                .find("reference image 2 is 40×7, expected sides of at least 8 pixels"),
            std::string::npos);
}

TEST_F(References, as_a_prompt_come_from_a_prior) {
  write_prior(folder / "prior");
  const Arguments with = {"--redux", "prior", "--reference", "one.png"};
  const Pixels plain = image({}), one = image(with);
  EXPECT_NE(one.rgb, plain.rgb);
  EXPECT_NE(image({"--redux", "prior", "--reference", "one.png", "--reference", "two.png"}).rgb, one.rgb);
  // in a batch, with a negative prompt of another length, under a limit
  const Json made = report({"--redux", "prior", "--reference", "one.png", "-n", "night", "--memory-limit", "1G"});
  EXPECT_EQ(made.at("memory").at("measured").at("peak"), made.at("memory").at("planned").at("peak"));
  std::vector<std::string> names;
  for (const Json& c : made.at("components")) names.push_back(c.at("name"));
  EXPECT_EQ(names, (std::vector<std::string>{"text_encoder", "text_encoder_2", "transformer", "vae", "image_encoder", "image_embedder"}));
  ASSERT_EQ(draw({"--redux", "prior", "--reference", "one.png", "--seed", "6", "--batch-size", "2", "-o", "b.png"}).code, 0);
  EXPECT_EQ(read_png(folder / "b-2.png").image.rgb, one.rgb);

  // the same from files: the embedder with its publisher's names, a tower next to it or in the same file
  std::map<std::string, Tensor> tower, embedder;
  const auto device = make_test_backend("reference");
  for (const auto& [file, into] :
       {std::pair("image_encoder/model.safetensors", &tower), std::pair("image_embedder/diffusion_pytorch_model.safetensors", &embedder)}) {
    const auto source = SafetensorsFile::open(folder / "prior" / file);
    for (const auto& [name, info] : source->list()) (*into)[name] = source->read(name, info.shape, *device);
  }
  write_safetensors(folder / "redux.safetensors", embedder);
  EXPECT_EQ(image({"--redux", "redux.safetensors", "--image-encoder", "prior", "--reference", "one.png"}).rgb, one.rgb);
  EXPECT_EQ(image({"--redux", "prior/image_embedder", "--image-encoder", "prior/image_encoder", "--reference", "one.png"}).rgb, one.rgb);
  // the feature extractor next to the tower
  fs::copy(folder / "prior/image_encoder", folder / "tower");
  EXPECT_NE(image({"--redux", "redux.safetensors", "--image-encoder", "tower", "--reference", "one.png"}).rgb, one.rgb);
  fs::copy(folder / "prior/feature_extractor/preprocessor_config.json", folder / "tower/preprocessor_config.json");
  EXPECT_EQ(image({"--redux", "redux.safetensors", "--image-encoder", "tower", "--reference", "one.png"}).rgb, one.rgb);
}

TEST_F(References, priors_that_are_incomplete_are_refused) {
  write_prior(folder / "prior");
  const auto refusal = [&](const Arguments& flags, int code = 1) {
    Arguments all = {"--reference", "one.png"};
    all.insert(all.end(), flags.begin(), flags.end());
    return error(all, code);
  };
  const auto expect = [](const std::string& line, const char* part) { EXPECT_NE(line.find(part), line.npos) << line; };
  expect(error({"--redux", "prior"}, 2), "--redux: has no effect without --reference");
  expect(refusal({"--redux", "prior/image_embedder"}, 2), "image prompts lack the image encoder, expected --image-encoder PATH, too");
  expect(refusal({"--image-encoder", "prior/image_encoder"}, 2), "image prompts lack the Redux image embedder, expected --redux PATH, too");
  expect(refusal({"--redux", "nowhere"}), "nowhere: no such file or folder");
  expect(refusal({"--redux", "mock"}), "mock");
  expect(refusal({"--redux", "prior/image_encoder"}), "holds no Redux image embedder, only image encoder");
  fs::create_directory(folder / "empty");
  expect(refusal({"--redux", "empty"}), "empty");
  expect(run({"generate", "-p", "x", "--redux", "prior", "--reference", "one.png", "-o", "d.png"}).err,
         "StableDiffusionPipeline does not support a Redux image embedder, expected none");
  const auto edit = [&](const char* file, const char* key, int64_t value) {
    Json config;
    std::ifstream(folder / "prior" / file) >> config;
    config[key] = value;
    write_json(folder / "prior" / file, config);
  };
  edit("image_embedder/config.json", "txt_in_features", 20);
  expect(refusal({"--redux", "prior"}), "makes text states of width 20, expected the text encoder's 16");
  edit("image_embedder/config.json", "redux_dim", 10);
  expect(refusal({"--redux", "prior"}), "reads image states of width 10, expected the image encoder's 12");
  fs::remove(folder / "prior/image_encoder/config.json");
  expect(refusal({"--redux", "prior"}), "the image encoder has no configuration, and its sizes are those of no published one");
  fs::remove_all(folder / "prior/image_encoder");
  expect(refusal({"--redux", "prior"}, 2), "image prompts lack the image encoder, expected --image-encoder PATH, too");
}

TEST_F(References, of_a_prior_are_in_the_help) {
  const auto help = help_of_flags("generate");
  EXPECT_NE(help.at("--redux").find("Add image prompts by Redux"), std::string::npos);
  EXPECT_TRUE(help.contains("--image-encoder") && help.contains("--image-encoder-precision") && help.contains("--reference"));
  EXPECT_FALSE(flags_in_help("convert").contains("--redux"));
}

// The image prompt changes nothing but the prompt's conditioning, and a device with memory of its own gives the same bits.
TEST_F(References, have_the_bits_of_the_reference_on_a_detached_device) {
  write_prior(folder / "prior");
  Pixels picture{.width = 30, .height = 20, .rgb = {}};
  for (const float v : test_values("picture", 30 * 20 * 3)) picture.rgb.push_back(uint8_t(v * 127.5f + 127.5f));
  for (const bool as_prompt : {false, true}) {
    if (!as_prompt) read_references();
    CheckpointPlaces places;
    if (as_prompt) places.components["image_embedder"] = folder / "prior";
    const Checkpoint checkpoint = models::open_checkpoint(folder / "mock", places);
    const auto drawn = [&](const std::string& backend, std::vector<Pixels> references) {
      const auto device = make_test_backend(backend);
      const auto model = models::open_image_model(checkpoint, *device, {.warn = [](const std::string&) {}});
      const models::ImageTask task{
          .request = {.prompt = "a red house", .negative_prompt = "people", .steps = 3}, .seed = 7, .references = std::move(references)};
      const models::ImageResult result = model->prepare(task)->run({});
      return std::pair(result.latents.to_vector(), result.images.at(0).to_vector());
    };
    const auto expected = drawn("reference", {picture});
    EXPECT_EQ(drawn("detached", {picture}), expected);
    EXPECT_NE(drawn("reference", {}), expected);
  }
}

}  // namespace
}  // namespace hearth::test
