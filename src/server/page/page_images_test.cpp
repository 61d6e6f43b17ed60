// The images tab in a real browser, with the demo model.
#include <fmt/format.h>

#include "server/page/page_test.h"

namespace hearth::server::test {
namespace {

TEST(PageImages, draws_keeps_and_uses_settings_again) {
  NEEDS_CHROMIUM();
  Browser browser(1280, 800);
  open_images(browser);
  EXPECT_GT(browser.evaluate("document.querySelector('#image-sampler_name').options.length"), 10);
  // The form begins with the model's own settings.
  const Json own = live_server().get("/v1/models/demo-model").json()["defaults"];
  for (const auto& [id, name] : {std::pair("width", "width"), {"height", "height"}, {"steps", "steps"}, {"cfg_scale", "guidance"}})
    EXPECT_EQ(browser.evaluate(fmt::format("Number(document.querySelector('#image-{}').value)", id)), own[name]) << name;
  EXPECT_EQ(own["sampler"], "plms");
  EXPECT_EQ(browser.evaluate("document.querySelector('#image-sampler_name').value"), "PLMS");
  browser.fill("#image-prompt", "a red house on green hills at sunset");
  for (const auto& [id, value] : {std::pair("#image-steps", "12"), {"#image-seed", "4"}}) browser.fill(id, value);
  draw(browser, 1);

  // The picture is the one that the API makes with these settings.
  const Json same = live_server()
                        .post("/sdapi/v1/txt2img", {{"prompt", "a red house on green hills at sunset"},
                                                    {"width", 128},
                                                    {"height", 128},
                                                    {"steps", 12},
                                                    {"seed", 4},
                                                    {"cfg_scale", 7.5},
                                                    {"sampler_name", "PLMS"}})
                        .json();
  const Json shown = pixels(browser, "document.querySelector('.thumb img')");
  EXPECT_EQ(shown, pixels(browser, blob_of(same["images"][0])));
  EXPECT_EQ(shown[0], 128);

  // Kept with its settings after a reload; these fill the form again.
  browser.reload();
  browser.wait_until("document.querySelectorAll('.thumb img').length === 1 && document.querySelector('#draw-button')");
  browser.fill("#image-prompt", "something else");
  browser.fill("#image-seed", "99");
  browser.click(".thumb");
  browser.wait_until("document.querySelector('dialog.picture dl')?.innerText.includes('a red house')");
  EXPECT_NE(browser.evaluate("document.querySelector('dialog.picture dl').innerText").get<std::string>().find("PLMS"), std::string::npos);
  browser.click_text("dialog.picture button", "Use these settings again");
  browser.wait_until("!document.querySelector('dialog')");
  EXPECT_EQ(browser.evaluate("document.querySelector('#image-prompt').value"), "a red house on green hills at sunset");
  EXPECT_EQ(browser.evaluate("document.querySelector('#image-seed').value"), "4");
  browser.click(".thumb");
  browser.click_text("dialog.picture button", "Delete");
  browser.wait_until("!document.querySelector('.thumb') && document.querySelector('#gallery .empty')");
  if (std::getenv("HEARTH_SCREENSHOTS")) {
    browser.resize(1000, 640);
    browser.fill("#image-steps", "50");
    int pictures = 0;
    for (const char* prompt : {"a white sailing boat at sea at night, the moon", "a lighthouse at sea at dusk, clouds",
                               "a red hot-air balloon over snowy mountains"}) {
      browser.fill("#image-prompt", prompt);
      draw(browser, ++pictures);
    }
    browser.evaluate("document.activeElement.blur()");
  }
  keep_screenshot(browser, "serve-images.png");
  EXPECT_TRUE(browser.complaints().empty()) << Json(browser.complaints()).dump();
}

TEST(PageImages, paints_a_mask_and_changes_only_there) {
  NEEDS_CHROMIUM();
  Browser browser(1280, 800);
  open_images(browser);
  browser.fill("#image-prompt", "a red house");
  for (const auto& [id, value] : {std::pair("#image-width", "64"), {"#image-height", "64"}, {"#image-steps", "6"}, {"#image-seed", "1"}})
    browser.fill(id, value);
  draw(browser, 1);
  browser.click(".thumb");
  browser.click_text("dialog.picture button", "Start from this image");
  browser.click("#paint");
  browser.wait_until("document.querySelector('dialog.paint canvas')?.getBoundingClientRect().width > 100");
  browser.evaluate("document.querySelector('#brush').value = 40");  // wider than the 8 pixels of a latent pixel
  browser.drag("dialog.paint canvas", 0.25, 0.3, 0.25, 0.7);        // a stroke in the left half
  browser.click_text("dialog.paint button", "Use the mask");
  browser.wait_until("!document.querySelector('dialog') && document.querySelector('#image-mask_blur')");
  browser.fill("#image-prompt", "the sea at night");
  browser.fill("#image-mask_blur", "0");
  browser.fill("#image-denoising_strength", "1");
  browser.fill("#image-seed", "2");
  draw(browser, 2);
  // The right quarter is as it was, the middle of the stroke is not.
  const Json difference = browser.evaluate(R"js((async () => {
    const pixels = await Promise.all([...document.querySelectorAll('.thumb img')].map(async (image) => {
      await image.decode();
      const x = new OffscreenCanvas(64, 64).getContext('2d', {willReadFrequently: true});
      x.drawImage(image, 0, 0);
      return [x.getImageData(48, 0, 16, 64).data, x.getImageData(15, 24, 2, 16).data];
    }));
    const largest = (k) => pixels[0][k].reduce((most, v, i) => Math.max(most, Math.abs(v - pixels[1][k][i])), 0);
    return [largest(0), largest(1)];
  })())js");
  EXPECT_EQ(difference[0], 0);
  EXPECT_GT(difference[1], 20);
  EXPECT_TRUE(browser.complaints().empty()) << Json(browser.complaints()).dump();
}

TEST(PageImages, shows_previews_stops_and_says_what_is_wrong) {
  NEEDS_CHROMIUM();
  Browser browser(1000, 760);
  open_images(browser);
  browser.fill("#image-prompt", "a red house");
  for (const auto& [id, value] : {std::pair("#image-width", "256"), {"#image-height", "256"}, {"#image-steps", "1000"}})
    browser.fill(id, value);
  browser.click("#draw-button");
  browser.wait_until("document.querySelector('#job .line')?.textContent.includes('step ')");
  browser.wait_until("document.querySelector('#job .preview:not([hidden])')?.naturalWidth > 0");
  browser.press("Escape");  // what there is so far is an image
  browser.wait_until(drawn + " && document.querySelectorAll('.thumb').length === 1");
  EXPECT_TRUE(browser.complaints().empty()) << Json(browser.complaints()).dump();

  // A run that waits behind somebody else's leaves that alone.
  auto other = std::async(std::launch::async, [] {
    return live_server().post("/sdapi/v1/txt2img", {{"width", 256}, {"height", 256}, {"steps", 1000}, {"force_task_id", "other"}});
  });
  wait_for_metric(live_server(), "hearth_image_jobs_running", 1);
  browser.click("#draw-button");
  browser.wait_until("document.querySelector('#job .line')?.textContent === 'Waiting'");
  wait_for_metric(live_server(), "hearth_image_jobs_waiting", 1);
  browser.press("Escape");
  browser.wait_until(drawn);
  wait_for_metric(live_server(), "hearth_image_jobs_waiting", 0);
  EXPECT_EQ(live_server().metric("hearth_image_jobs_running"), 1);
  EXPECT_EQ(live_server().post("/sdapi/v1/interrupt", Json::object()).status, 200);
  EXPECT_EQ(other.get().json()["images"].size(), 1u);
  EXPECT_EQ(browser.evaluate("document.querySelectorAll('.thumb').length"), 1);

  browser.evaluate("(() => { const e = document.querySelector('#image-scheduler'); e.value = 'karras'; e.onchange(); })()");
  browser.click("#draw-button");
  browser.wait_until("document.querySelector('#job .error')?.textContent.includes('plms')");
  EXPECT_EQ(browser.evaluate("document.querySelector('#draw-button').textContent"), "Draw");
}

// Each field of the form is one that the server reads.
TEST(PageImages, offers_only_what_the_server_honors) {
  NEEDS_CHROMIUM();
  Browser browser(900, 700);
  open_images(browser);
  const Json refused = browser.evaluate(R"js((async () => {
    const {imageParameters} = await import('/page/parameters.js'), {requestOf} = await import('/page/image_request.js');
    const canvas = document.createElement('canvas');
    canvas.width = canvas.height = 64;
    canvas.getContext('2d').fillRect(0, 0, 40, 40);
    const start = {prompt: 'a house', negative_prompt: ''};
    for (const p of imageParameters) if (p.start !== undefined) start[p.name] = p.start;
    Object.assign(start, {width: 32, height: 32, steps: 3, sampler_name: 'DPM++ 2M'});
    const image = canvas.toDataURL(), refused = [];
    const masked = {...start, initImage: image, mask: image, inpaint_full_res: true};
    const bases = [start, {...start, enable_hr: true}, {...start, initImage: image}, masked];
    // Larger values take long, and some need a sampler or a model with that option.
    const elsewhere = ['width', 'height', 'steps', 'seed', 'batch_size', 'n_iter', 'hr_scale', 'distilled_cfg_scale', 'image_cfg_scale'];
    let asked = 0;
    for (const [k, base] of bases.entries()) {
      for (const p of imageParameters) {
        if (elsewhere.includes(p.name) || p.name.startsWith('s_')) continue;
        if (p.when ? !p.when(base) : k > 0) continue;
        const choices = p.choices?.map((c) => (Array.isArray(c) ? c[0] : c));
        const values = p.type === 'choice' ? [choices[0], choices.at(-1)]
          : p.type === 'flag' ? [true, undefined] : [p.min ?? 0, Math.min(p.max ?? 1, 1)];
        for (const value of values) {
          ++asked;
          const {path, body} = requestOf({...base, [p.name]: value}, 'demo-model');
          const headers = {'Content-Type': 'application/json'};
          const answer = await fetch('/' + path, {method: 'POST', headers, body: JSON.stringify(body)});
          if (!answer.ok) refused.push([p.name, value, (await answer.json()).detail]);
        }
      }
    }
    return [asked, refused];
  })())js");
  EXPECT_GT(refused[0], 30);
  EXPECT_EQ(refused[1], Json::array());
}

// On a phone, and without a language model. Another model brings its own settings along, but keeps those that were edited.
TEST(PageImages, fit_a_phone_and_follow_the_model) {
  NEEDS_CHROMIUM();
  const hearth::test::TemporaryFolder folder;
  const std::filesystem::path demo = HEARTH_SOURCE_DIR "/assets/demo-model", smaller = folder.path() / "smaller";
  std::filesystem::copy(demo, smaller, std::filesystem::copy_options::recursive);
  Json config = Json::parse(std::ifstream(demo / "unet/config.json"));
  config["sample_size"] = 8;
  std::ofstream(smaller / "unet/config.json") << config;
  ServeOptions options;
  options.models.models = {{"a", demo}, {"b", smaller}};
  const LiveServer server(options);
  Browser browser(360, 740);
  browser.resize(360, 740, true);
  open_page(browser, server);
  browser.wait_until("document.querySelector('#image-width')?.value === '128'");
  EXPECT_EQ(browser.evaluate(overflow), false);
  browser.click("#image-settings > summary");
  browser.fill("#image-steps", "7");
  browser.evaluate("(() => { const e = document.querySelector('#model'); e.value = 'b'; e.onchange(); })()");
  EXPECT_EQ(browser.evaluate("document.querySelector('#image-width').value"), "64");
  EXPECT_EQ(browser.evaluate("document.querySelector('#image-steps').value"), "7");
  browser.click("#tab-chat");
  browser.wait_until("document.querySelector('#log').innerText.includes('No language model')");
  EXPECT_EQ(browser.evaluate("document.querySelector('#message').disabled"), true);
  EXPECT_EQ(browser.evaluate(overflow), false);
  EXPECT_TRUE(browser.complaints().empty()) << Json(browser.complaints()).dump();
}

// A server without an image model says so.
TEST(PageImages, say_where_there_is_no_model) {
  NEEDS_CHROMIUM();
  ServeOptions options;
  options.models.models = {{"text", HEARTH_SOURCE_DIR "/assets/demo-language-model"}};
  const LiveServer server(options);
  Browser browser(900, 700);
  open_page(browser, server);
  browser.click("#tab-images");
  browser.wait_until("document.querySelector('#draw').innerText.includes('No image model')");
  EXPECT_TRUE(browser.complaints().empty()) << Json(browser.complaints()).dump();
}

}  // namespace
}  // namespace hearth::server::test
