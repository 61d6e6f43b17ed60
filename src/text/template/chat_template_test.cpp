// Published-style templates × conversations against apply_chat_template of the reference; folders; bad requests.
#include "text/template/chat_template.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "core/files/file.h"
#include "hearth/error.h"
#include "support/golden.h"
#include "text/template/failure.h"

namespace hearth::text {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using jinja::Failure;
using jinja::TemplateError;

fs::path golden_folder() { return test::folder_of(__FILE__) / "golden"; }

jinja::LocalTime fixed_time() {
  jinja::LocalTime local;
  local.time.tm_year = 2024 - 1900;
  local.time.tm_mon = 6;
  local.time.tm_mday = 26;
  return local;
}

ChatRequest request_of(const Json& json) {
  ChatRequest request{.messages = json["messages"].dump(), .now = fixed_time};
  if (json.contains("tools")) request.tools = json["tools"].dump();
  if (json.contains("documents")) request.documents = json["documents"].dump();
  if (json.contains("variables")) request.variables = json["variables"].dump();
  request.add_generation_prompt = json.value("add_generation_prompt", true);
  request.continue_final_message = json.value("continue_final_message", false);
  return request;
}

// Text by text; of errors the kind, and the message where it is the template's or Jinja2's.
void compare(const ChatTemplate& chat, const ChatRequest& request, const Json& expected, const std::string& where) {
  try {
    const std::string text = chat.render(request);
    EXPECT_EQ(Json(text), expected) << where;
  } catch (const TemplateError& e) {
    ASSERT_TRUE(expected.is_array()) << where << ": " << e.what();
    const bool raised = e.kind == Failure::raised, undefined = e.kind == Failure::undefined;
    const std::string kind = raised ? "raised" : undefined ? "undefined" : e.kind == Failure::type ? "type" : "other";
    EXPECT_EQ(kind, expected[0]) << where << ": " << e.what();
    EXPECT_TRUE((!raised && !undefined) || e.message == expected[1]) << where << ": " << e.message << " / " << expected[1];
  } catch (const UsageError& e) {
    ASSERT_TRUE(expected.is_array() && expected[0] == "value") << where << ": " << e.what();
    EXPECT_NE(expected[1].get<std::string>().find("continue_final_message"), std::string::npos) << where;
  }
}

TEST(ChatTemplate, equals_the_reference) {
  std::ifstream file(golden_folder() / "chats.json");
  const Json golden = Json::parse(file);
  std::map<std::string, std::string> tokens;
  for (const auto& [name, token] : golden["tokens"].items()) tokens[name] = token;
  size_t texts = 0;
  for (const Json& row : golden["cases"]) {
    const std::string name = row[0];
    const ChatTemplate chat({{"default", read_file(golden_folder() / "templates" / (name + ".jinja"))}}, tokens, name);
    for (const auto& [conversation, expected] : row[1].items()) {
      compare(chat, request_of(golden["requests"][conversation]), expected, name + " × " + conversation);
      texts += expected.is_string();
    }
  }
  EXPECT_GE(golden["cases"].size(), 25u);
  EXPECT_GE(golden["requests"].size(), 15u);
  EXPECT_GT(texts, 500u);
}

std::string render(const std::string& source, ChatRequest request = {.messages = R"([{"role":"user","content":"hi"}])"}) {
  return ChatTemplate({{"default", source}}, {{"bos_token", "<s>"}}, "test").render(request);
}

TEST(ChatTemplate, variables_are_those_of_the_reference) {
  const std::string all =
      "{{ messages|tojson }} {{ tools }} {{ documents }} {{ add_generation_prompt }} {{ continue_final_message is defined }} {{ bos_token "
      "}}{{ eos_token is defined }}";
  EXPECT_EQ(render(all), R"([{"role": "user", "content": "hi"}] None None False False <s>False)");
  EXPECT_EQ(render("{{ bos_token }} {{ x.b }}", {.messages = R"([{}])", .variables = R"({"bos_token":"over","x":{"b":[1,null]}})"}),
            "over [1, None]");
  EXPECT_EQ(render("{{ messages }}", {.messages = R"([{"b":1,"a":{"z":2,"y":3},"b":4}])"}), "[{'b': 4, 'a': {'z': 2, 'y': 3}}]");
}

std::string complaint(const ChatRequest& request) {
  try {
    return "rendered " + render("x", request);
  } catch (const UsageError& e) {
    EXPECT_EQ(std::string_view(e.what()).find('\n'), std::string_view::npos);
    return e.what();
  }
}

TEST(ChatTemplate, bad_requests_are_one_line) {
  EXPECT_EQ(complaint({.messages = "[{\"role\": \"user\""}), "messages: no JSON at byte 17, near '\"user\"'");
  EXPECT_EQ(complaint({.messages = ""}), "messages: no JSON at byte 1, near ''");
  EXPECT_EQ(complaint({.messages = "{}"}), "messages: a value of type dict, expected a list of objects");
  EXPECT_EQ(complaint({.messages = "[]"}), "messages: an empty list, expected at least one message");
  EXPECT_EQ(complaint({.messages = "[{}, \"x\"]"}), "messages: element 1 is of type str, expected an object");
  EXPECT_EQ(complaint({.messages = "[{\"n\": " + std::string(5000, '7') + "}]"}),
            "messages: " + std::string(40, '7') + "… is no number that fits");
  EXPECT_EQ(complaint({.messages = std::string(200, '[')}), "messages: more than 100 levels");
  EXPECT_EQ(complaint({.messages = "[{\"a\": \"\xff\"}]"}).substr(0, 26), "messages: no JSON at byte ");
  EXPECT_EQ(complaint({.messages = "[{}]", .tools = "{}"}), "tools: a value of type dict, expected a list of objects");
  EXPECT_EQ(complaint({.messages = "[{}]", .documents = "[1]"}), "documents: element 0 is of type int, expected an object");
  EXPECT_EQ(complaint({.messages = "[{}]", .variables = "[]"}), "variables: a value of type list, expected an object");
  EXPECT_EQ(complaint({.messages = "[{}]", .variables = "{\"tools\": 1}"}), "variables: 'tools' is given in another way");
  EXPECT_EQ(complaint({.messages = "[{}]", .name = "other"}), "test: no chat template named 'other'; there is 'default'");
  EXPECT_EQ(complaint({.messages = "[{}]", .continue_final_message = true}), "messages: the last one has no text to continue");
  EXPECT_EQ(complaint({.messages = "[{\"content\": \"a\"}]", .continue_final_message = true}),
            "messages: the template does not print the last one as it is, so it cannot be continued");
  EXPECT_EQ(complaint({.messages = "[{}]", .add_generation_prompt = true, .continue_final_message = true}).substr(0, 22),
            "continue_final_message");
}

TEST(ChatTemplate, broken_templates_fail_when_rendered) {
  const ChatTemplate chat({{"default", "{{ 'fine' }}"}, {"rag", "{% if %}"}, {"old", "{% include 'x' %}"}}, {}, "model");
  EXPECT_EQ(chat.render({.messages = "[{}]"}), "fine");
  EXPECT_THROW(chat.render({.messages = "[{}]", .name = "rag"}), TemplateError);
  EXPECT_THROW(chat.render({.messages = "[{}]", .name = "old"}), UnsupportedError);
}

class Folder : public testing::Test {
 protected:
  void SetUp() override {
    path = fs::path(testing::TempDir()) /
           ("hearth_chat_" + std::to_string(getpid()) + testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(path);
  }
  void TearDown() override { fs::remove_all(path); }
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((path / name).parent_path());
    std::ofstream(path / name) << text;
  }
  std::string rendered(ChatRequest request = {.messages = "[{}]"}) const { return ChatTemplate::load(path).render(request); }
  std::string refusal() const {
    try {
      return "loaded: " + rendered();
    } catch (const WeightError& e) { return e.what(); }
  }

  fs::path path;
};

TEST_F(Folder, files_win_in_this_order) {
  EXPECT_NE(refusal().find("no chat template"), std::string::npos);
  write("tokenizer_config.json", R"({"chat_template": null})");
  EXPECT_NE(refusal().find("no chat template"), std::string::npos);
  write("tokenizer_config.json", R"({"chat_template": "config"})");
  EXPECT_EQ(rendered(), "config");
  write("chat_template.json", R"({"chat_template": "json"})");
  EXPECT_EQ(rendered(), "json");
  write("chat_template.jinja", "jinja");
  EXPECT_EQ(rendered(), "jinja");
  write("additional_chat_templates/rag.jinja", "rag");
  EXPECT_EQ(rendered(), "jinja");
  EXPECT_EQ(rendered({.messages = "[{}]", .name = "rag"}), "rag");
}

TEST_F(Folder, named_templates) {
  write("tokenizer_config.json", R"({"chat_template": [{"name": "default", "template": "d"}, {"name": "tool_use", "template": "t"}]})");
  EXPECT_EQ(rendered(), "d");
  EXPECT_EQ(rendered({.messages = "[{}]", .tools = "[]"}), "t");
  EXPECT_EQ(rendered({.messages = "[{}]", .tools = "[]", .name = "default"}), "d");
  write("tokenizer_config.json", R"({"chat_template": [{"name": "rag", "template": "r"}]})");
  EXPECT_THROW(rendered(), UsageError);
  write("tokenizer_config.json", R"({"chat_template": [{"name": "rag"}]})");
  EXPECT_NE(refusal().find("chat_template has an entry"), std::string::npos);
  write("tokenizer_config.json", R"({"chat_template": {"default": "d", "tool_use": "t"}})");
  EXPECT_EQ(rendered(), "d");
  EXPECT_EQ(rendered({.messages = "[{}]", .tools = "[]"}), "t");
  write("tokenizer_config.json", R"({"chat_template": {"default": ["d"]}})");
  EXPECT_NE(refusal().find("chat_template has an entry [\"d\"], expected a text"), std::string::npos);
  write("tokenizer_config.json", R"({"chat_template": 5})");
  EXPECT_NE(refusal().find("chat_template is 5"), std::string::npos);
}

TEST_F(Folder, special_tokens) {
  write("chat_template.jinja",
        "{{ bos_token }}|{{ eos_token }}|{{ pad_token }}|{{ unk_token }}|{{ additional_special_tokens }}|{{ image_token }}");
  EXPECT_EQ(rendered(), "|||||");
  write("tokenizer_config.json", R"({"tokenizer_class": "LlamaTokenizer"})");
  EXPECT_EQ(rendered(), "<s>|</s>||<unk>||");
  write(
      "tokenizer_config.json",
      R"({"tokenizer_class": "LlamaTokenizerFast", "bos_token": null, "eos_token": {"__type": "AddedToken", "content": "<end>"}, "pad_token": "",
            "additional_special_tokens": ["<a>", {"content": "<b>"}], "extra_special_tokens": {"image_token": "<img>"}})");
  EXPECT_EQ(rendered(), "|<end>||<unk>|['<a>', '<b>']|<img>");
  write("special_tokens_map.json", R"({"eos_token": "<map>", "additional_special_tokens": ["<b>", "<c>"]})");
  EXPECT_EQ(rendered(), "|<map>||<unk>|['<a>', '<b>', '<c>']|<img>");
  write("tokenizer_config.json", R"({"tokenizer_class": "Qwen2Tokenizer", "added_tokens_decoder": {}})");
  EXPECT_EQ(rendered(), "|<|endoftext|>|<|endoftext|>|<|endoftext|>||");
  write("tokenizer_config.json", R"({"bos_token": 5})");
  EXPECT_NE(refusal().find("bos_token: a token is 5"), std::string::npos);
}

}  // namespace
}  // namespace hearth::text
