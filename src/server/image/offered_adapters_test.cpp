// Adapters that a server offers, with the tiny checkpoints of the goldens: an image is the one that the library makes with them.
#include "server/api/base64.h"
#include "server/live_server_test.h"

namespace hearth::server::test {
namespace {

namespace fs = std::filesystem;

const fs::path golden = HEARTH_SOURCE_DIR "/tests/e2e/golden";

Image picture(int64_t width, int64_t height) {
  Image image{.width = width, .height = height};
  for (int64_t i = 0; i < width * height * 3; ++i) image.rgb.push_back(uint8_t(i * 37 % 251));
  return image;
}

OpenOptions with_encoder() {
  OpenOptions options;
  options.components["image_encoder"].path = golden / "image_prompts/encoder";
  return options;
}

ServeOptions offering() {
  ServeOptions options;
  options.models.models = {{"sd", golden / "pndm"}};
  options.models.image = with_encoder();
  options.models.adapters = {.controls = {{"canny", golden / "control/canny"}},
                             .image_prompts = {{"plain", golden / "image_prompts/plain.safetensors"}}};
  return options;
}

const LiveServer& server() {
  static const LiveServer one(offering());
  return one;
}

Request request() {
  Request r{.prompt = "a house", .width = 64, .height = 64, .steps = 3, .seed = 5};
  r.guidance = 5;
  return r;
}

std::string png(const Request& r) {
  static Model model = Model::open(golden / "pndm", with_encoder());
  return base64(Image{.width = 64, .height = 64, .rgb = model.generate(r).images.at(0).rgb}.encode("a.png"));
}

// The pixels of the response's image as a file without metadata.
std::string drawn(const Json& more) {
  Json body{{"prompt", "a house"}, {"size", "64x64"}, {"steps", 3}, {"seed", 5}, {"guidance", 5}};
  body.update(more);
  const Response response = server().post("/v1/images/generations", body);
  EXPECT_EQ(response.status, 200) << response.body;
  const std::string bytes = from_base64(response.json()["data"][0]["b64_json"].get<std::string>()).value_or("");
  const Image image = Image::decode(bytes, "response");
  return base64(Image{.width = image.width, .height = image.height, .rgb = image.rgb}.encode("a.png"));
}

TEST(OfferedAdapters, act_as_in_the_library) {
  const std::string text = base64(picture(48, 40).encode("a.png"));
  EXPECT_EQ(drawn(Json::object()), png(request()));

  Request prompted = request();
  prompted.image_prompts.push_back({.path = golden / "image_prompts/plain.safetensors", .image = picture(48, 40), .scale = 0.8});
  const std::string with_image = drawn({{"image_prompts", {{{"adapter", "plain"}, {"image", text}, {"scale", 0.8}}}}});
  EXPECT_EQ(with_image, png(prompted));
  EXPECT_NE(with_image, png(request()));

  prompted.controls.push_back({.path = golden / "control/canny", .image = picture(64, 64), .scale = 0.5});
  EXPECT_EQ(drawn({{"image_prompts", {{{"adapter", "plain"}, {"image", text}, {"scale", 0.8}}}},
                   {"controls", {{{"network", "canny"}, {"image", base64(picture(64, 64).encode("a.png"))}, {"scale", 0.5}}}}}),
            png(prompted));
}

TEST(OfferedAdapters, are_listed_for_clients_of_a1111) {
  EXPECT_EQ(server().get("/controlnet/model_list").json(), Json({{"model_list", {"canny", "plain"}}, {"image_prompts", {"plain"}}}));
}

}  // namespace
}  // namespace hearth::server::test
