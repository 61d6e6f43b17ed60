// Adapters on the images tab, with the tiny checkpoints of the goldens.
#include "server/api/base64.h"
#include "server/page/page_test.h"

namespace hearth::server::test {
namespace {

namespace fs = std::filesystem;

std::string picture() {
  Image image{.width = 64, .height = 64};
  for (int64_t i = 0; i < 64 * 64 * 3; ++i) image.rgb.push_back(uint8_t(i * 37 % 251));
  return base64(image.encode("a.png"));
}

void give_file(Browser& browser, const std::string& input) {
  browser.evaluate("(() => { const files = new DataTransfer(), input = document.querySelector('#" + input +
                   "'); files.items.add(new File([" + blob_of(picture()) +
                   "], 'a.png', {type: 'image/png'})); input.files = files.files; input.onchange(); })()");
}

void give_image(Browser& browser, int unit) {
  give_file(browser, "unit-" + std::to_string(unit) + "-file");
  browser.wait_until("document.querySelectorAll('.unit img').length === " + std::to_string(unit + 1));
}

void choose(Browser& browser, const std::string& id, const std::string& value) {
  browser.evaluate("(() => { const e = document.querySelector('#" + id + "'); e.value = '" + value + "'; e.onchange(); })()");
}

TEST(PageAdapters, steer_an_image) {
  NEEDS_CHROMIUM();
  const fs::path golden = HEARTH_SOURCE_DIR "/tests/e2e/golden";
  const hearth::test::TemporaryFolder loras;
  std::ofstream(loras / "oil paint.safetensors") << "never read";
  ServeOptions options;
  options.models.models = {{"sd", golden / "pndm"}};
  options.models.image.components["image_encoder"].path = golden / "image_prompts/encoder";
  options.models.adapters = {.controls = {{"canny", golden / "control/canny"}},
                             .image_prompts = {{"plain", golden / "image_prompts/plain.safetensors"}},
                             .lora_folder = loras.path()};
  const LiveServer server(options);
  Browser browser(1280, 900);
  open_images(browser, server);
  browser.fill("#image-prompt", "a house");
  for (const auto& [id, value] : {std::pair("#image-width", "64"), {"#image-height", "64"}, {"#image-steps", "4"}, {"#image-seed", "3"}})
    browser.fill(id, value);
  draw(browser, 1);

  browser.click("#adapters > summary");
  browser.click("#add-unit");
  browser.wait_until("document.querySelectorAll('.unit').length === 1");
  give_image(browser, 0);
  choose(browser, "unit-0-module", "invert");
  browser.fill("#unit-0-weight", "0.8");
  browser.click("#add-unit");
  choose(browser, "unit-1-model", "plain");
  browser.wait_until("document.querySelectorAll('.unit legend')[1]?.textContent === 'Image as prompt'");
  EXPECT_EQ(browser.evaluate("document.querySelectorAll('#unit-1-module, #unit-1-guidance_start').length"), 0);
  give_image(browser, 1);
  give_file(browser, "unit-1-mask");
  browser.wait_until("[...document.querySelectorAll('.unit label')].some((e) => e.textContent === 'Another mask')");
  EXPECT_EQ(browser.evaluate("document.querySelectorAll('#unit-1-face, #unit-1-shortcut').length"), 2);
  EXPECT_EQ(browser.evaluate("document.querySelector('#unit-0-face')"), nullptr);
  EXPECT_EQ(browser.evaluate(overflow), false);
  draw(browser, 2);
  const Json units{{{"model", "canny"}, {"module", "invert"}, {"weight", 0.8}, {"image", picture()}},
                   {{"model", "plain"}, {"image", picture()}, {"effective_region_mask", picture()}}};
  const Json defaults = server.get("/v1/models/sd").json()["defaults"];
  const Json same =
      server
          .post("/sdapi/v1/txt2img", {{"prompt", "a house"},
                                      {"width", 64},
                                      {"height", 64},
                                      {"steps", 4},
                                      {"seed", 3},
                                      {"cfg_scale", defaults["guidance"]},
                                      {"sampler_name", browser.evaluate("document.querySelector('#image-sampler_name').value")},
                                      {"alwayson_scripts", {{"controlnet", {{"args", units}}}}}})
          .json();
  const Json shown = pixels(browser, "document.querySelector('.thumb img')");
  EXPECT_EQ(shown, pixels(browser, blob_of(same["images"][0])));
  EXPECT_NE(shown, pixels(browser, "document.querySelectorAll('.thumb img')[1]"));

  // Without them, it is the first one again.
  for (int i = 0; i < 2; ++i) browser.click_text(".unit button", "Remove");
  browser.wait_until("!document.querySelector('.unit')");
  draw(browser, 3);
  EXPECT_EQ(pixels(browser, "document.querySelector('.thumb img')"), pixels(browser, "document.querySelectorAll('.thumb img')[2]"));

  choose(browser, "lora", "oil paint");
  browser.wait_until("document.querySelector('#image-prompt').value === 'a house <lora:oil paint:1>'");
  EXPECT_TRUE(browser.complaints().empty()) << Json(browser.complaints()).dump();
}

// A server without adapters shows nothing of them.
TEST(PageAdapters, are_absent_where_there_are_none) {
  NEEDS_CHROMIUM();
  Browser browser(900, 700);
  open_images(browser);
  EXPECT_EQ(browser.evaluate("document.querySelector('#adapters')"), nullptr);
}

}  // namespace
}  // namespace hearth::server::test
