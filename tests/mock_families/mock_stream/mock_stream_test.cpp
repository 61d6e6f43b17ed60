// The mock family from the command line: everything that a family declares reaches the user.
#include "mock_stream/mock_stream_case_test.h"

namespace hearth::test {
namespace {

// The whole pipeline, on a device with memory of its own and on the backend behind it.
TEST_F(MockStream, has_the_bits_of_the_reference_on_a_detached_device) {
  const Checkpoint checkpoint = models::open_checkpoint(folder / "mock");
  const auto drawn = [&](const std::string& backend) {
    const auto device = make_test_backend(backend);
    const auto model = models::open_image_model(checkpoint, *device, {.warn = [](const std::string&) {}});
    const models::ImageTask task{.request = {.prompt = "a red house", .negative_prompt = "people", .steps = 3}, .seed = 7};
    const models::ImageResult result = model->prepare(task)->run({});
    return std::pair(result.latents.to_vector(), result.images.at(0).to_vector());
  };
  EXPECT_EQ(drawn("detached"), drawn("reference"));
}

TEST_F(MockStream, draws_and_says_what_was_used) {
  const Json made = report({"--byte-limit", "5"});
  EXPECT_EQ(made.at("family"), "mock_stream");
  EXPECT_EQ(made.at("request").at("width"), 64);
  EXPECT_EQ(made.at("request").at("byte_limit"), 5);
  EXPECT_EQ(made.at("request").at("pooled_scale"), 1.0);
  EXPECT_EQ(made.at("request").at("clip_skip"), nullptr);
  Json names = Json::array();
  for (const Json& component : made.at("components")) names.push_back(component.at("name"));
  EXPECT_EQ(names, Json({"text_encoder", "text_encoder_2", "transformer", "vae"}));
  EXPECT_EQ(made.at("memory").at("measured").at("peak"), made.at("memory").at("planned").at("peak"));
}

TEST_F(MockStream, its_options_act) {
  const Pixels plain = image({});
  EXPECT_EQ(image({"--byte-limit", "64", "--pooled-scale", "1"}).rgb, plain.rgb);
  EXPECT_EQ(image({"--byte-limit", "11"}).rgb, plain.rgb);  // the prompt's length
  EXPECT_NE(image({"--byte-limit", "5"}).rgb, plain.rgb);
  EXPECT_NE(image({"--pooled-scale", "2"}).rgb, plain.rgb);
}

// The shorter of two texts is padded in the batch, which must not change anything: the network uses the number of valid bytes.
TEST_F(MockStream, lengths_of_texts_count) {
  const Pixels by_default = image({"--cfg-scale", "1"});
  for (const char* negative : {"x", "a very long negative prompt, longer than the prompt"})
    EXPECT_EQ(image({"--cfg-scale", "1", "-n", negative}).rgb, by_default.rgb);
  EXPECT_NE(image({"--cfg-scale", "4", "-n", "x"}).rgb, image({"--cfg-scale", "4", "-n", "y"}).rgb);
}

TEST_F(MockStream, a_batch_is_its_single_runs) {
  ASSERT_EQ(draw({"--batch-size", "2", "-o", "b.png"}).code, 0);
  ASSERT_EQ(draw({"--seed", "8", "-o", "c.png"}).code, 0);
  EXPECT_EQ(read_png(folder / "b-2.png").image.rgb, read_png(folder / "c.png").image.rgb);
}

TEST_F(MockStream, its_images_come_again) {
  const Pixels first = image({"--byte-limit", "5", "--pooled-scale", "0.5"});
  const Ended again = run({"rerun", "a.png", "-m", "mock", "-o", "again.png"});
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(read_png(folder / "again.png").image.rgb, first.rgb);
}

TEST_F(MockStream, help_list_and_inspect_know_it) {
  const std::string help = run({"generate", "--help-all"}).out;
  EXPECT_NE(help.find("mock_stream:\n      --byte-limit"), help.npos) << help;
  EXPECT_NE(help.find("Factor of the pooled text"), help.npos);
  EXPECT_NE(run({"list", "models"}).out.find("mock_stream"), std::string::npos);
  const Ended inspected = run({"inspect", "mock"});
  EXPECT_EQ(inspected.code, 0);
  EXPECT_NE(inspected.out.find("family mock_stream"), std::string::npos) << inspected.out;
}

TEST_F(MockStream, what_it_cannot_do_is_refused_in_one_line) {
  EXPECT_EQ(not_one_line(draw({"--clip-skip", "2"}), 2), "");
  EXPECT_EQ(not_one_line(draw({"--prompt-syntax", "a1111"}), 1), "");
  EXPECT_EQ(not_one_line(draw({"--guidance-method", "pag"}), 1), "");
  EXPECT_EQ(not_one_line(draw({"--byte-limit", "0"}), 2), "");
  EXPECT_EQ(not_one_line(run({"generate", "-p", "x", "--byte-limit", "5", "-o", "d.png"}), 2), "");  // the demo model has no such option
  fs::remove(folder / "mock/transformer/diffusion_pytorch_model.safetensors");
  EXPECT_EQ(not_one_line(draw({}), 1), "");
}

}  // namespace
}  // namespace hearth::test
