// OpenAI's image API over HTTP, with the demo model.
#include <fmt/format.h>

#include <chrono>

#include "server/image/demo_images_test.h"
#include "server/live_server_test.h"

namespace hearth::server::test {
namespace {

Request request() { return {.prompt = "a red house", .width = 64, .height = 64, .steps = 3, .seed = 7}; }
Json body() { return {{"prompt", "a red house"}, {"size", "64x64"}, {"steps", 3}, {"seed", 7}}; }
Json with(Json json, const Json& more) {
  json.update(more);
  return json;
}

Response generate(const Json& json) { return live_server().post("/v1/images/generations", json); }

struct Event {
  std::string name;
  Json data;
};
std::vector<Event> events_of(const Response& response) {
  std::vector<Event> events;
  const std::string& text = response.body;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find("\n\n", at);
    const std::string block = text.substr(at, end - at);
    at = end + 2;
    if (block.starts_with(':')) continue;
    const size_t line = block.find("\ndata: ");
    EXPECT_TRUE(block.starts_with("event: ") && line != block.npos) << block.substr(0, 100);
    events.push_back({block.substr(7, line - 7), Json::parse(block.substr(line + 7))});
  }
  return events;
}

struct FormField {
  std::string name, content, file;
};
Response post_form(const std::string& path, const std::vector<FormField>& parts) {
  std::string text;
  for (const FormField& part : parts) {
    text += "--edge\r\nContent-Disposition: form-data; name=\"" + part.name + "\"";
    if (!part.file.empty()) text += "; filename=\"" + part.file + "\"\r\nContent-Type: image/png";
    text += "\r\n\r\n" + part.content + "\r\n";
  }
  return live_server().call("POST", path, text + "--edge--\r\n", {"Content-Type: multipart/form-data; boundary=edge"});
}

TEST(OpenAiImages, MakesTheImageOfHearthGenerate) {
  const Response response = generate(with(body(), {{"model", "demo-model"}, {"user", "somebody"}, {"unknown_field", 1}}));
  ASSERT_EQ(response.status, 200) << response.body;
  const Json json = response.json();
  EXPECT_EQ(json.at("output_format"), "png");
  EXPECT_EQ(json.at("size"), "64x64");
  EXPECT_GT(json.at("created").get<int64_t>(), 1'700'000'000);
  ASSERT_EQ(json.at("data").size(), 1u);
  EXPECT_EQ(json["data"][0].at("seed"), 7);
  const Image image = image_of(json["data"][0].at("b64_json"));
  const Image expected = generated(request()).images[0];
  EXPECT_EQ(image.rgb, expected.rgb);
  EXPECT_EQ(image.parameters, expected.parameters);
  EXPECT_FALSE(image.json.empty());
}

TEST(OpenAiImages, CountsSeedsUp) {
  const Json json = generate(with(body(), {{"n", 3}})).json();
  ASSERT_EQ(json.at("data").size(), 3u);
  Request r = request();
  for (uint64_t k = 0; k < 3; ++k) {
    r.seed = 7 + k;
    EXPECT_EQ(json["data"][k].at("seed"), 7 + k);
    EXPECT_EQ(image_of(json["data"][k].at("b64_json")).rgb, generated(r).images[0].rgb) << k;
  }
  const Json together = generate(with(body(), {{"n", 2}, {"batch_size", 2}})).json();
  for (size_t k = 0; k < 2; ++k) EXPECT_EQ(together["data"][k].at("b64_json").get<std::string>().size() > 0, true);
  r.seed = 8;
  EXPECT_EQ(image_of(together["data"][1].at("b64_json")).rgb, generated(r).images[0].rgb);
}

TEST(OpenAiImages, HonorsEverySettingOfTheTable) {
  const Json json = generate(with(body(), {{"negative_prompt", "a blue house"},
                                           {"cfg_scale", 4.5},
                                           {"sampler", "dpmpp_2m"},
                                           {"scheduler", "karras"},
                                           {"schedule_options", {{"rho", 5}}},
                                           {"guidance_interval", {0.5, 10}},
                                           {"variation_seed", 3},
                                           {"variation_strength", 0.2},
                                           {"prompt_syntax", "a1111"},
                                           {"clip_skip", 2}}))
                        .json();
  Request r = request();
  r.negative_prompt = "a blue house", r.guidance = 4.5, r.sampler = "dpmpp_2m", r.schedule = "karras", r.schedule_options = {{"rho", 5}};
  r.guidance_interval = {0.5, 10}, r.variation = {.seed = 3, .strength = 0.2}, r.prompt_syntax = PromptSyntax::a1111;
  r.options["clip_skip"] = int64_t(2);
  ASSERT_TRUE(json.contains("data")) << json.dump();
  EXPECT_EQ(image_of(json["data"][0].at("b64_json")).rgb, generated(r).images[0].rgb);
}

TEST(OpenAiImages, QualityChoosesTheSteps) {
  Json quick = body();
  quick.erase("steps");
  quick["quality"] = "low";
  const Json json = generate(quick).json();
  EXPECT_EQ(json.at("quality"), "low");
  EXPECT_NE(image_of(json["data"][0].at("b64_json")).parameters.find("Steps: 15,"), std::string::npos);
}

TEST(OpenAiImages, WritesJpegAndWebP) {
  const Image expected = generated(request()).images[0];
  const Json jpeg = generate(with(body(), {{"output_format", "jpeg"}, {"output_compression", 60}})).json();
  const Image read = image_of(jpeg["data"][0].at("b64_json"));
  EXPECT_EQ(read.rgb, Image::decode(expected.encode("x.jpg", {.quality = 60}), "x").rgb);
  EXPECT_EQ(read.parameters, expected.parameters);
  const Json webp = generate(with(body(), {{"output_format", "webp"}})).json();
  EXPECT_EQ(image_of(webp["data"][0].at("b64_json")).rgb, Image::decode(expected.encode("x.webp", {.quality = 100}), "x").rgb);
}

TEST(OpenAiImages, LinksToImagesThatItKeeps) {
  const Json json = generate(with(body(), {{"response_format", "url"}})).json();
  const std::string url = json["data"][0].at("url");
  ASSERT_TRUE(url.starts_with(live_server().url() + "/v1/images/files/")) << url;
  EXPECT_FALSE(json["data"][0].contains("b64_json"));
  const Response file = live_server().get(url.substr(live_server().url().size()));
  EXPECT_EQ(file.status, 200);
  EXPECT_EQ(file.content_type, "image/png");
  EXPECT_EQ(Image::decode(file.body, "file").rgb, generated(request()).images[0].rgb);
  const Response none = live_server().get("/v1/images/files/0123.png");
  EXPECT_EQ(none.status, 404);
  EXPECT_EQ(none.json().at("error").at("code"), "not_found");
}

TEST(OpenAiImages, StreamsPartialImages) {
  const Response response = generate(with(body(), {{"stream", true}, {"partial_images", 2}, {"steps", 6}, {"n", 2}}));
  EXPECT_TRUE(response.content_type.starts_with("text/event-stream"));
  const std::vector<Event> events = events_of(response);
  std::vector<std::string> names;
  for (const Event& e : events) {
    names.push_back(e.name);
    EXPECT_EQ(e.data.at("type"), e.name);
    EXPECT_EQ(e.data.at("size"), "64x64");
    EXPECT_EQ(e.data.at("output_format"), "png");
    EXPECT_EQ(image_of(e.data.at("b64_json")).width, 64);
  }
  const std::string part = "image_generation.partial_image", whole = "image_generation.completed";
  ASSERT_EQ(names, (std::vector{part, part, whole, part, part, whole}));
  EXPECT_EQ(events[0].data.at("partial_image_index"), 0);
  EXPECT_EQ(events[1].data.at("partial_image_index"), 1);
  EXPECT_EQ(events[4].data.at("index"), 1);
  Request r = request();
  r.steps = 6;
  EXPECT_EQ(image_of(events[2].data.at("b64_json")).rgb, generated(r).images[0].rgb);
  EXPECT_NE(events[1].data.at("b64_json"), events[2].data.at("b64_json"));
  EXPECT_EQ(events[5].data.at("seed"), 8);

  const std::vector<Event> alone = events_of(generate(with(body(), {{"stream", true}})));
  ASSERT_EQ(alone.size(), 1u);
  EXPECT_EQ(alone[0].name, whole);
}

TEST(OpenAiImages, EditsWhereTheMaskIsTransparent) {
  const Image image = pattern(64, 64), mask = half_transparent(64, 64);
  Request r = request();
  r.width.reset(), r.height.reset();
  r.edit.image = image;
  r.edit.mask = half_white(64, 64);
  const Image expected = generated(r).images[0];
  const Response form = post_form("/v1/images/edits", {{"image", png(image), "a.png"},
                                                       {"mask", png(mask), "m.png"},
                                                       {"prompt", "a red house", ""},
                                                       {"seed", "7", ""},
                                                       {"steps", "3", ""},
                                                       {"n", "1", ""}});
  ASSERT_EQ(form.status, 200) << form.body;
  const Image edited = image_of(form.json()["data"][0].at("b64_json"));
  EXPECT_EQ(edited.rgb, expected.rgb);
  for (size_t i = 0; i < edited.rgb.size(); ++i) {
    if (i / 3 % 64 < 32) continue;
    ASSERT_EQ(edited.rgb[i], image.rgb[i]) << i;
  }

  const Json json{{"image", {png_text(image)}},
                  {"mask", {{"image_url", "data:image/png;base64," + png_text(mask)}}},
                  {"prompt", "a red house"},
                  {"seed", 7},
                  {"steps", 3}};
  EXPECT_EQ(image_of(live_server().post("/v1/images/edits", json).json()["data"][0].at("b64_json")).rgb, expected.rgb);
  const Json listed{
      {"images", {{{"image_url", "data:image/png;base64," + png_text(image)}}}}, {"prompt", "x"}, {"strength", 0.5}, {"steps", 2}};
  EXPECT_EQ(live_server().post("/v1/images/edits", listed).status, 200);
}

TEST(OpenAiImages, StreamsEdits) {
  const std::vector<Event> events = events_of(live_server().post(
      "/v1/images/edits",
      {{"image", png_text(pattern(64, 64))}, {"prompt", "x"}, {"steps", 4}, {"strength", 1}, {"stream", true}, {"partial_images", 1}}));
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].name, "image_edit.partial_image");
  EXPECT_EQ(events[1].name, "image_edit.completed");
}

TEST(OpenAiImages, VariesAnImage) {
  const Image image = pattern(64, 64);
  const Response form = post_form("/v1/images/variations", {{"image", png(image), "a.png"}, {"seed", "7", ""}, {"steps", "3", ""}});
  ASSERT_EQ(form.status, 200) << form.body;
  Request r = request();
  r.prompt = "";
  r.width.reset(), r.height.reset();
  r.edit.image = image;
  EXPECT_EQ(image_of(form.json()["data"][0].at("b64_json")).rgb, generated(r).images[0].rgb);
}

struct Refusal {
  std::string path;
  Json body;
  int status;
  std::string param, message;
};

TEST(OpenAiImages, RefusesWhatItCannotHonor) {
  const std::string image = png_text(pattern(64, 64)), gen = "/v1/images/generations", edit = "/v1/images/edits";
  const Json to_edit{{"image", image}, {"prompt", "x"}, {"steps", 1}};
  const std::vector<Refusal> refusals{
      {gen, {{"size", "64x64"}}, 400, "prompt", "prompt: is missing, expected a text"},
      {gen, with(body(), {{"prompt", 3}}), 400, "prompt", "prompt: 3, expected a text"},
      {gen, with(body(), {{"model", "dall-e-3"}}), 404, "model", "the model 'dall-e-3' does not exist"},
      {gen, with(body(), {{"model", "demo-language-model"}}), 400, "model",
       "the model 'demo-language-model' generates text, expected one that generates images"},
      {gen, with(body(), {{"size", "100x60"}}), 400, "size",
       "size: 100x60, expected sides that are multiples of 8 up to 16384; the nearest size is 104x64"},
      {gen, with(body(), {{"size", "20000x64"}}), 400, "size",
       "size: 20000x64, expected sides that are multiples of 8 up to 16384; the nearest size is 16384x64"},
      {gen, with(body(), {{"size", "64"}}), 400, "size", "size: '64', expected auto or WIDTHxHEIGHT in pixels"},
      {gen, with(body(), {{"size", "64x64x64"}}), 400, "size", "size: '64x64x64', expected auto or WIDTHxHEIGHT in pixels"},
      {gen, with(body(), {{"width", 64}}), 400, "size", "size: is given with width or height, expected one of them"},
      {gen, with(body(), {{"n", 0}}), 400, "n", "n: 0, expected an integer from 1 to 64"},
      {gen, with(body(), {{"n", 3}, {"batch_size", 2}}), 400, "n", "n: 3, expected a multiple of the batch_size of 2"},
      {gen, with(body(), {{"quality", "best"}}), 400, "quality",
       "quality: 'best', expected one of auto, standard, low, medium, high, hd, xhigh, max"},
      {gen, with(body(), {{"quality", "low"}}), 400, "quality", "quality: sets the steps, which are given, too; expected one of them"},
      {gen, with(body(), {{"background", "transparent"}}), 400, "background",
       "background: transparent images are not supported, expected auto or opaque"},
      {gen, with(body(), {{"style", "natural"}}), 400, "style", "style: natural is not supported; describe the style in the prompt"},
      {gen, with(body(), {{"output_format", "gif"}}), 400, "output_format", "output_format: 'gif', expected one of png, jpeg, webp"},
      {gen, with(body(), {{"output_compression", 50}}), 400, "output_compression",
       "output_compression: PNG is lossless, expected output_format jpeg or webp"},
      {gen, with(body(), {{"partial_images", 1}}), 400, "partial_images", "partial_images: requires stream"},
      {gen, with(body(), {{"stream", true}, {"response_format", "url"}}), 400, "response_format",
       "response_format: links cannot be streamed, expected b64_json"},
      {gen, with(body(), {{"sampler", "eulr"}}), 400, "sampler", ""},
      {gen, with(body(), {{"guidance", 3}, {"cfg_scale", 4}}), 400, "cfg_scale",
       "cfg_scale: is given as guidance, too, expected one of them"},
      {gen, with(body(), {{"guidance", "many"}}), 400, "guidance", ""},
      {gen, with(body(), {{"guidance", Json::array({Json::object()})}}), 400, "guidance", ""},
      {gen, with(body(), {{"embeddings", "/etc/passwd"}}), 400, "embeddings",
       "embeddings: is a file, and requests cannot name files of the server"},
      {gen, with(body(), {{"init_image", "/etc/passwd"}}), 400, "init_image",
       "init_image: is a file, and requests cannot name files of the server"},
      {gen, with(body(), {{"image", image}}), 400, "image", "image: is for /v1/images/edits"},
      {gen, with(body(), {{"steps", 1000000}}), 400, "", "the request has 1000000 steps, expected at most 1000"},
      {gen, with(body(), {{"prompt_2", "x"}}), 400, "", ""},  // an option of another family
      {edit, {{"prompt", "x"}}, 400, "image", "image: is missing, expected an image"},
      {edit, with(to_edit, {{"image", "?!"}}), 400, "image", "image: is not base64"},
      {edit, with(to_edit, {{"image", "aGVsbG8gd29ybGQ="}}), 400, "image", ""},
      {edit, with(to_edit, {{"image", image.substr(0, image.size() / 8 * 4)}}), 400, "image", ""},
      {edit, with(to_edit, {{"image", "https://example.com/a.png"}}), 400, "image",
       "image: is a link, which the server does not follow; expected the image in base64, or a data URL"},
      {edit, with(to_edit, {{"image", {{"file_id", "file-1"}}}}), 400, "image.file_id",
       "image.file_id: the server keeps no files, expected image_url with a data URL"},
      {edit, with(to_edit, {{"image", {image, image}}}), 400, "image", "image: 2 images, but this model edits one"},
      {edit, with(to_edit, {{"mask", image}}), 400, "mask",
       "mask: the image has no transparency, expected one that is transparent where the image is to be regenerated"},
      {edit, with(to_edit, {{"mask", png_text(half_transparent(32, 64))}}), 400, "", ""},
      {edit, with(to_edit, {{"input_fidelity", "high"}}), 400, "input_fidelity", ""},
      {edit, with(to_edit, {{"strength", 2}}), 400, "strength", ""},
  };
  for (const Refusal& r : refusals) {
    const Response response = live_server().post(r.path, r.body);
    const std::string what = r.param + " " + r.message + response.body.substr(0, 300);
    ASSERT_EQ(response.status, r.status) << what;
    const Json error = response.json().at("error");
    EXPECT_EQ(error.at("param"), r.param.empty() ? Json() : Json(r.param)) << what;
    if (!r.message.empty()) { EXPECT_EQ(error.at("message"), r.message); }
    EXPECT_EQ(error.at("message").get<std::string>().find('\n'), std::string::npos) << what;
  }
  EXPECT_EQ(generate(body()).status, 200);  // and goes on
}

TEST(OpenAiImages, RefusesBrokenBodies) {
  const auto broken = [](const std::string& path, const std::string& text, const std::string& type) {
    return live_server().call("POST", path, text, {"Content-Type: " + type});
  };
  for (const char* path : {"/v1/images/generations", "/v1/images/edits", "/v1/images/variations"}) {
    EXPECT_EQ(broken(path, "{\"prompt\":", "application/json").status, 400) << path;
    EXPECT_EQ(broken(path, "[]", "application/json").status, 400) << path;
    EXPECT_EQ(broken(path, "--edge\r\nno", "multipart/form-data; boundary=edge").status, 400) << path;
    EXPECT_EQ(broken(path, "--edge--", "multipart/form-data").status, 400) << path;
  }
  EXPECT_EQ(post_form("/v1/images/edits", {{"image", "no image", "a.png"}, {"prompt", "x", ""}}).status, 400);
  EXPECT_EQ(post_form("/v1/images/edits", {{"image", png(pattern(64, 64)), "a.png"}, {"prompt", "x", ""}, {"prompt", "y", ""}}).status,
            400);
  EXPECT_EQ(post_form("/v1/images/edits", {{"image", png(pattern(64, 64)), "a.png"}, {"prompt", "x", ""}, {"n", "two", ""}}).status, 400);
}

TEST(OpenAiImages, AClientThatLeavesFreesTheModel) {
  live_server().leave_after("/v1/images/generations", with(body(), {{"steps", 1000}, {"size", "512x512"}, {"stream", true}}), 20);
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(generate(body()).status, 200);
  EXPECT_GE(live_server().metric("hearth_image_jobs_aborted"), 1);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(60));
}

}  // namespace
}  // namespace hearth::server::test
