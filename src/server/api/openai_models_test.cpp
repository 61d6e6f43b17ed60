// GET /v1/models over HTTP, with the demo models.
#include "server/image/demo_images_test.h"
#include "server/live_server_test.h"

namespace hearth::server::test {
namespace {

// They are what a run without settings takes, and they are known before the model is loaded.
TEST(OpenAiModels, say_what_an_image_model_does_by_default) {
  const LiveServer server;
  const Json model = server.get("/v1/models/demo-model").json();
  EXPECT_EQ(model.at("kind"), "image");
  EXPECT_EQ(model.at("loaded"), false);
  EXPECT_EQ(model.at("side_unit"), demo().traits().side_unit);
  const Json report = Json::parse(generated({.prompt = "a red house", .seed = 1, .decode = false, .stop_after = 1}).report);
  EXPECT_EQ(model.at("defaults").size(), 5u);
  for (const auto& [name, value] : model.at("defaults").items()) EXPECT_EQ(value, report.at("request").at(name)) << name;
  EXPECT_FALSE(server.get("/v1/models/demo-language-model").json().contains("defaults"));
}

}  // namespace
}  // namespace hearth::server::test
