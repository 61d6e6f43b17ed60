// A family is a single folder: no other file of the library mentions it. The test searches for the names that checkpoints, files and
// users have for a family, as whole words in any case, in all files of src/, include/ and the other mock families except tests, goldens
// and documents.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "core/files/file.h"
#include "models/registry.h"

namespace hearth::test {
namespace {

namespace fs = std::filesystem;

// Text that looks like a family's name but is not one.
struct Exception {
  std::string_view files;  // prefix of their paths
  std::string_view text;   // in lower case; it contains the word
  std::string_view reason;
};
constexpr Exception exceptions[] = {
    {"", "llama.cpp", "a program"},
    {"src/text/tokenizer/gguf_", "llama", "GGUF's name of a kind of tokenizer"},
    {"src/text/tokenizer/gguf_", "qwen2", "GGUF's name of a split pattern"},
    {"src/text/tokenizer/gguf_patterns.cpp", "\"deepseek-", "the same"},
    {"src/text/tokenizer/gguf_patterns.cpp", "\"command-r\"", "the same"},
    {"src/text/tokenizer/gguf_patterns.cpp", "\"chatglm-bpe\"", "the same"},
    {"src/text/tokenizer/gguf_patterns.cpp", "\"glm4\"", "the same"},
    {"src/parts/decoder/latent_attention.h", "deepseek-ai", "the authors of a paper"},
    {"src/models/deepseek_v2/", "deepseek v2", "its own name, as publishers write it"},
    {"src/models/glm4/", "glm-4-0414", "the same"},
    {"src/sampling/schedules/sigma_schedules.cpp", "sdxl", "the name of published step tables"},
    {"src/sampling/schedules/sigma_schedules.cpp", "flux2", "the name of a schedule"},
    {"src/sampling/compat/run_schedule.cpp", "sd15", "the ending of their names"},
    {"src/sampling/", "sana-sprint", "the published model that a kind of prediction is for"},
    {"src/models/ldm_files.cpp", "sdxl", "what inspect says of networks that several families have"},
    {"src/models/ldm_files.cpp", "sd3", "the same"},
    {"src/models/sd2/files.cpp", ".gguf_architecture = \"sd1\"", "what GGUF files call its architecture, too"},
    {"src/models/sdxl_refiner/files.cpp", ".gguf_architecture = \"sdxl\"", "the same"},
    {"src/models/sdxl_refiner/", "sdxl refiner", "its own name, as inspect says it"},
    {"src/models/jamba/", "mamba", "what its checkpoints call the layers"},
    {"src/models/zamba2/", "mamba", "the same"},
    {"src/models/mamba2/", "mamba 2", "its own name"},
    {"src/models/mamba2/", "mamba-2", "its own name"},
    {"src/models/qwen3_next/", "qwen3-next", "its own name"},
    {"src/parts/qwen_vision/", "qwen2_5_vl", "the type of the tower in its configuration"},
    {"src/parts/qwen_vision/", "qwen2.5vl_merger", "its name in GGUF files"},
    {"src/models/stable_diffusion/", "stablediffusionpipeline", "the folder of what the families of these pipelines share"},
    {"src/models/stable_diffusion/", "stablediffusioninpaintpipeline", "the same"},
    {"src/models/stable_diffusion/", "stablediffusioninstructpix2pixpipeline", "the same"},
    {"src/models/stable_diffusion/", "stablediffusiondepth2imgpipeline", "the same"},
    {"src/weights/inspection/signatures_known.cpp", "llama or its kin", "what inspect calls tensors whose layout many families share"},
    {"src/weights/inspection/signatures_known.cpp", "\"mamba\", \"transformers\"", "the same"},
    {"src/weights/inspection/signatures_known.cpp", "mixtral", "the same"},
    {"src/weights/inspection/signatures_known.cpp", "deepseek v2 or v3", "the same"},
};

std::string lower(std::string_view text) {
  std::string all(text);
  std::ranges::transform(all, all.begin(), [](unsigned char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : char(c); });
  return all;
}

std::vector<std::string_view> words_of(const models::ImageFamily& f) {
  std::vector<std::string_view> words = f.pipelines;
  for (const models::Benchmark& benchmark : f.benchmarks) words.insert(words.end(), {benchmark.name, benchmark.configuration});
  return words;
}
std::vector<std::string_view> words_of(const models::LanguageFamily& f) {
  std::vector<std::string_view> words = f.model_types;
  words.push_back(f.class_name);
  words.push_back(f.gguf.name);
  for (const models::LanguageGeometry& geometry : f.geometries) words.push_back(geometry.name);
  return words;
}

// Each word, and the names of the families that share it.
std::map<std::string, std::set<std::string>> owners() {
  std::map<std::string, std::set<std::string>> all;
  for (const models::Entry& entry : models::entries()) {
    std::vector<std::string_view> words = std::visit([](const auto& family) { return words_of(family); }, entry.task);
    words.push_back(entry.name);
    for (const std::string_view word : words)
      if (!word.empty()) all[lower(word)].emplace(entry.name);
  }
  return all;
}

bool of_a_word(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; }

// Whether the word at this position is within an exception's text.
bool is_exception(const std::string& file, std::string_view text, size_t at, size_t size) {
  const auto covers = [&](const Exception& e) {
    const size_t end = at + size;
    for (size_t begin = end > e.text.size() ? end - e.text.size() : 0; begin <= at; ++begin)
      if (text.substr(begin, e.text.size()) == e.text) return true;
    return false;
  };
  return std::ranges::any_of(exceptions, [&](const Exception& e) { return file.starts_with(e.files) && covers(e); });
}

// Positions of the word in the text, which is in lower case.
std::vector<size_t> places_of(std::string_view text, std::string_view word) {
  std::vector<size_t> places;
  for (size_t at = 0; (at = text.find(word, at)) != text.npos; at += word.size()) {
    const size_t end = at + word.size();
    if ((at == 0 || !of_a_word(text[at - 1])) && (end == text.size() || !of_a_word(text[end]))) places.push_back(at);
  }
  return places;
}

bool is_counted(const fs::path& file) {
  static const std::set<fs::path> endings = {".h", ".cpp", ".inl", ".in", ".txt"};
  const std::string stem = file.stem().string();
  const bool golden = std::ranges::find(file, fs::path("golden")) != file.end();
  return endings.contains(file.extension()) && !golden && !stem.ends_with("_test");
}

// The files that the rule applies to, by their path in the source tree, in lower case.
std::map<std::string, std::string> texts() {
  std::map<std::string, std::string> all;
  const fs::path root = HEARTH_SOURCE_DIR;
  for (const char* folder : {"src", "include", "tests/mock_families"})
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / folder))
      if (entry.is_regular_file() && is_counted(entry.path()))
        all[entry.path().lexically_relative(root).generic_string()] = lower(read_file(entry.path()));
  return all;
}

bool in_folder_of(const std::string& file, const std::set<std::string>& families) {
  return std::ranges::any_of(families, [&](const std::string& family) {
    return file.starts_with("src/models/" + family + "/") || file.starts_with("tests/mock_families/" + family + "/");
  });
}

TEST(FamilyMentions, a_word_is_looked_for_whole) {
  EXPECT_EQ(places_of("a lantern, lanterns lantern_1 (lantern) xlantern lantern-1b", "lantern"), (std::vector<size_t>{2, 31, 49}));
  EXPECT_TRUE(is_exception("src/a.cpp", "as llama.cpp does", 3, 5));
  EXPECT_FALSE(is_exception("src/a.cpp", "llama. as llama.cpp does", 0, 5));
  EXPECT_FALSE(is_exception("src/a.cpp", "as llama does", 3, 5));
  EXPECT_FALSE(is_exception("src/api/files/gguf_tokenizer.cpp", "qwen2", 0, 5));
}

TEST(FamilyMentions, no_file_outside_its_folder_knows_a_family) {
  const std::map<std::string, std::string> files = texts();
  EXPECT_GT(files.size(), 500u);
  const auto words = owners();
  EXPECT_GT(words.size(), 10u);
  for (const auto& [file, text] : files)
    for (const auto& [word, families] : words) {
      if (in_folder_of(file, families)) continue;
      for (const size_t at : places_of(text, word))
        if (!is_exception(file, text, at, word.size()))
          ADD_FAILURE() << file << ":" << 1 + std::count(text.begin(), text.begin() + long(at), '\n') << ": " << word;
    }
}

// An exception that is no longer needed must be removed.
TEST(FamilyMentions, every_exception_is_needed) {
  const std::map<std::string, std::string> files = texts();
  for (const Exception& e : exceptions) {
    const auto has = [&](const auto& f) { return f.first.starts_with(e.files) && f.second.find(e.text) != std::string::npos; };
    EXPECT_TRUE(std::ranges::any_of(files, has)) << e.text;
  }
}

}  // namespace
}  // namespace hearth::test
