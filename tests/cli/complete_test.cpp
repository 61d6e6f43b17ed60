// hearth complete with the demo language model.
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/process.h"
#include "core/files/file.h"
#include "core/files/json.h"
#include "hearth/language.h"

namespace hearth::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using Arguments = std::vector<std::string>;

const std::string demo = std::string(HEARTH_SOURCE_DIR) + "/assets/demo-language-model";
const std::string story = "The lighthouse stood";

const Json& golden() {
  static const Json all = load_json(HEARTH_SOURCE_DIR "/tests/e2e/language_golden/complete.json");
  return all;
}

std::string bytes_of_hex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2) bytes += char(std::stoi(hex.substr(i, 2), nullptr, 16));
  return bytes;
}

std::vector<std::string> keys_of(const Json& json) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  return keys;
}

// The error of a failed run, after its progress lines.
std::string last_line(const Ended& run, int code) {
  EXPECT_EQ(run.code, code) << run.err;
  EXPECT_EQ(run.out, "");
  const std::string line = run.err.substr(run.err.rfind('\n', run.err.size() - 2) + 1);
  EXPECT_EQ(line.rfind("hearth: ", 0), 0u) << run.err;
  return line;
}

class CompleteTest : public CommandTest {
 protected:
  // Greedy, 12 tokens, with the demo model, unless `more` overrides it.
  Ended go_on(const Arguments& more, const std::function<void()>& prepare = {}) const {
    Arguments arguments = {"complete"};
    const auto has = [&](const char* flag) { return std::find(more.begin(), more.end(), flag) != more.end(); };
    if (!has("--prompt") && !has("-p") && !has("--prompt-file") && !has("--prompt-token-ids") && !prepare)
      arguments.insert(arguments.end(), {"--prompt", story});
    const Arguments ours[] = {{"--model", demo}, {"--max-tokens", "12"}, {"--temperature", "0"}, {"--threads", "1"}};
    for (const Arguments& flag : ours)
      if (!has(flag[0].c_str())) arguments.insert(arguments.end(), flag.begin(), flag.end());
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments, prepare);
  }
  Json json(Arguments more, const std::function<void()>& prepare = {}) const {
    more.push_back("--json");
    const Ended r = go_on(more, prepare);
    EXPECT_EQ(r.code, 0) << r.err;
    if (r.code != 0) return {};
    EXPECT_EQ(std::count(r.out.begin(), r.out.end(), '\n'), 1) << r.out;
    return Json::parse(r.out);
  }
  // The same without what differs from run to run.
  Json answer(const Arguments& more, const std::function<void()>& prepare = {}) const {
    Json all = json(more, prepare);
    all.erase("timings");
    all.erase("seed");
    return all;
  }
  // For go_on: the file as standard input.
  std::function<void()> input(const std::string& file) const {
    return [path = (folder / file).string()] { ::dup2(::open(path.c_str(), O_RDONLY), STDIN_FILENO); };
  }
  void write(const std::string& file, const std::string& bytes) const { std::ofstream(folder / file, std::ios::binary) << bytes; }
};

TEST_F(CompleteTest, text_goes_to_standard_output) {
  const Json& c = golden().at("greedy").at("story");
  const Ended r = go_on({"--max-tokens", "256", "--ignore-eos"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out, c.at("text").get<std::string>() + "\n");
  const Ended ended = go_on({"--max-tokens", "256"});
  EXPECT_EQ(ended.out, c.at("ended").at("text").get<std::string>() + "\n");
  EXPECT_EQ(files(), Arguments{});
}

TEST_F(CompleteTest, without_a_model_it_uses_the_demo_model_and_says_so) {
  const Ended r = run({"complete", "-p", story, "--max-tokens", "12", "--temperature", "0"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out, go_on({}).out);
  EXPECT_EQ(r.err.rfind("hearth: no --model: using the built-in demo model, a toy", 0), 0u) << r.err;
  EXPECT_EQ(go_on({}).err.find("demo model"), std::string::npos);
}

TEST_F(CompleteTest, memory_is_logged_before_loading) {
  const std::string err = go_on({}).err;
  EXPECT_EQ(err.rfind("hearth: memory: 2.5 MB of memory-mapped weights, 33 kB of KV cache for a context of 17 tokens\n", 0), 0u) << err;
  EXPECT_NE(err.find("\nload "), err.npos) << err;
}

TEST_F(CompleteTest, json_has_the_requested_keys) {
  const Json& c = golden().at("greedy").at("story");
  const Arguments plain = {"finish_reason", "prompt_tokens", "seed", "text", "timings", "tokens", "warnings"};
  const Json bare = json({});
  EXPECT_EQ(keys_of(bare), plain);
  EXPECT_EQ(bare["prompt_tokens"], c.at("prompt_tokens"));
  EXPECT_EQ(bare["tokens"], Json(std::vector<int>(c.at("tokens").begin(), c.at("tokens").begin() + 12)));
  EXPECT_EQ(c.at("text").get<std::string>().find(bare["text"].get<std::string>()), 0u);
  EXPECT_EQ(bare["finish_reason"], "length");
  EXPECT_EQ(bare["warnings"], Json::array());
  for (const auto& [name, value] : bare["timings"].items()) {
    EXPECT_TRUE(value.is_number()) << name;
    EXPECT_GE(value, 0) << name;
  }
  EXPECT_GT(bare["timings"]["decode_tokens_per_second"], 0);

  const Json scored = json({"--logprobs", "2"});
  Arguments more = plain;
  more.insert(std::find(more.begin(), more.end(), "prompt_tokens"), "logprobs");
  EXPECT_EQ(keys_of(scored), more);
  ASSERT_EQ(scored["logprobs"].size(), 12u);
  for (size_t i = 0; i < 12; ++i) {
    const Json& made = scored["logprobs"][i];
    EXPECT_EQ(keys_of(made), (Arguments{"logprob", "token", "top"}));
    EXPECT_EQ(made["token"], scored["tokens"][i]);
    EXPECT_NEAR(made["logprob"], c.at("logprobs")[i].at("logprob"), 1e-4);
    ASSERT_EQ(made["top"].size(), 2u);
    EXPECT_EQ(made["top"][0], Json({made["token"], made["logprob"]}));
    EXPECT_EQ(made["top"][1][0], c.at("logprobs")[i].at("top")[1][0]);
  }
  EXPECT_EQ(json({"--logprobs", "0"})["logprobs"][0]["top"], Json::array());

  const Json prompt = json({"--prompt-logprobs", "--max-tokens", "0"});
  Arguments with_prompt = plain;
  with_prompt.insert(std::find(with_prompt.begin(), with_prompt.end(), "prompt_tokens"), "prompt_logprobs");
  EXPECT_EQ(keys_of(prompt), with_prompt);
  EXPECT_EQ(prompt["tokens"], Json::array());
  EXPECT_EQ(prompt["text"], "");
  ASSERT_EQ(prompt["prompt_logprobs"].size(), prompt["prompt_tokens"].size());
  EXPECT_TRUE(prompt["prompt_logprobs"][0].is_null());
  for (size_t i = 1; i < prompt["prompt_logprobs"].size(); ++i)
    EXPECT_NEAR(prompt["prompt_logprobs"][i], c.at("prompt_logprobs")[i], 1e-4) << i;
}

// All four sources of a prompt, byte for byte.
TEST_F(CompleteTest, the_prompt_comes_from_flags_files_or_standard_input) {
  for (const Json& c : golden().at("texts")) {
    const std::string bytes = bytes_of_hex(c.at("bytes"));
    write("prompt.txt", bytes);
    const Json from_file = answer({"--prompt-file", "prompt.txt", "--ignore-eos", "--max-tokens", "16"});
    EXPECT_EQ(from_file["prompt_tokens"], c.at("prompt_tokens")) << c.at("name");
    EXPECT_EQ(from_file["tokens"], c.at("tokens")) << c.at("name");
    EXPECT_EQ(from_file["text"], c.at("text")) << c.at("name");
    EXPECT_EQ(answer({"--ignore-eos", "--max-tokens", "16"}, input("prompt.txt")), from_file) << c.at("name");
    EXPECT_EQ(answer({"--prompt-token-ids", fmt::format("{}", fmt::join(c.at("prompt_tokens").get<std::vector<int>>(), ",")),
                      "--ignore-eos", "--max-tokens", "16"}),
              from_file)
        << c.at("name");
    if (bytes.find('\0') == bytes.npos) {  // arguments cannot contain it
      EXPECT_EQ(answer({"--prompt", bytes, "--ignore-eos", "--max-tokens", "16"}), from_file) << c.at("name");
    }
    EXPECT_EQ(answer({"--prompt-file", "prompt.txt", "--no-special-tokens", "--max-tokens", "0"})["prompt_tokens"], c.at("plain_tokens"));
  }
}

TEST_F(CompleteTest, a_long_prompt_of_ids) {
  const Json& c = golden().at("long");
  const std::string ids = fmt::format("{}", fmt::join(c.at("prompt_tokens").get<std::vector<int>>(), ","));
  const Json made = json({"--prompt-token-ids", ids, "--max-tokens", "64", "--ignore-eos"});
  EXPECT_EQ(made["tokens"], c.at("tokens"));
  EXPECT_EQ(made["text"], c.at("text"));
}

TEST_F(CompleteTest, errors_are_one_line) {
  const auto refused = [&](const Arguments& arguments, int code, const Arguments& parts) {
    const Ended r = go_on(arguments);
    const std::string error = last_line(r, code);
    size_t at = 0;
    for (const std::string& part : parts) {
      at = error.find(part, at);
      ASSERT_NE(at, std::string::npos) << "no '" << part << "' in: " << r.err << fmt::format("{}", fmt::join(arguments, " ")).substr(0, 99);
    }
  };
  const size_t tokens = golden().at("greedy").at("story").at("prompt_tokens").size();
  refused({"--model", "nowhere"}, 1, {"nowhere", "no such file or folder"});
  refused({"--model", std::string(HEARTH_SOURCE_DIR) + "/assets/demo-model"}, 1, {"config.json"});
  refused({"--ctx-size", "2"}, 2, {fmt::format("{} tokens", tokens), "context length of 2"});
  refused({"--temperature", "-1"}, 2, {"temperature", "-1"});
  refused({"--model", "no-such-folder", "--temperature", "-1"}, 2, {"temperature", "-1"});  // before anything is opened
  refused({"--temperature", "warm"}, 2, {"--temperature", "'warm'"});
  refused({"--max-tokens", "-1"}, 2, {"-1"});
  refused({"--threads", "0"}, 2, {"--threads", "0"});
  refused({"--prompt-token-ids", "1,512"}, 2, {"512", "vocabulary of 512"});
  refused({"--prompt-token-ids", "1,x"}, 2, {"--prompt-token-ids", "x"});
  refused({"--prompt-token-ids", ""}, 2, {"no token"});
  refused({"--prompt", "", "--no-special-tokens"}, 2, {"no token"});
  refused({"--prompt", "a", "--prompt-token-ids", "1"}, 2, {"exclude each other"});
  refused({"--prompt-file", "none.txt"}, 1, {"none.txt"});
  refused({"--prompt-file", "."}, 1, {"."});
  refused({"--logprobs", "2"}, 2, {"--json"});
  refused({"--prompt-logprobs"}, 2, {"--json"});
  refused({"--logprobs", "-1", "--json"}, 2, {"--logprobs", "-1"});
  refused({"--stop", ""}, 2, {"stop"});
  refused({"--kv-cache-type", "q4_0"}, 2, {"--kv-cache-type", "q4_0"});
  refused({"--logit-bias", "5"}, 2, {"--logit-bias", "'5'"});
  refused({"--logit-bias", "600:1"}, 2, {"logit_bias", "600", "vocabulary of 512"});
  refused({"--stop-token-ids", "3,512"}, 2, {"stop_ids", "512", "vocabulary of 512"});
  refused({"--sampling-order", "top_k,top_k"}, 2, {"--sampling-order", "top_k"});
  refused({"--dry-multiplier", "1", "--dry-sequence-breaker", ""}, 2, {"--dry-sequence-breaker", "empty"});
  refused({"--mirostat", "1"}, 2, {"mirostat", "1"});
  refused({"--prompt", std::string(100000, 'a')}, 2, {"the prompt has ", " tokens, expected at most the context length of 1024"});
  write("line.txt", std::string(1 << 20, 'x'));
  refused({"--prompt-file", "line.txt"}, 2, {"the prompt has ", " tokens, expected at most the context length of 1024"});
}

TEST_F(CompleteTest, a_broken_model_is_one_line) {
  const auto refused = [&](const std::function<void()>& damage, const Arguments& parts) {
    fs::remove_all(folder / "model");
    fs::copy(demo, folder / "model", fs::copy_options::recursive);
    for (const auto& entry : fs::directory_iterator(folder / "model"))
      fs::permissions(entry, fs::perms::owner_write, fs::perm_options::add);
    damage();
    const Ended r = go_on({"--model", "model"});
    const std::string error = last_line(r, 1);
    for (const std::string& part : parts) EXPECT_NE(error.find(part), std::string::npos) << "no '" << part << "' in: " << r.err;
  };
  const auto config = [&](const std::string& key, const Json& value) {
    Json all = load_json(folder / "model/config.json");
    all[key] = value;
    write("model/config.json", all.dump());
  };
  const fs::path weights = folder / "model/model.safetensors";
  refused([&] { fs::resize_file(weights, fs::file_size(weights) / 2); }, {"model.safetensors"});
  refused([&] { fs::remove(folder / "model/tokenizer.json"); }, {"tokenizer.json"});
  refused([&] { config("model_type", "lama"); }, {"lama"});
  refused([&] { config("rope_scaling", {{"rope_type", "spiral"}}); }, {"spiral"});
  refused([&] { config("num_hidden_layers", 1); }, {"model.layers.1."});
  refused([&] { write("model/tokenizer.json", "{"); }, {"tokenizer.json"});
}

// A run in a new process gives the same as a run after another.
TEST_F(CompleteTest, a_separate_process_gives_the_same) {
  LanguageModel model = LanguageModel::open(demo, {.threads = 1});
  for (const std::string prompt : {"The lighthouse stood", "The sea", "The lighthouse stood on"}) {
    const Completion made = model.complete({.prompt = prompt, .max_tokens = 12, .sampling = {.seed = 3}, .logprobs = 1});
    const Json alone = json({"--prompt", prompt, "--temperature", "0.6", "--seed", "3", "--logprobs", "1"});
    EXPECT_EQ(alone["tokens"], Json(made.tokens)) << prompt;
    for (size_t i = 0; i < made.logprobs.size(); ++i) EXPECT_EQ(alone["logprobs"][i]["logprob"].get<float>(), made.logprobs[i].logprob);
  }
  EXPECT_EQ(answer({"--logprobs", "3", "--threads", "1"}), answer({"--logprobs", "3", "--threads", "3"}));
}

TEST_F(CompleteTest, an_interrupted_run_ends_with_130) {
  // Too many positions to finish before the signal.
  fs::copy(demo, folder / "model", fs::copy_options::recursive);
  Json config = load_json(folder / "model/config.json");
  config["max_position_embeddings"] = 100000;
  fs::permissions(folder / "model/config.json", fs::perms::owner_write, fs::perm_options::add);
  write("model/config.json", config.dump());
  Process process(folder, {"complete", "-m", "model", "-p", story, "--max-tokens", "90000", "--ignore-eos", "--threads", "1"});
  for (int i = 0; i < 6000 && process.out().empty(); ++i) ::usleep(10000);
  ASSERT_NE(process.out(), "");
  process.send(SIGINT);
  const Ended r = process.wait();
  EXPECT_EQ(r.code, 130);
  EXPECT_EQ(r.signal, 0);
  EXPECT_EQ(r.out.back(), '\n');
}

TEST_F(CompleteTest, ctrl_c_ends_it_while_it_waits_for_a_prompt) {
  int waiting[2];
  ASSERT_EQ(::pipe(waiting), 0);
  for (const int signal : {SIGINT, SIGTERM}) {
    Process process(folder, {"complete"}, [&] { ::dup2(waiting[0], STDIN_FILENO), ::close(waiting[1]); });
    ::usleep(300000);
    process.send(signal);
    EXPECT_EQ(not_one_line(process.wait(), 130), "");
  }
  for (const int end : waiting) ::close(end);
}

TEST_F(CompleteTest, a_closed_stderr_does_no_harm) {
  const Arguments arguments = {"complete", "-p", story, "--max-tokens", "3", "--temperature", "0"};
  const Ended heard = run(arguments);
  for (const bool closed : {true, false}) {
    const auto no_stderr = [closed] {
      if (closed) ::close(STDERR_FILENO);
      else ::dup2(::open("/dev/full", O_WRONLY), STDERR_FILENO);
    };
    const Ended r = run(arguments, no_stderr);
    EXPECT_EQ(r.code, 0) << r.signal;
    EXPECT_EQ(r.out, heard.out);
    EXPECT_EQ(run({"complete", "-m", "nowhere", "-p", "x"}, no_stderr).code, 1);
    EXPECT_EQ(run({"complete", "--tempreature", "1"}, no_stderr).code, 2);
  }
}

TEST_F(CompleteTest, the_prompt_file_may_be_a_named_pipe) {
  const Arguments ends = {"--max-tokens", "3", "--temperature", "0"};
  Arguments named = {"complete", "--prompt-file", "/dev/stdin"}, given = {"complete", "-p", story};
  for (Arguments* a : {&named, &given}) a->insert(a->end(), ends.begin(), ends.end());
  const Ended r = run(named, [] {
    int ends_of_pipe[2];
    if (::pipe(ends_of_pipe) != 0 || ::write(ends_of_pipe[1], story.data(), story.size()) < 0) ::_exit(97);
    ::dup2(ends_of_pipe[0], STDIN_FILENO), ::close(ends_of_pipe[1]);
  });
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out, run(given).out);
  EXPECT_EQ(not_one_line(run({"complete", "-m", "", "-p", "x"}), 2), "");
}

TEST_F(CompleteTest, a_state_file_continues_the_text_of_another_process) {
  const Json first = json({"--state", "text.state"});
  std::vector<int64_t> ids = first["prompt_tokens"];
  for (const int64_t id : first["tokens"]) ids.push_back(id);
  ids.push_back(5);
  const std::string text = fmt::format("{}", fmt::join(ids, ","));
  const Json alone = json({"--prompt-token-ids", text}), continued = json({"--prompt-token-ids", text, "--state", "text.state"});
  EXPECT_EQ(continued["tokens"], alone["tokens"]);
  EXPECT_EQ(alone["timings"]["cached_tokens"], 0);
  EXPECT_EQ(continued["timings"]["cached_tokens"], ids.size() - 2);  // the last token of a completion is not computed
  EXPECT_EQ(last_line(go_on({"--state", "text.state", "--kv-cache-type", "f16"}), 1),
            "hearth: text.state: has a KV cache of f32, expected f16\n");
  // The same model but for one key.
  fs::copy(demo, folder / "other");
  Json config = load_json(folder / "other/config.json");
  const Json before = config["rms_norm_eps"];
  config["rms_norm_eps"] = 0.25;
  write_file(folder / "other/config.json", config.dump());
  EXPECT_EQ(last_line(go_on({"--state", "text.state", "--model", (folder / "other").string()}), 1),
            fmt::format("hearth: text.state: is of another model: 'rms_norm_eps' is {}, expected 0.25\n", before.dump()));
}

// Every flag in the help has an entry here that shows its effect; a new flag without one fails.
TEST_F(CompleteTest, every_flag_has_an_effect) {
  // With randomness, so that flags that change the distribution have an effect.
  const auto sampled = [&](Arguments more) {
    const Arguments ours[] = {{"--temperature", "1.5"}, {"--top-p", "1"}, {"--seed", "7"}, {"--max-tokens", "60"}};
    for (const Arguments& flag : ours)
      if (std::find(more.begin(), more.end(), flag[0]) == more.end()) more.insert(more.end(), flag.begin(), flag.end());
    more.push_back("--ignore-eos");
    return json(more)["tokens"];
  };
  const Json plain = answer({}), random = sampled({});
  const auto changes = [&](const Arguments& more) { return answer(more) != plain; };
  const auto changes_random = [&](const Arguments& more) { return sampled(more) != random; };
  const auto greedy = [&](const Arguments& more) {  // penalties take effect in a long completion
    Arguments all = {"--max-tokens", "250", "--ignore-eos"};
    all.insert(all.end(), more.begin(), more.end());
    return json(all)["tokens"];
  };
  write("prompt.txt", "The sea");

  std::map<std::string, std::function<bool()>> effects;
  effects["--prompt"] = [&] { return changes({"--prompt", "The sea"}); };
  effects["--prompt-file"] = [&] { return answer({"--prompt-file", "prompt.txt"}) == answer({"--prompt", "The sea"}); };
  effects["--prompt-token-ids"] = [&] { return json({"--prompt-token-ids", "3,4"})["prompt_tokens"] == Json({3, 4}); };
  effects["--no-special-tokens"] = [&] {
    return json({"--no-special-tokens"})["prompt_tokens"].size() + 1 == plain["prompt_tokens"].size();
  };
  effects["--state"] = [&] { return answer({"--state", "text.state"}) == plain && std::ranges::count(files(), "text.state") == 1; };
  effects["--model"] = [&] { return go_on({"--model", "nowhere"}).code == 1; };
  effects["--variant"] = [&] { return go_on({"--variant", "fp16"}).code == 1; };
  effects["--device"] = [&] {  // sums of f64 instead of f32
    return answer({"--device", "reference", "--logprobs", "0"}) != answer({"--logprobs", "0"});
  };
  for (const std::string flag : {"--gpu-layers", "--gpu-memory"})
    effects[flag] = [&, flag] { return go_on({flag, "2"}).err.find(flag + " divides networks") != std::string::npos; };
  effects["--threads"] = [&] { return answer({"--threads", "2"}) == plain && go_on({"--threads", "0"}).code == 2; };
  effects["--pin-threads"] = [&] { return answer({"--pin-threads"}) == plain && go_on({"--pin-threads", "--threads", "1000"}).code == 2; };
  effects["--precision"] = [&] { return answer({"--precision", "bf16", "--logprobs", "0"}) != answer({"--logprobs", "0"}); };
  effects["--kv-cache-type"] = [&] { return answer({"--kv-cache-type", "bf16", "--logprobs", "0"}) != answer({"--logprobs", "0"}); };
  effects["--max-tokens"] = [&] { return json({"--max-tokens", "5"})["tokens"].size() == 5; };
  effects["--ctx-size"] = [&] { return json({"--ctx-size", std::to_string(plain["prompt_tokens"].size() + 4)})["tokens"].size() == 4; };
  effects["--temperature"] = [&] { return changes_random({"--temperature", "0"}); };
  effects["--top-k"] = [&] { return sampled({"--top-k", "1"}) == sampled({"--temperature", "0"}); };
  effects["--top-p"] = [&] { return changes_random({"--top-p", "0.5"}); };
  effects["--min-p"] = [&] { return sampled({"--min-p", "1"}) == sampled({"--temperature", "0"}); };
  effects["--typical-p"] = [&] { return changes_random({"--typical-p", "0.2"}); };
  effects["--top-n-sigma"] = [&] { return changes_random({"--top-n-sigma", "0.01"}); };
  effects["--xtc-probability"] = [&] { return changes_random({"--xtc-probability", "1"}); };
  effects["--xtc-threshold"] = [&] {
    return sampled({"--xtc-probability", "1", "--xtc-threshold", "0.01"}) != sampled({"--xtc-probability", "1"});
  };
  effects["--dry-multiplier"] = [&] { return greedy({"--dry-multiplier", "5"}) != greedy({}); };
  effects["--dry-base"] = [&] {
    return greedy({"--dry-multiplier", "0.3", "--dry-base", "4"}) != greedy({"--dry-multiplier", "0.3", "--dry-base", "1"});
  };
  effects["--dry-allowed-length"] = [&] {
    return greedy({"--dry-multiplier", "5", "--dry-allowed-length", "9"}) != greedy({"--dry-multiplier", "5"});
  };
  effects["--dry-last-n"] = [&] { return greedy({"--dry-multiplier", "5", "--dry-last-n", "1"}) == greedy({}); };
  effects["--dry-sequence-breaker"] = [&] {
    Arguments more = {"--dry-multiplier", "5"};
    for (const char* text : {"e", "a", "o", "t", " "}) more.insert(more.end(), {"--dry-sequence-breaker", text});
    return greedy(more) != greedy({"--dry-multiplier", "5"});
  };
  effects["--mirostat"] = [&] { return changes_random({"--mirostat", "2", "--mirostat-tau", "0.5"}); };
  effects["--epsilon-cutoff"] = [&] { return changes_random({"--epsilon-cutoff", "0.5"}); };
  effects["--eta-cutoff"] = [&] { return changes_random({"--eta-cutoff", "0.9"}); };
  effects["--mirostat-tau"] = [&] { return sampled({"--mirostat", "2", "--mirostat-tau", "0.1"}) != sampled({"--mirostat", "2"}); };
  effects["--mirostat-eta"] = [&] {
    return sampled({"--mirostat", "2", "--mirostat-tau", "0.5", "--mirostat-eta", "1"}) !=
           sampled({"--mirostat", "2", "--mirostat-tau", "0.5"});
  };
  effects["--repetition-penalty"] = [&] {
    return Json(std::vector<int>(golden().at("greedy").at("story").at("penalised").at("tokens"))) ==
           json({"--repetition-penalty", "1.3", "--max-tokens", "64", "--ignore-eos"})["tokens"];
  };
  effects["--presence-penalty"] = [&] { return greedy({"--presence-penalty", "5"}) != greedy({}); };
  effects["--frequency-penalty"] = [&] { return greedy({"--frequency-penalty", "2"}) != greedy({}); };
  effects["--repeat-last-n"] = [&] { return greedy({"--presence-penalty", "5", "--repeat-last-n", "0"}) == greedy({}); };
  effects["--logit-bias"] = [&] {
    const std::string first = plain["tokens"][0].dump();
    return json({"--logit-bias", first + ":-inf"})["tokens"][0] != plain["tokens"][0] &&
           json({"--logit-bias", "5:1000,6:100"})["tokens"] == Json(std::vector<int>(12, 5));
  };
  effects["--sampling-order"] = [&] { return changes_random({"--sampling-order", "llama.cpp"}); };
  effects["--seed"] = [&] { return changes_random({"--seed", "8"}) && json({"--seed", "8"})["seed"] == 8; };
  effects["--stop"] = [&] {
    const std::string text = plain["text"], stop = text.substr(8, 3), other = text.substr(4, 2);
    return json({"--stop", stop})["text"] == text.substr(0, text.find(stop)) &&
           json({"--stop", stop, "--stop", other})["text"] == text.substr(0, text.find(other)) &&
           json({"--stop", stop})["finish_reason"] == "stop";
  };
  effects["--stop-token-ids"] = [&] {
    const Json made = json({"--stop-token-ids", "0," + plain["tokens"][4].dump()});
    return made["finish_reason"] == "stop" && made["tokens"].back() == plain["tokens"][4];
  };
  effects["--ignore-eos"] = [&] {
    return json({"--max-tokens", "256"})["tokens"].size() < 256 && json({"--max-tokens", "256", "--ignore-eos"})["tokens"].size() == 256;
  };
  effects["--logprobs"] = [&] { return json({"--logprobs", "3"})["logprobs"][0]["top"].size() == 3; };
  effects["--prompt-logprobs"] = [&] { return json({"--prompt-logprobs"}).contains("prompt_logprobs"); };
  effects["--debug"] = [&] {
    const Json timing = json({"--debug", "timing"})["debug"]["timing"];
    double wall = 0, rows = 0;
    for (const Json& phase : timing["phases"])
      if (phase["phase"] == "decode") wall = phase["wall_seconds"];
    for (const Json& row : timing["ops"])
      if (row["phase"] == "decode") rows += row["seconds"].get<double>();
    return wall > 0 && std::abs(rows - wall) < 0.03 * wall &&
           go_on({"--debug", "timing"}).out.find("between operations") != std::string::npos;
  };
  effects["--lora"] = [&] { return go_on({"--lora", "nowhere"}).err == "hearth: nowhere: no such file\n"; };
  effects["--json"] = [&] { return go_on({"--json"}).out[0] == '{' && go_on({}).out[0] != '{'; };
  effects["--help"] = [&] { return run({"complete", "--help"}).code == 0; };
  effects["--help-all"] = [&] { return run({"complete", "--help-all"}).out.size() > run({"complete", "--help"}).out.size(); };
  effects["--verbose"] = [&] {
    return go_on({"--verbose"}).err.find("finished by") != std::string::npos && go_on({}).err.find("finished by") == std::string::npos;
  };
  effects["--quiet"] = [&] { return go_on({"--quiet"}).err.empty() && go_on({"--quiet"}).out == go_on({}).out; };

  std::set<std::string> tested;
  for (const auto& [flag, effect] : effects) {
    tested.insert(flag);
    EXPECT_TRUE(effect()) << flag;
  }
  EXPECT_EQ(flags_in_help("complete"), tested);
}

}  // namespace
}  // namespace hearth::test
