// hearth chat and perplexity, as processes, with the demo language model. Chat templates are tested in text/template.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "cli/process.h"
#include "core/files/file.h"

namespace hearth::test {
namespace {

using Json = nlohmann::json;

class ChatTest : public CommandTest {
 protected:
  std::string file(const std::string& name, const std::string& text) const {
    write_file(folder / name, text);
    return folder / name;
  }
  // The command with `input` on its standard input.
  Ended type(const std::string& input, std::vector<std::string> arguments) const {
    const std::string typed = file("typed", input);
    return run(arguments, [typed] { dup2(open(typed.c_str(), O_RDONLY), STDIN_FILENO); });
  }
};

const char* const question = R"([{"role": "user", "content": "  What is hearth? "}])";
const char* const rendered = "<|begin_of_text|><|im_start|>user\nWhat is hearth?<|im_end|>\n<|im_start|>assistant\n";

TEST_F(ChatTest, renders_the_prompt) {
  const std::string messages = file("m.json", question);
  const Ended plain = run({"chat", "--messages", messages, "--render"});
  EXPECT_EQ(plain.code, 0) << plain.err;
  EXPECT_EQ(plain.out, fmt::format("{}\n", rendered));
  const Json output = Json::parse(run({"chat", "--messages", messages, "--render", "--json"}).out);
  EXPECT_EQ(output.size(), 2u);
  EXPECT_EQ(output["prompt"], rendered);
  // One BOS token: that of the template.
  EXPECT_EQ(output["ids"][0], 508);
  EXPECT_NE(output["ids"][1], 508);
  const Json system = Json::parse(run({"chat", "--messages", messages, "--system-prompt", "Be brief.", "--render", "--json"}).out);
  EXPECT_EQ(system["prompt"].get<std::string>().find("<|begin_of_text|><|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\n"), 0u);
}

TEST_F(ChatTest, renders_without_config_or_weights) {
  const std::string messages = file("m.json", question);
  std::filesystem::create_directories(folder / "words");
  for (const char* name : {"tokenizer.json", "tokenizer_config.json"})
    std::filesystem::copy(std::filesystem::path(HEARTH_SOURCE_DIR) / "assets/demo-language-model" / name, folder / "words" / name);
  const Ended words = run({"chat", "-m", "words", "--messages", messages, "--render", "--json"});
  EXPECT_EQ(words.out, run({"chat", "--messages", messages, "--render", "--json"}).out) << words.err;
  EXPECT_EQ(not_one_line(run({"chat", "-m", "words", "--messages", messages}), 1), "");
  EXPECT_EQ(not_one_line(run({"chat", "-m", "nowhere", "--messages", messages, "--render"}), 1), "");
}

TEST_F(ChatTest, replies_as_complete_does_with_the_same_ids) {
  const std::string messages = file("m.json", question);
  const Json shown = Json::parse(run({"chat", "--messages", messages, "--render", "--json"}).out);
  std::string ids;
  for (const Json& id : shown["ids"]) {
    if (!ids.empty()) ids += ',';
    ids += id.dump();
  }
  const Ended answer = run({"chat", "--messages", messages, "--temperature", "0", "--json", "--logprobs", "1"});
  ASSERT_EQ(answer.code, 0) << answer.err;
  Json chat = Json::parse(answer.out),
       complete = Json::parse(run({"complete", "--prompt-token-ids", ids, "--temperature", "0", "--json", "--logprobs", "1"}).out);
  for (Json* j : {&chat, &complete}) j->erase("timings"), j->erase("seed");
  EXPECT_EQ(chat, complete);
  EXPECT_EQ(chat["finish_reason"], "stop");
  EXPECT_EQ(chat["tokens"].back(), 511);  // <|im_end|>
  EXPECT_FALSE(chat["text"].get<std::string>().empty());
}

TEST_F(ChatTest, chats_and_runs_slash_commands) {
  const Ended talk = type(
      "/system Be kind.\nHello\n\n/regen\n/save talk.json\n/clear\n/save cleared.json\n/nonsense\n/load nowhere.json\n/load "
      "talk.json\nWhat is the sea?\n"
      "/save longer.json\n/exit\nnever read\n",
      {"chat", "--temperature", "0"});
  EXPECT_EQ(talk.code, 0) << talk.err;
  EXPECT_NE(talk.err.find("hearth: /nonsense: unknown command; /help lists the commands"), std::string::npos) << talk.err;
  EXPECT_NE(talk.err.find("nowhere.json"), std::string::npos);
  const Json saved = Json::parse(read_file(folder / "talk.json")), cleared = Json::parse(read_file(folder / "cleared.json")),
             longer = Json::parse(read_file(folder / "longer.json"));
  ASSERT_EQ(saved.size(), 3u);
  EXPECT_EQ(saved[0], (Json{{"role", "system"}, {"content", "Be kind."}}));
  EXPECT_EQ(saved[1], (Json{{"role", "user"}, {"content", "Hello"}}));
  const std::string answer = saved[2]["content"];
  EXPECT_EQ(saved[2]["role"], "assistant");
  // Without randomness the second reply is the same.
  EXPECT_EQ(talk.out.find(answer + "\n" + answer + "\n"), 0u) << talk.out;
  ASSERT_EQ(cleared.size(), 1u);
  EXPECT_EQ(cleared[0], saved[0]);
  ASSERT_EQ(longer.size(), 5u);
  EXPECT_EQ(longer[2], saved[2]);
  EXPECT_EQ(longer[3]["content"], "What is the sea?");
  // The second reply took the first message into account, exactly as without a cache.
  const std::string messages = file("m.json", Json(std::vector<Json>(longer.begin(), longer.begin() + 4)).dump());
  EXPECT_EQ(Json::parse(run({"chat", "--messages", messages, "--temperature", "0", "--json", "--max-tokens", "1000"}).out)["text"],
            longer[4]["content"]);
}

// A regression: in place of a closed standard input, the model's own file was read.
TEST_F(ChatTest, ends_without_standard_input) {
  const Ended r = run({"chat"}, [] { close(STDIN_FILENO); });
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out, "");
}

TEST_F(ChatTest, signals_end_it_while_it_waits_for_a_line) {
  int waiting[2];
  ASSERT_EQ(pipe(waiting), 0);
  for (const int signal : {SIGINT, SIGTERM}) {
    Process process(folder, {"chat"}, [&] { dup2(waiting[0], STDIN_FILENO), close(waiting[1]); });
    ASSERT_TRUE(process.wait_for("load "));
    usleep(300000);
    process.send(signal);
    EXPECT_EQ(process.wait().code, 130);
  }
  for (const int end : waiting) close(end);
}

TEST_F(ChatTest, sigterm_ends_it_on_a_terminal) {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
  ASSERT_TRUE(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
  const std::string other_end = ptsname(terminal);
  Process process(folder, {"chat"}, [&] {
    const int end = open(other_end.c_str(), O_RDWR | O_NOCTTY);
    dup2(end, STDIN_FILENO), dup2(end, STDOUT_FILENO);
  });
  std::string shown;
  char buffer[256];
  for (int i = 0; i < 6000 && shown.find("> ") == shown.npos; ++i) {
    const ssize_t n = read(terminal, buffer, sizeof buffer);
    if (n > 0) shown.append(buffer, size_t(n));
    else usleep(10000);
  }
  EXPECT_NE(shown.find("> "), shown.npos) << shown << process.err();
  process.send(SIGTERM);
  const Ended r = process.wait();
  EXPECT_EQ(r.code, 130) << r.signal;
  close(terminal);
}

TEST_F(ChatTest, errors_are_one_line) {
  const auto refusal = [&](const std::string& messages, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {"chat", "--messages", file("m.json", messages)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Ended r = run(arguments);
    EXPECT_NE(r.code, 0) << messages;
    EXPECT_EQ(r.out, "") << messages;
    return r.err;
  };
  EXPECT_NE(refusal(R"([{"role": "pirate", "content": "Arr"}])").find("This model knows the roles system, user and assistant, not pirate"),
            std::string::npos);
  EXPECT_NE(refusal("{}").find("not a JSON list of messages"), std::string::npos);
  EXPECT_NE(refusal("[{\"content\": \"x\"}]").find("a message is not an object with a \"role\""), std::string::npos);
  EXPECT_NE(refusal("[]").find("hearth: "), std::string::npos);
  EXPECT_NE(refusal(question, {"--chat-template-kwargs", "[1"}).find("hearth: "), std::string::npos);
  EXPECT_NE(refusal(question, {"--ctx-size", "3"}).find("at most the context length of 3"), std::string::npos);
  const Ended alone = run({"chat", "--render"});
  EXPECT_EQ(alone.code, 2);
  EXPECT_NE(alone.err.find("require --messages"), std::string::npos);
}

// exp of the mean over windows, from the log-probabilities that complete prints.
TEST_F(ChatTest, perplexity_agrees_with_the_log_probabilities) {
  const std::string text =
      file("t.txt", "The lighthouse stood on a high cliff. Ida was its keeper, and she loved the sea. Ida had a cat.\n");
  const Json output = Json::parse(run({"perplexity", "-f", text, "--json"}).out);
  const Json scored = Json::parse(run({"complete", "--prompt-file", text, "--max-tokens", "0", "--prompt-logprobs", "--json"}).out);
  double sum = 0;
  int64_t count = 0;
  for (const Json& x : scored["prompt_logprobs"])
    if (x.is_number()) sum -= x.get<double>(), ++count;
  EXPECT_EQ(output["scored"], count);
  EXPECT_EQ(output["tokens"], count + 1);
  EXPECT_NEAR(output["perplexity"], std::exp(sum / double(count)), 1e-6 * std::exp(sum / double(count)));
  EXPECT_LT(output["perplexity"], 5);  // what it was trained on

  // Each token is scored once, except the first of a window.
  const int64_t tokens = count + 1;
  const Json windows = Json::parse(run({"perplexity", "-f", text, "--ctx-size", "10", "--json"}).out);
  EXPECT_EQ(windows["scored"], tokens - (tokens + 9) / 10);
  EXPECT_GT(windows["perplexity"], output["perplexity"]);
  const Json sliding = Json::parse(run({"perplexity", "-f", text, "--ctx-size", "10", "--stride", "4", "--json"}).out);
  EXPECT_EQ(sliding["scored"], tokens - 1);
  EXPECT_LT(sliding["perplexity"], windows["perplexity"]);
  EXPECT_NE(run({"perplexity", "-f", text, "--ctx-size", "4", "--stride", "5"}).err.find("stride 5: expected 1 to the context of 4"),
            std::string::npos);
}

}  // namespace
}  // namespace hearth::test
