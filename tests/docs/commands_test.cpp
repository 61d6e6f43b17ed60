// Runs every `hearth …` line in the code blocks of README.md and docs/, in order, in one folder per document. Small files replace the
// models and images that the documents name, and small sizes those that would take long (`stand_ins`). Flags are checked as written.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>

#include "backends/plan/plan_backend.h"
#include "core/files/file.h"
#include "core/memory.h"
#include "core/threads.h"
#include "e2e/checkpoint_copy.h"
#include "media/formats/png.h"
#include "parts/autoencoder_tiny/autoencoder_tiny.h"
#include "weights/safetensors/safetensors.h"
#include "weights/safetensors/safetensors_types.h"
#include "weights/seeded_file.h"

namespace hearth::test {
namespace {

namespace fs = std::filesystem;

const fs::path source = HEARTH_SOURCE_DIR;

struct Line {
  int number = 0;
  std::string text;
};

// The lines of fenced blocks that run the command, without prompt sign and build folder; a line that ends in \ continues.
std::vector<Line> commands_of(const fs::path& document) {
  static const std::regex command(R"(^(\$ )?(build/release/bin/)?(hearth [a-z-].*))");
  std::vector<Line> commands;
  std::ifstream in(document);
  bool inside = false, goes_on = false;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    std::smatch parts;
    if (line.starts_with("```")) inside = !inside;
    else if (goes_on) commands.back().text += line;
    else if (inside && std::regex_match(line, parts, command)) commands.push_back({number, parts[3]});
    else continue;
    goes_on = inside && !commands.empty() && commands.back().text.ends_with('\\');
    if (goes_on) commands.back().text.pop_back();
  }
  return commands;
}

std::vector<std::string> documents() {
  std::vector<std::string> found = {"README.md"};
  for (const auto& entry : fs::directory_iterator(source / "docs"))
    if (entry.path().extension() == ".md") found.push_back("docs/" + entry.path().filename().string());
  std::erase_if(found, [](const std::string& name) { return commands_of(source / name).empty(); });
  std::sort(found.begin() + 1, found.end());
  return found;
}

// Replacements in the commands before they run.
const std::pair<std::regex, const char*> stand_ins[] = {
    {std::regex("^hearth "), HEARTH_COMMAND " "},
    {std::regex("(dreamshaper\\.safetensors)"), "$1 --config stable-diffusion-v1-5"},  // no published model has its sizes
    {std::regex("-([WH]) \\d+"), "-$1 64"},
    {std::regex("--thumbnail-width \\d+"), "--thumbnail-width 16"},
    {std::regex("samplers plot"), "samplers plot -W 32 -H 32 --samplers euler,dpmpp_2m --reference-steps 4"},
    {std::regex("(samplers plot.*)--steps \\S+"), "$1"},
    {std::regex("(samplers plot)(?!.*--order-plot)"), "$1 --steps 1,2"},
    {std::regex("bench --model sd15"), "bench --model demo --repetitions 1"},
    {std::regex("bench --model llama-1b( --weight-type \\S+)?"), "bench --model Llama-3.2-1B --repetitions 1"},
    {std::regex("bench serve -m llama-1b( --weight-type \\S+)?"),
     "bench serve -m Llama-3.2-1B --clients 1,2 --prompt-tokens 4 --answer-tokens 3 --repetitions 1"},
    {std::regex("^(\\S+) serve.*"), "$1 serve --help"},  // src/server tests it; here its flags are checked
    {std::regex("(calibrate imatrix)"), "$1 --ctx-size 8"},
    {std::regex(" pull .*"), " pull --help"},  // tests have no hub; tests/cli/pull_test.cpp pulls from a local one
};

class DocumentTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    fs::create_directory(folder / "docs");
    link("stable-diffusion-v1-5", source / "assets/demo-model");
    link("Llama-3.2-1B", source / "assets/demo-language-model");
    link("Qwen2.5-0.5B-Instruct", source / "assets/demo-language-model");
    link("vae-ft-mse.safetensors", source / "assets/demo-model/vae/diffusion_pytorch_model.safetensors");
    link("FLUX.1-dev", golden_folder() / "flux_dev");
    link("FLUX.1-schnell", golden_folder() / "flux_schnell");
    link("sdxl-base", golden_folder() / "xl");
    link("sdxl-refiner", golden_folder() / "xl_refiner");
    link("sdxl-inpainting", widened("xl", "StableDiffusionXLInpaintPipeline", 9));
    link("sd2-depth", widened("ddim_v", "StableDiffusionDepth2ImgPipeline", 5));
    link("instruct-pix2pix", widened("pndm", "StableDiffusionInstructPix2PixPipeline", 8));
    link("flux1-fill-dev", widened("flux_dev", "FluxFillPipeline", 288, "transformer", "x_embedder.weight"));
    link("flux1-canny-dev", widened("flux_dev", "FluxControlPipeline", 32, "transformer", "x_embedder.weight"));
    link("z-image", golden_folder() / "z_image");
    link("union-2.1.safetensors", golden_folder() / "control/authors/z_image_v21.safetensors");
    write_variant("fp16");
    write_decoder("taesdxl_decoder.safetensors");
    for (const char* mask : {"sky.png", "roof.png", "near.png", "edges.png"}) write_png(folder / mask, ramp());
    write_file(folder / "story.txt", "The lighthouse stood above a quiet sea.");
    write_file(folder / "book.txt", "The lighthouse stood above a quiet sea. The End.");
    write_file(folder / "chat.json", R"([{"role": "user", "content": "What is hearth?"}])");
    write_file(folder / "tools.json", R"([{"type": "function", "function": {"name": "look", "description": "Looks.", "parameters": {}}}])");
    for (const char* prepare :
         {"hearth convert -m stable-diffusion-v1-5 -o dreamshaper.safetensors --layout single",
          "hearth quantize -m Llama-3.2-1B -o llama-q4_k.gguf --type q4_k", "hearth generate -p \"a red house\" --steps 2 -o house.png"})
      ASSERT_EQ(run(std::regex_replace(prepare, stand_ins[0].first, stand_ins[0].second)), 0) << output;
    fs::remove(folder / "llama-q4_k.gguf");
  }

  // Runs the line in a shell, which handles quotes, comments and pipes; `output` receives its output.
  int run(const std::string& line) {
    write_file(folder / "line", line + "\n");
    FILE* out = popen(fmt::format("cd '{}' && sh line < /dev/null 2>&1", folder.path().string()).c_str(), "r");
    output.clear();
    for (char piece[4096]; const size_t n = fread(piece, 1, sizeof piece, out);) output.append(piece, n);
    const int status = pclose(out);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  // The flags of a line that its command's help lacks.
  std::vector<std::string> unknown_flags(std::string line) {
    line = std::regex_replace(std::regex_replace(line, std::regex("\"[^\"]*\"|'[^']*'"), "x"), std::regex(" [#|].*"), "");
    std::smatch verb;
    std::regex_search(line, verb, std::regex("^hearth ([a-z]+)"));
    run(fmt::format("{} {} --help-all", HEARTH_COMMAND, verb[1].str()));
    std::vector<std::string> unknown;
    static const std::regex flag(" (--?[a-zA-Z][a-zA-Z0-9-]*)");
    for (std::sregex_iterator at(line.begin(), line.end(), flag), end; at != end; ++at)
      if (!std::regex_search(output, std::regex(fmt::format("(^|[\\s,]){}[\\s,]", (*at)[1].str())))) unknown.push_back((*at)[1]);
    return unknown;
  }

  TemporaryFolder folder;
  std::string output;

 private:
  void link(const std::string& name, const fs::path& target) const { fs::create_symlink(target, folder / name); }
  // A golden checkpoint whose denoiser also takes a mask, an image or a depth map, with weights of zero for it.
  fs::path widened(const std::string& checkpoint, const char* pipeline, int64_t channels, const std::string& denoiser = "unet",
                   const std::string& input = "conv_in.weight") {
    CheckpointCopy& copy = *copies_.emplace_back(std::make_unique<CheckpointCopy>(checkpoint));
    copy.edit_json("model_index.json", [&](nlohmann::json& index) {
      index["_class_name"] = pipeline;
      if (channels == 5) index["depth_estimator"] = {"transformers", "DPTForDepthEstimation"};
    });
    copy.edit_json(denoiser + "/config.json", [&](nlohmann::json& config) {
      if (denoiser == "transformer") config["out_channels"] = config["in_channels"];
      config["in_channels"] = channels;
    });
    copy.edit_tensors(denoiser, [&](NamedTensors& tensors) {
      Tensor& weight = tensors.at(input);
      Shape shape = weight.shape();
      const size_t own = size_t(shape.numel() / shape[0]);
      shape[1] = channels;
      const size_t all = size_t(shape.numel() / shape[0]);
      const std::vector<float> values = weight.to_vector();
      std::vector<float> wide(size_t(shape[0]) * all);
      for (size_t o = 0; o < size_t(shape[0]); ++o) std::copy_n(&values[o * own], own, &wide[o * all]);
      weight = Tensor::from(copy.device(), shape, wide);
    });
    return copy.path();
  }
  // stable-diffusion-v1-5 with a second set of weights.
  void write_variant(const std::string& variant) const {
    fs::remove(folder / "stable-diffusion-v1-5");
    fs::copy(source / "assets/demo-model", folder / "stable-diffusion-v1-5", fs::copy_options::recursive);
    for (const char* file : {"text_encoder/model", "unet/diffusion_pytorch_model", "vae/diffusion_pytorch_model"})
      link(fmt::format("stable-diffusion-v1-5/{}.{}.safetensors", file, variant),
           folder / fmt::format("stable-diffusion-v1-5/{}.safetensors", file));
  }
  // A TAESD decoder in its author's layout: numbers as names, with the clamp counted as one.
  void write_decoder(const std::string& name) {
    MemoryLedger ledger;
    const auto plan = make_plan_backend(ledger);
    const auto requested = std::make_shared<RequestedTensors>();
    Weights all(requested, *plan);
    const parts::AutoencoderTiny network(Scope(all), {});
    Backend& device = copies_.front()->device();
    write_seeded_file(folder / "tiny.safetensors", requested->tensors, DType::f32, device.threads());
    NamedTensors decoder;
    const auto file = SafetensorsFile::open(folder / "tiny.safetensors");
    const std::string prefix = "decoder.layers.";
    for (const auto& [tensor, info] : file->list()) {
      if (!tensor.starts_with(prefix)) continue;
      const std::string rest = tensor.substr(prefix.size());
      decoder[std::to_string(std::stoi(rest) + 1) + rest.substr(rest.find('.'))] =
          copy_of(file->read(tensor, info.shape, device), DType::f32);
    }
    write_safetensors(folder / name, decoder);
  }
  static Pixels ramp() {
    Pixels image{.width = 128, .height = 128, .rgb = {}};
    for (int64_t i = 0; i < 128 * 128 * 3; ++i) image.rgb.push_back(uint8_t(i / 3 % 128 * 2));
    return image;
  }

  std::vector<std::unique_ptr<CheckpointCopy>> copies_;
};

TEST_P(DocumentTest, runs) {
  for (const Line& line : commands_of(source / GetParam())) {
    SCOPED_TRACE(fmt::format("{}:{}: {}", GetParam(), line.number, line.text));
    EXPECT_EQ(unknown_flags(line.text), std::vector<std::string>());
    std::string small = line.text;
    for (const auto& [pattern, replacement] : stand_ins) small = std::regex_replace(small, pattern, replacement);
    EXPECT_EQ(run(small), 0) << small << '\n' << output;
  }
}

INSTANTIATE_TEST_SUITE_P(Documents, DocumentTest, testing::ValuesIn(documents()), [](const auto& document) {
  return std::regex_replace(fs::path(document.param).stem().string(), std::regex("[^A-Za-z0-9]"), "_");
});

// The test of the test: it finds the commands, and a mistake in one fails.
class BrokenDocumentTest : public DocumentTest {};
INSTANTIATE_TEST_SUITE_P(Documents, BrokenDocumentTest, testing::Values("README.md"));

TEST_P(BrokenDocumentTest, is_noticed) {
  EXPECT_GE(commands_of(source / "README.md").size(), 10u);
  EXPECT_EQ(unknown_flags("hearth generate -p \"a --red house\" --stpes 5 -Q --steps 5  # --sed"),
            (std::vector<std::string>{"--stpes", "-Q"}));
  EXPECT_EQ(run(HEARTH_COMMAND " generate -p x --stpes 5"), 2);
  EXPECT_EQ(run(HEARTH_COMMAND " generate -m no-such-model -p x"), 1);
}

}  // namespace
}  // namespace hearth::test
