// The chat in a real browser.
#include "server/page/page_test.h"

namespace hearth::server::test {
namespace {

// What the server itself answers to these messages, greedily.
std::string greedy(const Json& messages) {
  return live_server()
      .post("/v1/chat/completions", {{"messages", messages}, {"temperature", 0}})
      .json()["choices"][0]["message"]["content"];
}

TEST(PageChat, types_streams_stops_regenerates_edits_and_reloads) {
  NEEDS_CHROMIUM();
  Browser browser(1280, 800);
  open_page(browser);
  EXPECT_EQ(browser.evaluate("document.querySelector('#model').value"), "demo-language-model");

  // Settings apply to the request: a greedy answer is the server's own.
  browser.click("#open-settings");
  browser.fill("#chat-temperature", "0");
  say(browser, "Who are you?");
  const std::string first = browser.evaluate(last_text);
  EXPECT_EQ(first, greedy({{{"role", "user"}, {"content", "Who are you?"}}}));
  EXPECT_NE(browser.evaluate(last + ".querySelector('.figures').textContent").get<std::string>().find(" tokens/s"), std::string::npos);

  // The conversation so far belongs to the request.
  say(browser, "What is the weather?");
  const std::string second = browser.evaluate(last_text);
  EXPECT_EQ(second, greedy({{{"role", "user"}, {"content", "Who are you?"}},
                            {{"role", "assistant"}, {"content", first}},
                            {{"role", "user"}, {"content", "What is the weather?"}}}));

  EXPECT_EQ(browser.evaluate(last + ".querySelector('h2').textContent"), "demo-language-model");
  keep_screenshot(browser, "serve-chat.png");

  browser.click_text(".message:last-child footer button", "Regenerate");
  browser.wait_until(idle + " && " + last + ".querySelector('.versions')?.textContent.includes('2 of 2')");
  EXPECT_EQ(browser.evaluate(last_text), second);

  // An edited question begins a branch, and the other one can be shown again.
  browser.click_text(".message:first-child button", "Edit");
  browser.fill(".message .edit textarea", "Tell me about the sea.");
  browser.press("Enter");
  browser.wait_until("document.querySelectorAll('.message').length === 2 && " + idle);
  EXPECT_EQ(browser.evaluate(last_text), greedy({{{"role", "user"}, {"content", "Tell me about the sea."}}}));
  // What is shown is kept at once, even if the database does not get it before the page ends.
  browser.evaluate("IDBObjectStore.prototype.put = () => { throw new Error('not now'); }");
  browser.click(".message:first-child [aria-label='Earlier version']");
  browser.wait_until("document.querySelectorAll('.message').length === 4");
  EXPECT_EQ(browser.evaluate(last_text), second);

  for (int i = 0; i < 2; ++i) {  // the second time from the database
    browser.reload();
    browser.wait_until(idle + " && document.querySelectorAll('.message').length === 4");
    EXPECT_EQ(browser.evaluate(last_text), second);
    EXPECT_EQ(browser.evaluate("Object.keys(localStorage).filter((name) => name.startsWith('hearth.unsaved.'))"), Json::array());
  }
  EXPECT_EQ(browser.evaluate("document.querySelector('#conversations .current .title').textContent"), "Who are you?");

  // A new conversation, with a system prompt, while the old one stays.
  browser.press("k", ctrl);
  browser.wait_until("document.querySelectorAll('#conversations li').length === 2 && document.querySelector('#log .empty')");
  browser.click("#open-settings");
  browser.fill("#system", "You are a lighthouse.");
  say(browser, "Who are you?");
  EXPECT_EQ(browser.evaluate(last_text),
            greedy({{{"role", "system"}, {"content", "You are a lighthouse."}}, {{"role", "user"}, {"content", "Who are you?"}}}));
  EXPECT_TRUE(browser.complaints().empty()) << Json(browser.complaints()).dump();
}

// A server whose answers take their time: the reference backend computes them.
TEST(PageChat, stops_and_keeps_what_has_come) {
  NEEDS_CHROMIUM();
  ServeOptions options;
  options.models.models = {{"slow", HEARTH_SOURCE_DIR "/assets/demo-language-model"}};
  options.models.language.open.device = "reference";
  const LiveServer server(options);
  Browser browser(1000, 760);
  open_page(browser, server);
  browser.click("#open-settings");
  browser.click("#settings summary");
  browser.fill("#chat-extra", R"({"ignore_eos": true, "max_tokens": 900})");
  const auto begin = [&](const std::string& text) {
    browser.click("#message");
    browser.type(text);
    browser.press("Enter");
    browser.wait_until(last + ".getAttribute('aria-busy') === 'true' && " + last_text + ".length > 10");
  };

  // Esc stops the stream, and the server notices.
  begin("Who are you?");
  const int length = browser.evaluate(last_text + ".length").get<int>();
  browser.wait_until(last_text + ".length > " + std::to_string(length));  // it grows
  EXPECT_EQ(browser.evaluate("document.querySelector('#send').textContent"), "Stop");
  EXPECT_EQ(server.metric("hearth_requests_running"), 1);
  browser.press("Escape");
  browser.wait_until(idle + " && " + last + ".innerText.includes('stopped')");
  wait_for_metric(server, "hearth_requests_running", 0);
  EXPECT_EQ(server.metric("hearth_requests_aborted"), 1);

  // A page that is left in the middle of an answer keeps what has come, and the server notices that, too.
  begin("And who am I?");
  browser.reload();
  browser.wait_until(idle + " && document.querySelectorAll('.message').length === 4");
  EXPECT_GT(browser.evaluate(last_text + ".length"), 10);
  EXPECT_NE(browser.evaluate(last + ".innerText").get<std::string>().find("stopped"), std::string::npos);
  wait_for_metric(server, "hearth_requests_running", 0);
  EXPECT_EQ(server.metric("hearth_requests_aborted"), 2);

  // What the server says is wrong stands in the conversation.
  browser.click("#open-settings");
  browser.fill("#chat-extra", R"({"top_p": 7})");
  browser.click("#message");
  browser.type("Hello");
  browser.press("Enter");
  browser.wait_until(last + ".querySelector('.error:not([hidden])')?.textContent.includes('top_p: 7')");
  ASSERT_EQ(browser.complaints().size(), 1u);  // the console's own line about the status 400
  EXPECT_NE(browser.complaints()[0].find("400"), std::string::npos);
}

TEST(PageChat, shows_reasoning_calls_and_markdown_of_a_kept_conversation) {
  NEEDS_CHROMIUM();
  Browser browser(1100, 820);
  open_page(browser);
  // A file as Export writes it, read as Import reads it.
  browser.evaluate(R"js((async () => {
    const talks = await import('/page/conversations.js'), store = await import('/page/store.js');
    const talk = {...talks.newConversation(), title: 'Lighthouses', named: true};
    const question = talks.add(talk, null, {role: 'user', content: 'How do I compute the range of a light?'});
    talks.add(talk, question.id, {role: 'assistant', model: 'some-model', reasoning: 'The horizon limits it.',
      content: 'The **geographic range** depends on two heights:\n\n' +
        '| height | distance |\n|---:|---:|\n| 9 m | 6.2 nm |\n| 40 m | 13.1 nm |\n\n' +
        '```python\ndef range_nm(light, eye):  # heights in metres\n    return 2.08 * (light ** 0.5 + eye ** 0.5)\n```\n\n' +
        '1. Measure the height of the light\n2. Add that of *your own eye*\n\n> Fog shortens both. <img src=x onerror="window.hacked = 1">',
      tool_calls: [{id: 'a', type: 'function', function: {name: 'tide', arguments: '{"port":"Ushant"}'}}],
      usage: {prompt_tokens: 31, completion_tokens: 128}, rate: 42.3, first: 0.21, finish: 'stop'});
    for (const c of talks.imported(talks.exported([talk]))) await talks.keep(c);
    store.keepSetting('current', '');
  })())js");
  browser.reload();
  browser.click_text("#conversations .title", "Lighthouses");
  browser.wait_until("document.querySelector('.message table')");
  EXPECT_EQ(browser.evaluate("document.querySelectorAll('.message img').length"), 0);
  EXPECT_EQ(browser.evaluate("window.hacked"), Json());
  EXPECT_EQ(browser.evaluate("document.querySelector('.assistant .reasoning').open"), false);
  EXPECT_EQ(browser.evaluate("document.querySelector('.assistant .reasoning > div').textContent"), "The horizon limits it.");
  EXPECT_EQ(browser.evaluate("document.querySelector('.call').innerText.replace(/\\s+/g, ' ')"), "Calls tide { \"port\": \"Ushant\" }");
  browser.click("figure.code .copy");
  browser.wait_until("document.querySelector('figure.code .copy').textContent === 'Copied'");
  EXPECT_EQ(browser.evaluate("navigator.clipboard.readText()"),
            "def range_nm(light, eye):  # heights in metres\n    return 2.08 * (light ** 0.5 + eye ** 0.5)");
  EXPECT_TRUE(browser.complaints().empty()) << Json(browser.complaints()).dump();
}

TEST(PageChat, fits_a_phone_and_follows_the_theme) {
  NEEDS_CHROMIUM();
  Browser browser(360, 740);
  browser.resize(360, 740, true);
  open_page(browser);
  say(browser, "Who are you?");
  EXPECT_EQ(browser.evaluate(overflow), false);
  EXPECT_EQ(browser.evaluate("document.querySelector('#list').getBoundingClientRect().right <= 0"), true);
  browser.click("#open-list");
  browser.wait_until("document.querySelector('#list').getBoundingClientRect().left === 0");
  browser.click("#new-chat");
  browser.wait_until("document.querySelector('#list').getBoundingClientRect().right <= 0 && document.querySelector('#log .empty')");
  browser.click("#open-settings");
  browser.wait_until("document.querySelector('#settings').getBoundingClientRect().width > 300");
  EXPECT_EQ(browser.evaluate(overflow), false);
  browser.click("#open-settings");

  const std::string ground = "getComputedStyle(document.body).backgroundColor";
  browser.prefer("prefers-color-scheme", "light");
  const Json light = browser.evaluate(ground);
  browser.prefer("prefers-color-scheme", "dark");
  const Json dark = browser.evaluate(ground);
  EXPECT_NE(light, dark);
  browser.click("#theme");  // always light
  EXPECT_EQ(browser.evaluate(ground), light);
  browser.prefer("prefers-color-scheme", "light");
  browser.click("#theme");  // always dark
  EXPECT_EQ(browser.evaluate(ground), dark);
  browser.reload();
  EXPECT_EQ(browser.evaluate(ground), dark);
  EXPECT_TRUE(browser.complaints().empty()) << Json(browser.complaints()).dump();
}

TEST(PageChat, asks_for_the_key) {
  NEEDS_CHROMIUM();
  ServeOptions options;
  options.http.api_keys = {"secret"};
  const LiveServer server(options);
  Browser browser(900, 700);
  browser.open(server.url() + "/");
  for (const char* key : {"wrong", "secret"}) {
    browser.wait_until("document.querySelector('dialog[open] input[name=key]')?.value === ''");
    browser.fill("dialog input[name=key]", key);
    browser.press("Enter");
  }
  browser.wait_until("document.documentElement.dataset.ready === ''");
  say(browser, "Who are you?");
  EXPECT_GT(browser.evaluate(last_text + ".length"), 3);
  EXPECT_EQ(browser.evaluate("sessionStorage.getItem('hearth.key') + localStorage.getItem('hearth.key')"), "secretnull");
}

// Each field of the form is one that the server reads, at its smallest, largest and an ordinary value.
TEST(PageChat, offers_only_what_the_server_honors) {
  NEEDS_CHROMIUM();
  Browser browser(900, 700);
  open_page(browser);
  const Json refused = browser.evaluate(R"js((async () => {
    const {textParameters} = await import('/page/parameters.js');
    const refused = [];
    let asked = 0;
    for (const p of textParameters) {
      const values = p.type === 'choice' ? p.choices.map((c) => [c].flat()[0]) : p.type === 'flag' ? [true]
        : p.type === 'lines' ? [['x\ny']]
        : p.type === 'number' ? [p.min, p.max, p.min + 1].filter((v) => Number.isFinite(v) && !(v > p.max)) : [];
      for (const value of values) {
        ++asked;
        const answer = await fetch('/v1/chat/completions', {method: 'POST', headers: {'Content-Type': 'application/json'},
          body: JSON.stringify({messages: [{role: 'user', content: 'Hi'}], max_tokens: 1, [p.name]: value})});
        if (!answer.ok) refused.push([p.name, value, await answer.text()]);
      }
    }
    return [asked, refused];
  })())js");
  EXPECT_GT(refused[0], 50);
  EXPECT_EQ(refused[1], Json::array());
}

}  // namespace
}  // namespace hearth::server::test
