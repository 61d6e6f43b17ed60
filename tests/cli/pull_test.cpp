// hearth pull, as a process, from a local hub. Failures of downloads are tested in src/hub/pull_test.cpp.
#include <csignal>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "cli/process.h"
#include "core/files/file.h"
#include "support/fake_hub.h"

namespace hearth::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

const std::string demo = HEARTH_SOURCE_DIR "/assets/demo-model", language_demo = HEARTH_SOURCE_DIR "/assets/demo-language-model";

class PullCommandTest : public CommandTest {
 protected:
  PullCommandTest() {
    hub.add_folder(demo);
    hub.add("demo.ckpt", "a single file beside the folders");
    hub.add("unet/diffusion_pytorch_model.bin", "pickled weights");
  }
  Ended hearth(const std::vector<std::string>& arguments) const { return run(arguments, environment()); }
  std::function<void()> environment() const {
    return [this] {
      for (const char* name : {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_TOKEN_PATH", "HF_HOME"}) ::unsetenv(name);
      ::setenv("no_proxy", "127.0.0.1", 1);
      ::setenv("HOME", folder.c_str(), 1);
      ::setenv("HEARTH_HOME", (folder / "cache").c_str(), 1);
      ::setenv("HF_ENDPOINT", hub.url().c_str(), 1);
    };
  }
  std::atomic<int> served{0};
  FakeHub hub{"org/demo-model"};
};

TEST_F(PullCommandTest, a_pulled_model_gives_the_same_bytes) {
  EXPECT_EQ(not_one_line(hearth({"generate", "-m", "org/demo-model", "-p", "x"}), 1), "");
  const Ended dry = hearth({"pull", "org/demo-model", "--dry-run"});
  ASSERT_EQ(dry.code, 0) << dry.err;
  EXPECT_NE(dry.out.find("  6.8 MB  unet/diffusion_pytorch_model.safetensors\n"), std::string::npos) << dry.out;
  EXPECT_FALSE(fs::exists(folder / "cache"));
  const Ended pulled = hearth({"pull", "org/demo-model", "--json"});
  ASSERT_EQ(pulled.code, 0) << pulled.err;
  const Json report = Json::parse(pulled.out);
  EXPECT_EQ(report["model"], "org/demo-model");
  EXPECT_EQ(report["path"], (folder / "cache/models/org/demo-model").string());
  EXPECT_EQ(report["downloaded"], report["bytes"]);
  for (const Json& file : report["files"]) {
    const std::string path = file["path"];
    EXPECT_EQ(read_file(folder / "cache/models/org/demo-model" / path), read_file(fs::path(demo) / path)) << path;
  }
  EXPECT_FALSE(fs::exists(folder / "cache/models/org/demo-model/demo.ckpt"));

  const std::vector<std::string> flags = {"-p", "a house", "--steps", "2", "--seed", "3", "-W", "64", "-H", "64"};
  const auto generate = [&](const std::string& model, const std::string& output) {
    std::vector<std::string> arguments = {"generate", "-m", model, "-o", output};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    const Ended ended = hearth(arguments);
    EXPECT_EQ(ended.code, 0) << ended.err;
    return read_file(folder / output);
  };
  EXPECT_EQ(generate("org/demo-model", "a.png"), generate(demo, "b.png"));
  EXPECT_EQ(Json::parse(hearth({"inspect", "org/demo-model", "--json"}).out)["usable"], true);
  EXPECT_EQ(hearth({"convert", "-m", "org/demo-model", "-o", "one.safetensors", "--layout", "single"}).code, 0);
  EXPECT_EQ(hearth({"tokenize", "-m", "org/demo-model", "-p", "a house"}).code, 0);
  EXPECT_EQ(hearth({"list", "schedules", "--steps", "2", "-m", "org/demo-model"}).code, 0);
  EXPECT_EQ(hearth({"generate", "-m", demo, "--vae", "org/demo-model:vae/diffusion_pytorch_model.safetensors", "-p", "x", "--steps", "1",
                    "-W", "64", "-H", "64"})
                .code,
            0);
}

TEST_F(PullCommandTest, a_language_model) {
  FakeHub words("org/words");
  words.add_folder(language_demo);
  ASSERT_EQ(hearth({"pull", "org/words", "--endpoint", words.url(), "--cache-dir", "cache"}).code, 0);
  const std::vector<std::string> flags = {"-p", "The", "--max-tokens", "8", "--temperature", "0"};
  const auto complete = [&](const std::string& model) {
    std::vector<std::string> arguments = {"complete", "-m", model};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    const Ended ended = hearth(arguments);
    EXPECT_EQ(ended.code, 0) << ended.err;
    return ended.out;
  };
  EXPECT_EQ(complete("org/words"), complete(language_demo));
  EXPECT_EQ(hearth({"quantize", "-m", "org/words", "-o", "words.gguf", "--type", "q8_0"}).code, 0);
  write_file(folder / "text", "The lighthouse stands by the sea.");
  EXPECT_EQ(hearth({"perplexity", "-m", "org/words", "-f", "text"}).code, 0);
}

TEST_F(PullCommandTest, ctrl_c_keeps_what_was_downloaded) {
  hub.change = [this](const HttpRequest&, const std::string& path, HttpResponse& r) {
    if (path == "unet/diffusion_pytorch_model.safetensors" && ++served == 1) r.cut_after = 3'000'000;
    else if (path == "unet/diffusion_pytorch_model.safetensors") r = {.status = 503, .headers = {{"Retry-After", "60"}}, .body = {}};
  };
  Process pull(folder, {"pull", "org/demo-model"}, environment());
  ASSERT_TRUE(pull.wait_for("answered 503; trying again in 60 s")) << pull.err();
  pull.send(SIGINT);
  const Ended ended = pull.wait();
  EXPECT_EQ(ended.code, 130) << ended.err;
  EXPECT_FALSE(fs::exists(folder / "cache/models/org/demo-model/unet"));
  hub.change = FakeHub::Change();
  hub.cdn().forget_requests();
  ASSERT_EQ(hearth({"pull", "org/demo-model"}).code, 0);
  for (const HttpRequest& r : hub.cdn().requests()) {
    if (r.path != "/cdn/unet/diffusion_pytorch_model.safetensors") continue;
    EXPECT_EQ(r.header("range"), "bytes=3000000-6842095");
  }
}

TEST_F(PullCommandTest, errors_are_one_line) {
  EXPECT_EQ(not_one_line(hearth({"pull"}), 2), "");
  EXPECT_EQ(not_one_line(hearth({"pull", "name"}), 2), "");
  EXPECT_EQ(not_one_line(hearth({"pull", "org/none"}), 1), "");
  EXPECT_EQ(not_one_line(hearth({"pull", "org/demo-model", "--all", "--include", "x"}), 2), "");
  EXPECT_EQ(not_one_line(hearth({"pull", "org/demo-model", "--token-file", "none"}), 1), "");
  EXPECT_EQ(not_one_line(hearth({"pull", "org/demo-model", "--connections", "0"}), 2), "");
  const Ended absent = hearth({"complete", "-m", "org/none", "-p", "x"});
  EXPECT_EQ(absent.err, "hearth: org/none: not found; run hearth pull org/none to download it\n");
}

}  // namespace
}  // namespace hearth::test
