// A1111's API over HTTP, with the demo model.
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <thread>

#include "api/assets.h"
#include "core/files/file.h"
#include "server/image/demo_images_test.h"
#include "server/live_server_test.h"
#include "support/files.h"

namespace hearth::server::test {
namespace {

using namespace std::chrono_literals;

Json body() {
  return {{"prompt", "a (red:1.2) house"}, {"width", 64}, {"height", 64}, {"steps", 3}, {"seed", 7}, {"sampler_name", "Euler a"}};
}
Request request() {
  return {.prompt = "a (red:1.2) house",
          .width = 64,
          .height = 64,
          .steps = 3,
          .guidance = 7,
          .sampler = "euler_ancestral",
          .seed = 7,
          .compat = Compat::a1111};
}
Json with(Json json, const Json& more) {
  json.update(more);
  return json;
}
Response post(const std::string& path, const Json& json) { return live_server().post("/sdapi/v1/" + path, json); }
Json get(const std::string& path) {
  const Response response = live_server().get("/sdapi/v1/" + path);
  EXPECT_EQ(response.status, 200) << path;
  return response.json();
}
std::vector<Image> images_of(const Response& response) {
  EXPECT_EQ(response.status, 200) << response.body.substr(0, 300);
  std::vector<Image> images;
  for (const Json& text : response.json().value("images", Json::array())) images.push_back(image_of(text));
  return images;
}
Json info_of(const Response& response) { return Json::parse(response.json().at("info").get<std::string>()); }

TEST(A1111, MakesTheImageOfHearthGenerateWithCompatA1111) {
  const Response response = post("txt2img", body());
  const std::vector<Image> images = images_of(response);
  ASSERT_EQ(images.size(), 1u);
  const Image expected = generated(request()).images[0];
  EXPECT_EQ(images[0].rgb, expected.rgb);
  EXPECT_EQ(images[0].parameters, expected.parameters);
  const Json info = info_of(response);
  EXPECT_EQ(info.at("seed"), 7);
  EXPECT_EQ(info.at("all_seeds"), Json::array({7}));
  EXPECT_EQ(info.at("infotexts"), Json::array({expected.parameters}));
  EXPECT_EQ(info.at("sd_model_name"), "demo-model");
  EXPECT_NE(expected.parameters.find("Model hash: " + info.at("sd_model_hash").get<std::string>()), std::string::npos);
  EXPECT_EQ(info.at("sampler_name"), "Euler a");
  EXPECT_EQ(info.at("cfg_scale"), 7.0);
  EXPECT_EQ(info.at("prompt"), "a (red:1.2) house");
  const Json echo = response.json().at("parameters");
  EXPECT_EQ(echo.at("steps"), 3);
  EXPECT_EQ(echo.at("batch_size"), 1);
  EXPECT_EQ(echo.at("hr_scale"), 2.0);
}

TEST(A1111, HasItsDefaults) {
  const Response response = post("txt2img", {{"width", 64}, {"height", 64}});
  const std::string parameters = images_of(response).at(0).parameters;
  for (const char* part : {"Steps: 50,", "Sampler: Euler,", "CFG scale: 7,", "Size: 64x64,"})
    EXPECT_NE(parameters.find(part), std::string::npos) << part << " in " << parameters;
  EXPECT_LT(info_of(response).at("seed").get<uint64_t>(), uint64_t(1) << 32);
}

TEST(A1111, RunsBatchesAndIterations) {
  const Response response = post("txt2img", with(body(), {{"batch_size", 2}, {"n_iter", 2}}));
  const std::vector<Image> images = images_of(response);
  ASSERT_EQ(images.size(), 4u);
  Request r = request();
  for (uint64_t k = 0; k < 4; ++k) {
    r.seed = 7 + k;
    EXPECT_EQ(images[k].rgb, generated(r).images[0].rgb) << k;
  }
  EXPECT_EQ(info_of(response).at("all_seeds"), Json::array({7, 8, 9, 10}));
  const Response none = post("txt2img", with(body(), {{"send_images", false}}));
  EXPECT_TRUE(images_of(none).empty());
  EXPECT_EQ(info_of(none).at("infotexts").size(), 1u);
}

TEST(A1111, HonorsSamplersSchedulesAndOverrides) {
  const Response response = post("txt2img", with(body(), {{"sampler_name", "DPM++ 2M Karras"},
                                                          {"scheduler", "automatic"},
                                                          {"negative_prompt", "rain"},
                                                          {"subseed", 3},
                                                          {"subseed_strength", 0.25},
                                                          {"override_settings",
                                                           {{"CLIP_stop_at_last_layers", 2},
                                                            {"eta_noise_seed_delta", 31337},
                                                            {"randn_source", "CPU"},
                                                            {"emphasis", "No norm"},
                                                            {"always_discard_next_to_last_sigma", true},
                                                            {"outdir_samples", "/anywhere"}}}}));
  Request r = request();
  r.sampler = "dpmpp_2m", r.schedule = "karras", r.negative_prompt = "rain", r.variation = {.seed = 3, .strength = 0.25};
  r.options["clip_skip"] = int64_t(2);
  r.discard_penultimate = true, r.eta_noise_seed_delta = 31337, r.rng = Rng::cpu, r.emphasis = Emphasis::no_norm;
  EXPECT_EQ(images_of(response).at(0).rgb, generated(r).images[0].rgb);
  EXPECT_EQ(info_of(response).at("all_subseeds"), Json::array({3}));
  EXPECT_EQ(get("options").at("CLIP_stop_at_last_layers"), 1);  // for that request only

  Request ddim = request();
  ddim.sampler = "ddim", ddim.sampler_options = {{"eta", "1"}};
  EXPECT_EQ(images_of(post("txt2img", with(body(), {{"sampler_name", "DDIM"}, {"eta", 1.0}}))).at(0).rgb, generated(ddim).images[0].rgb);
}

TEST(A1111, AcceptsEverySamplerAndScheduleThatItLists) {
  const Json samplers = get("samplers");
  EXPECT_GT(samplers.size(), 20u);
  for (const char* name : {"Euler a", "DPM++ 2M", "DPM++ SDE", "DPM++ 2M SDE", "DPM++ 3M SDE", "LMS", "Heun", "DPM2 a", "DPM fast",
                           "Restart", "DDIM", "PLMS", "UniPC", "LCM"})
    EXPECT_TRUE(std::ranges::any_of(samplers, [&](const Json& s) { return s.at("name") == name; })) << name;
  for (const Json& s : samplers) {
    const Response response = post("txt2img", with(body(), {{"sampler_name", s.at("name")}, {"steps", 4}}));
    EXPECT_EQ(response.status, 200) << s.dump() << response.body.substr(0, 300);
  }
  for (const Json& s : get("schedulers"))
    for (const char* key : {"name", "label"}) {
      const Response response = post("txt2img", with(body(), {{"sampler_name", "Euler"}, {"scheduler", s.at(key)}}));
      EXPECT_EQ(response.status, 200) << s.dump() << response.body.substr(0, 300);
    }
}

TEST(A1111, RunsHiresFix) {
  const Response response = post("txt2img", with(body(), {{"enable_hr", true},
                                                          {"hr_scale", 2},
                                                          {"hr_upscaler", "Latent (bicubic)"},
                                                          {"hr_second_pass_steps", 2},
                                                          {"denoising_strength", 0.6},
                                                          {"hr_prompt", ""},
                                                          {"hr_sampler_name", nullptr}}));
  Request r = request();
  r.hires = Hires{.scale = 2, .upscaler = "latent-bicubic", .steps = 2, .strength = 0.6};
  const std::vector<Image> images = images_of(response);
  ASSERT_EQ(images.at(0).width, 128);
  EXPECT_EQ(images[0].rgb, generated(r).images[0].rgb);
  for (const Json& u : get("upscalers"))
    EXPECT_EQ(
        post("txt2img", with(body(), {{"enable_hr", true}, {"hr_resize_x", 128}, {"hr_resize_y", 128}, {"hr_upscaler", u.at("name")}}))
            .status,
        200)
        << u;
  EXPECT_EQ(get("latent-upscale-modes").size(), 6u);
}

TEST(A1111, StartsFromAnImage) {
  const Image image = pattern(64, 64);
  const Response response =
      post("img2img", with(body(), {{"init_images", {"data:image/png;base64," + png_text(image)}}, {"denoising_strength", 0.6}}));
  Request r = request();
  r.edit.image = image, r.edit.strength = 0.6;
  EXPECT_EQ(images_of(response).at(0).rgb, generated(r).images[0].rgb);
  EXPECT_TRUE(response.json().at("parameters").at("init_images").is_null());
  const Response echoed = post("img2img", with(body(), {{"init_images", {png_text(image)}}, {"include_init_images", true}}));
  EXPECT_EQ(echoed.json().at("parameters").at("init_images").size(), 1u);
  r.edit.strength = 0.75;
  EXPECT_EQ(images_of(echoed).at(0).rgb, generated(r).images[0].rgb);
}

TEST(A1111, FlattensTransparencyOverWhite) {
  Request r = request();
  Image over = half_transparent(64, 64);
  over.alpha.clear();  // it is white everywhere
  r.edit.image = over, r.edit.strength = 0.75;
  Image black = half_transparent(64, 64);
  for (size_t i = 0; i < black.rgb.size(); ++i)
    if (i / 3 % 64 < 32) black.rgb[i] = 0;  // which is not seen
  EXPECT_EQ(images_of(post("img2img", with(body(), {{"init_images", {png_text(black)}}}))).at(0).rgb, generated(r).images[0].rgb);
}

TEST(A1111, Inpaints) {
  const Image image = pattern(96, 96), mask = half_white(96, 96);
  const Json inpaint = with(body(), {{"init_images", {png_text(image)}},
                                     {"mask", png_text(mask)},
                                     {"mask_blur", 2},
                                     {"inpainting_fill", 1},
                                     {"inpaint_full_res", true},
                                     {"inpaint_full_res_padding", 8},
                                     {"inpainting_mask_invert", 1}});
  Request r = request();
  r.edit = {.image = image,
            .strength = 0.75,
            .mask = mask,
            .mask_invert = true,
            .mask_blur = 2,
            .fill = InpaintFill::original,
            .only_masked = true,
            .mask_padding = 8};
  EXPECT_EQ(images_of(post("img2img", inpaint)).at(0).rgb, generated(r).images[0].rgb);

  // A mask that has transparency counts by it: opaque is regenerated.
  Image shape = half_transparent(96, 96);
  Request whole = request();
  whole.width = whole.height = 96;
  Image right = half_white(96, 96);
  for (uint8_t& v : right.rgb) v = uint8_t(255 - v);
  whole.edit = {.image = image, .strength = 0.75, .mask = right, .mask_blur = 4, .fill = InpaintFill::fill, .mask_padding = 0};
  const Response response =
      post("img2img",
           with(body(),
                {{"init_images", {png_text(image)}}, {"mask", png_text(shape)}, {"inpaint_full_res", 0}, {"width", 96}, {"height", 96}}));
  EXPECT_EQ(images_of(response).at(0).rgb, generated(whole).images[0].rgb);
}

TEST(A1111, KeepsOptions) {
  const Json before = get("options");
  EXPECT_EQ(before.at("sd_model_checkpoint"), "demo-model");
  EXPECT_EQ(post("options", before).status, 200);  // as clients do that change one of them
  EXPECT_EQ(post("options", {{"samples_format", "jpg"}, {"jpeg_quality", 70}, {"sd_model_checkpoint", "demo-model [0123456789]"}}).body,
            "null");
  const Response jpeg = post("txt2img", body());
  EXPECT_TRUE(base64(std::string("\xff\xd8\xff", 3)) == jpeg.json().at("images").at(0).get<std::string>().substr(0, 4));
  EXPECT_EQ(get("options").at("sd_model_checkpoint"), "demo-model");
  EXPECT_EQ(post("options", before).status, 200);
  EXPECT_EQ(get("options"), before);

  const Response unknown = post("options", {{"sd_model_checkpoint", "v1-5.safetensors"}});
  EXPECT_EQ(unknown.status, 404);
  EXPECT_EQ(unknown.json().at("detail"), "sd_model_checkpoint: the model 'v1-5.safetensors' does not exist");
  const Response refused = post("options", {{"img2img_color_correction", true}, {"CLIP_stop_at_last_layers", 2}});
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(get("options"), before);  // all or nothing
  const Response kept = post(
      "txt2img", with(body(), {{"override_settings", {{"CLIP_stop_at_last_layers", 2}}}, {"override_settings_restore_afterwards", false}}));
  EXPECT_EQ(info_of(kept).at("clip_skip"), 2);
  EXPECT_EQ(get("options").at("CLIP_stop_at_last_layers"), 2);
  EXPECT_EQ(post("options", before).status, 200);
}

TEST(A1111, SwitchesTheModel) {
  ServeOptions two;
  two.models.models = {{"first", api::demo_model_folder()}, {"second", api::demo_model_folder()}};
  const LiveServer server(two);
  const auto ask = [&](const std::string& path, const Json& json) { return server.post("/sdapi/v1/" + path, json); };
  const auto model_of = [&](const Json& more) { return info_of(ask("txt2img", with(body(), more))).at("sd_model_name"); };
  EXPECT_EQ(server.get("/sdapi/v1/sd-models").json().size(), 2u);
  EXPECT_EQ(model_of(Json::object()), "first");
  EXPECT_EQ(server.metric("hearth_model_loaded{model=\"second\"}"), 0);
  EXPECT_EQ(ask("options", {{"sd_model_checkpoint", "second"}}).status, 200);
  EXPECT_EQ(server.metric("hearth_model_loaded{model=\"second\"}"), 1);
  EXPECT_EQ(model_of(Json::object()), "second");
  EXPECT_EQ(model_of({{"override_settings", {{"sd_model_checkpoint", "first"}}}}), "first");
  EXPECT_EQ(server.get("/sdapi/v1/options").json().at("sd_model_checkpoint"), "second");
  for (const char* action : {"unload", "reload"}) {
    EXPECT_EQ(ask(std::string(action) + "-checkpoint", Json::object()).status, 200);
    EXPECT_EQ(server.metric("hearth_model_loaded{model=\"second\"}"), action == std::string("reload") ? 1 : 0);
    EXPECT_EQ(server.metric("hearth_model_loaded{model=\"first\"}"), 1);
  }
}

// Starts a long run on a thread and waits until it samples.
std::future<Response> start_long_run(const Json& more = Json::object()) {
  auto running = std::async(std::launch::async, [more] { return post("txt2img", with(with(body(), {{"steps", 1000}}), more)); });
  for (int i = 0; i < 30'000 && get("progress").at("state").at("sampling_step") < 2; ++i) std::this_thread::sleep_for(1ms);
  return running;
}

TEST(A1111, ShowsProgressAndInterrupts) {
  const Json idle = get("progress");
  EXPECT_EQ(idle.at("progress"), 0.0);
  EXPECT_EQ(idle.at("state").at("job_count"), 0);
  EXPECT_TRUE(idle.at("current_image").is_null());
  EXPECT_TRUE(idle.at("current_task").is_null());

  auto running = start_long_run({{"force_task_id", "mine"}});
  const Json now = get("progress");
  EXPECT_EQ(now.at("current_task"), "mine");
  EXPECT_GT(now.at("progress"), 0.0);
  EXPECT_LT(now.at("progress"), 1.0);
  EXPECT_GT(now.at("eta_relative"), 0.0);
  EXPECT_EQ(now.at("state").at("job_count"), 1);
  EXPECT_EQ(now.at("state").at("sampling_steps"), 1000);
  EXPECT_EQ(image_of(now.at("current_image")).width, 64);
  EXPECT_TRUE(get("progress?skip_current_image=true").at("current_image").is_null());
  const Response interrupt = post("interrupt", Json::object());
  EXPECT_EQ(interrupt.body, "{}");
  ASSERT_EQ(running.wait_for(60s), std::future_status::ready);
  EXPECT_EQ(images_of(running.get()).size(), 1u);  // what there is
  EXPECT_EQ(get("progress").at("progress"), 0.0);
  EXPECT_EQ(post("interrupt", Json::object()).status, 200);  // of nothing
}

TEST(A1111, SkipsOneOfSeveral) {
  auto running = start_long_run({{"n_iter", 2}});
  EXPECT_EQ(post("skip", Json::object()).status, 200);
  for (int i = 0; i < 30'000 && get("progress").at("state").at("job_no") < 1; ++i) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(get("progress").at("state").at("job"), "Batch 2 out of 2");
  post("interrupt", Json::object());
  EXPECT_EQ(images_of(running.get()).size(), 2u);
}

TEST(A1111, AClientThatLeavesFreesTheModel) {
  const std::string text = with(body(), {{"steps", 1000}, {"width", 512}, {"height", 512}}).dump();
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  address.sin_port = htons(uint16_t(std::stoi(live_server().url().substr(live_server().url().rfind(':') + 1))));
  ASSERT_EQ(::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  const std::string request =
      fmt::format("POST /sdapi/v1/txt2img HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
                  text.size(), text);
  ASSERT_EQ(::send(socket, request.data(), request.size(), 0), ssize_t(request.size()));
  for (int i = 0; i < 30'000 && get("progress").at("state").at("sampling_step") < 1; ++i) std::this_thread::sleep_for(1ms);
  ::close(socket);
  int64_t step = 0;
  for (int i = 0; i < 30'000; ++i) {
    const Json state = get("progress").at("state");
    if (state.at("job_count") == 0) break;
    step = state.at("sampling_step");
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_LT(step, 900);
  EXPECT_EQ(post("txt2img", body()).status, 200);
}

TEST(A1111, ReadsTheParametersOfAnImage) {
  Image image = pattern(16, 16);
  image.parameters = "a house\nNegative prompt: rain\nSteps: 20, Sampler: Euler a, CFG scale: 7, Seed: 1, Size: 512x768, Model: \"a, b\"";
  const Json info = post("png-info", {{"image", "data:image/png;base64," + png_text(image)}}).json();
  EXPECT_EQ(info.at("info"), image.parameters);
  EXPECT_EQ(info.at("parameters").at("Prompt"), "a house");
  EXPECT_EQ(info.at("parameters").at("Negative prompt"), "rain");
  EXPECT_EQ(info.at("parameters").at("Size-1"), "512");
  EXPECT_EQ(info.at("parameters").at("Size-2"), "768");
  EXPECT_EQ(info.at("parameters").at("Model"), "a, b");
  const Json made = post("png-info", {{"image", png_text(generated(request()).images[0])}}).json();
  EXPECT_TRUE(made.at("items").contains("hearth"));
  EXPECT_EQ(post("png-info", {{"image", png_text(pattern(8, 8))}}).json().at("info"), "");
  EXPECT_EQ(post("png-info", {{"image", "?"}}).status, 400);
  EXPECT_EQ(post("png-info", {{"image", base64("no image")}}).status, 400);
  EXPECT_EQ(post("png-info", Json::object()).status, 400);
}

TEST(A1111, ListsWhatThereIs) {
  const Json models = get("sd-models");
  ASSERT_EQ(models.size(), 1u);  // no language models
  EXPECT_EQ(models[0].at("title"), "demo-model");
  EXPECT_EQ(models[0].at("filename").get<std::string>().find('/'), std::string::npos);
  for (const char* path :
       {"sd-vae", "loras", "hypernetworks", "face-restorers", "realesrgan-models", "prompt-styles", "script-info", "extensions"})
    EXPECT_EQ(get(path), Json::array()) << path;
  EXPECT_EQ(live_server().get("/controlnet/model_list").json(), Json({{"model_list", Json::array()}, {"image_prompts", Json::array()}}));
  const Json modules = live_server().get("/controlnet/module_list").json().at("module_list");
  for (const char* module : {"none", "canny", "ip-adapter-auto"})
    EXPECT_NE(std::find(modules.begin(), modules.end(), module), modules.end()) << module;
  EXPECT_EQ(get("scripts"), Json({{"txt2img", Json::array()}, {"img2img", Json::array()}}));
  EXPECT_EQ(get("embeddings").at("loaded"), Json::object());
  EXPECT_GT(get("memory").at("ram").at("used"), 1'000'000);
  EXPECT_TRUE(get("cmd-flags").is_object());
  for (const char* path : {"refresh-checkpoints", "refresh-vae", "refresh-loras"})
    EXPECT_EQ(post(path, Json::object()).status, 200) << path;
  EXPECT_EQ(post("unload-checkpoint", Json::object()).status, 200);
  EXPECT_EQ(post("reload-checkpoint", Json::object()).status, 200);
  const Response absent = post("extra-single-image", {{"image", ""}});
  EXPECT_EQ(absent.status, 404);
  EXPECT_EQ(absent.json().at("detail"), "extra-single-image: hearth has no networks that enlarge images");
}

struct Refusal {
  Json more;
  int status;
  std::string message;
};

// Prompts name files of the folder that the server offers, and no other.
TEST(A1111, PromptsNameFilesOfTheLoraFolder) {
  const hearth::test::TemporaryFolder folder;
  write_file(folder / "oil paint.safetensors", "no adapter");
  ServeOptions options;
  options.models.adapters.lora_folder = folder.path();
  const LiveServer server(options);
  EXPECT_EQ(server.get("/sdapi/v1/loras").json(),
            Json::parse(R"([{"name": "oil paint", "alias": "oil paint", "path": "", "metadata": {}}])"));
  const auto said = [&](const std::string& prompt) {
    const Response response = server.post("/sdapi/v1/txt2img", with(body(), {{"prompt", prompt}}));
    EXPECT_EQ(response.status, 400) << response.body;
    return response.json().value("detail", "");
  };
  EXPECT_NE(said("a <lora:oil pain:1> house").find("oil paint"), std::string::npos);
  EXPECT_NE(said("a <lora:oil paint:1> house").find("oil paint.safetensors"), std::string::npos);
  EXPECT_EQ(post("txt2img", with(body(), {{"prompt", "a house"}})).status, 200);
}

TEST(A1111, RefusesWhatHearthLacks) {
  const Json unit{{"model", "canny"}, {"enabled", true}};
  const std::vector<Refusal> refusals{
      {{{"sampler_name", "Eulr"}}, 400, "sampler_name: the sampler 'Eulr' is unknown; /sdapi/v1/samplers lists them"},
      {{{"sampler_index", "Eulr"}, {"sampler_name", nullptr}},
       400,
       "sampler_index: the sampler 'Eulr' is unknown; /sdapi/v1/samplers lists them"},
      {{{"scheduler", "Cosine"}}, 400, "scheduler: 'Cosine' is unknown; /sdapi/v1/schedulers lists them"},
      {{{"sampler_name", "res_2s"}}, 400, ""},
      {{{"restore_faces", true}}, 400, "restore_faces: true is not supported, expected false"},
      {{{"tiling", true}}, 400, "tiling: true is not supported, expected false"},
      {{{"styles", {"oil"}}}, 400, "styles: [\"oil\"] is not supported, expected []"},
      {{{"save_images", true}}, 400, "save_images: true is not supported, expected false"},
      {{{"script_name", "x/y plot"}}, 400, "script_name: \"x/y plot\" is not supported, expected \"\""},
      {{{"alwayson_scripts", {{"ADetailer", {{"args", {unit}}}}}}}, 422, "alwayson_scripts.ADetailer: the script is not supported"},
      {{{"alwayson_scripts", {{"ControlNet", {{"args", {unit}}}}}}},
       400,
       "alwayson_scripts.ControlNet.args[0].model: the server offers no control networks; hearth serve --control NAME=PATH does"},
      {{{"refiner_checkpoint", "xl"}}, 400, ""},
      {{{"seed_resize_from_w", 512}}, 400, "seed_resize_from_w: 512 is not supported, expected 0"},
      {{{"s_churn", 1}, {"sampler_name", "Euler a"}}, 400, "s_churn: 1 has no effect on the sampler euler_ancestral"},
      {{{"width", 100}}, 400, "width: 100x64, expected sides that are multiples of 8 up to 16384; the nearest size is 104x64"},
      {{{"steps", 0}}, 400, "steps: 0, expected an integer from 1 to 1000"},
      {{{"steps", "many"}}, 400, "steps: a text, expected an integer from 1 to 1000"},
      {{{"cfg_scale", -1}}, 400, ""},
      {{{"prompt", {"a", "b"}}}, 400, "prompt: a list, expected a text"},
      {{{"prompt", "a <lora:oil:1> house"}}, 400, ""},
      {{{"batch_size", 64}, {"n_iter", 2}}, 400, "the request is for 2 batches of 64 images, expected 1 to 64 images"},
      {{{"enable_hr", true}, {"hr_upscaler", "R-ESRGAN 4x+"}}, 400, ""},
      {{{"enable_hr", true}, {"hr_prompt", "another"}}, 400, "hr_prompt: 'another' differs from the first pass, which is not supported"},
      {{{"enable_hr", true}, {"hr_resize_x", 128}, {"hr_resize_y", 256}}, 400, ""},
      {{{"override_settings", {{"sd_model_checkpoint", "xl"}}}}, 404, "sd_model_checkpoint: the model 'xl' does not exist"},
      {{{"override_settings", {{"sd_vae", "a.pt"}}}}, 400, "override_settings.sd_vae: \"a.pt\" is not supported, expected \"Automatic\""},
  };
  for (const Refusal& r : refusals) {
    const Response response = post("txt2img", with(body(), r.more));
    ASSERT_EQ(response.status, r.status) << r.more << response.body.substr(0, 300);
    if (!r.message.empty()) { EXPECT_EQ(response.json().at("detail"), r.message); }
  }
  const std::string image = png_text(pattern(64, 64));
  const std::vector<Refusal> of_images{
      {{{"init_images", nullptr}}, 400, "init_images: is missing, expected a list with one image"},
      {{{"init_images", {image, image}}}, 400, "init_images: 2 images are not supported, expected one"},
      {{{"init_images", {"?"}}}, 400, "init_images[0]: is not base64"},
      {{{"init_images", {3}}}, 400, "init_images[0]: is no text, expected the image in base64"},
      {{{"init_images", {image.substr(0, 200)}}}, 400, ""},
      {{{"init_images", {"http://127.0.0.1/a.png"}}}, 400, ""},
      {{{"resize_mode", 3}}, 400, "resize_mode: 3 (latent upscale) is not supported, expected 0, 1 or 2"},
      {{{"mask", png_text(half_white(32, 32))}}, 400, ""},
      {{{"mask", image}, {"mask_blur_x", 1}}, 400, "mask_blur_x: 1 differs from mask_blur_y, 4, which is not supported"},
      {{{"initial_noise_multiplier", 1.2}}, 400, "initial_noise_multiplier: 1.2 is not supported, expected 1"},
      {{{"denoising_strength", 2}}, 400, ""},
  };
  for (const Refusal& r : of_images) {
    const Response response = post("img2img", with(with(body(), {{"init_images", {image}}}), r.more));
    ASSERT_EQ(response.status, r.status) << r.more.dump().substr(0, 100) << response.body.substr(0, 300);
    if (!r.message.empty()) { EXPECT_EQ(response.json().at("detail"), r.message); }
  }
  // What clients send at its default is accepted.
  EXPECT_EQ(
      post("txt2img", with(body(), {{"styles", Json::array()},
                                    {"eta", 1.0},
                                    {"s_churn", 0},
                                    {"s_tmax", 0},
                                    {"s_tmin", 0},
                                    {"s_noise", 1},
                                    {"alwayson_scripts", {{"ControlNet", {{"args", Json::array()}}}, {"ADetailer", {{"args", {false}}}}}},
                                    {"script_args", Json::array()},
                                    {"seed_resize_from_h", 0},
                                    {"restore_faces", false},
                                    {"hr_upscaler", "Latent"},
                                    {"denoising_strength", 0.7},
                                    {"unknown", 1}}))
          .status,
      200);
}

}  // namespace
}  // namespace hearth::server::test
