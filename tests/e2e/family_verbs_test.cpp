// What a user does with a model, for each family of decoders with a tokenizer of its kind: complete, chat, perplexity, tokenize, quantize;
// from a folder and from the GGUF file that is made of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/language/tokenizer_source.h"
#include "core/files/file.h"
#include "core/threads.h"
#include "e2e/family_configs_test.h"
#include "hearth/language.h"
#include "hearth/quantize.h"
#include "models/language_loading.h"
#include "models/language_registry.h"
#include "support/files.h"
#include "weights/seeded_file.h"

namespace hearth::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

struct Kind {
  const char* shape;                // of src/text/tokenizer/golden
  const char* own_class = nullptr;  // instead of the shape's tokenizer_class
  bool same_chat = true;            // GGUF files with scores have a space after each special token
  const char* lost = nullptr;       // what the folder adds to a prompt and a GGUF file cannot express
};
const std::map<std::string, Kind> kinds = {{"mixtral", {.shape = "llama_model"}},
                                           {"qwen2_moe", {.shape = "qwen2"}},
                                           {"qwen3_moe", {.shape = "qwen2"}},
                                           {"phimoe", {.shape = "mistral", .same_chat = false}},
                                           {"gpt_oss", {.shape = "o200k"}},
                                           {"gemma2", {.shape = "gemma"}},
                                           {"gemma3", {.shape = "gemma"}},
                                           {"phi3", {.shape = "mistral", .same_chat = false}},
                                           {"deepseek", {.shape = "deepseek_llm"}},
                                           {"deepseek_v2", {.shape = "deepseek_v3"}},
                                           {"smollm3", {.shape = "llama3"}},
                                           {"granite", {.shape = "gpt2"}},
                                           {"olmo2", {.shape = "neox"}},
                                           {"stablelm", {.shape = "neox"}},
                                           {"cohere", {.shape = "cohere"}},
                                           {"cohere2", {.shape = "cohere"}},
                                           {"qwen3_next", {.shape = "qwen2"}},
                                           {"rwkv6", {.shape = "world"}},
                                           {"rwkv7", {.shape = "world"}},
                                           {"internlm2", {.shape = "llama_model", .own_class = "InternLM2Tokenizer"}},
                                           {"glm", {.shape = "glm4", .lost = "[gMASK]<sop>"}},
                                           {"glm4", {.shape = "glm4", .lost = "[gMASK]<sop>"}},
                                           {"mamba", {.shape = "neox"}},
                                           {"mamba2", {.shape = "neox"}},
                                           {"jamba", {.shape = "llama_model"}},
                                           {"zamba2", {.shape = "llama_model"}}};

constexpr const char* chat_template =
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}{{ eos_token }}{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}";
constexpr const char* prose = "The lighthouse's keeper counted 12345 ships; 我們 saw none — caf\u00e9, na\u00efve.\n\n  And then?";

// The tokenizer, a template, and weights by name for as many rows as there are tokens, and some more.
void write_model(const std::string& name, const models::LanguageFamily& family, const Kind& kind, const fs::path& to) {
  const fs::path shape = fs::path(HEARTH_SOURCE_DIR) / "src/text/tokenizer/golden" / kind.shape;
  fs::create_directories(to);
  for (const auto& entry : fs::directory_iterator(shape))
    if (entry.path().filename() != "golden.json") fs::copy_file(entry.path(), to / entry.path().filename());
  Json settings = Json::parse(read_file(to / "tokenizer_config.json", 1 << 20));
  settings["chat_template"] = chat_template;
  if (kind.own_class) settings["tokenizer_class"] = kind.own_class;
  write_file(to / "tokenizer_config.json", settings.dump());
  const int64_t rows = (open_folder_tokenizer(to).vocab_size() + 63) / 32 * 32;
  const std::string config = family_config(name, family, rows).dump();
  write_file(to / "config.json", config);
  ThreadPool threads(2);
  write_seeded_file(to / "model.safetensors", models::network_shapes(family, Config::parse(config, "config.json")), DType::f32, threads);
}

struct Results {
  Completion completion, reply;
  std::vector<int32_t> chat;
  double perplexity = 0;
};
Results results(const fs::path& path) {
  LanguageModel model = LanguageModel::open(path, {.threads = 2});
  Results r;
  r.completion = model.complete({.prompt = prose, .max_tokens = 12, .sampling = {.temperature = 0}, .ignore_end = true});
  r.perplexity = model.perplexity({.text = std::string(prose) + prose, .context = 64}).value;
  r.chat = model.chat_ids(model.render({.messages = R"([{"role": "user", "content": "How many ships?"}])"}));
  r.reply = model.complete({.prompt_ids = r.chat, .max_tokens = 8, .sampling = {.temperature = 0}, .ignore_end = true});
  return r;
}

TEST(FamilyVerbs, work_from_a_folder_and_from_its_gguf_file) {
  const TemporaryFolder folder;
  size_t count = 0;
  for (const auto& [name_, family] : models::language_families()) {
    const std::string name(name_);
    const auto kind = kinds.find(name);
    if (kind == kinds.end()) continue;
    SCOPED_TRACE(name);
    ++count;
    const fs::path source = folder / name, file = folder / (name + ".gguf");
    write_model(name, family, kind->second, source);
    const Results a = results(source);
    EXPECT_EQ(open_tokenizer(source).decode(open_tokenizer(source).encode(prose), {.skip_special_tokens = true}), prose);
    EXPECT_EQ(a.completion.tokens.size(), 12u);
    EXPECT_EQ(a.reply.tokens.size(), 8u);

    if (family.gguf.name.empty()) {
      EXPECT_THROW(quantize({.model = source.string(), .output = file.string(), .type = "f32", .threads = 2}), UnsupportedError);
      continue;
    }
    const QuantizeReport report = quantize({.model = source.string(), .output = file.string(), .type = "f32", .threads = 2});
    const bool noted = std::ranges::any_of(
        report.notes, [&](const std::string& note) { return note.find(kind->second.lost ? kind->second.lost : "adds") != note.npos; });
    EXPECT_EQ(noted, kind->second.lost != nullptr);
    const Results b = results(file);
    if (!kind->second.lost) {
      EXPECT_EQ(b.completion.prompt_tokens, a.completion.prompt_tokens);
      EXPECT_EQ(b.completion.tokens, a.completion.tokens);
      EXPECT_NEAR(b.perplexity, a.perplexity, 2e-5 * a.perplexity);
    }
    if (kind->second.same_chat) {
      EXPECT_EQ(b.chat, a.chat);
      EXPECT_EQ(b.reply.tokens, a.reply.tokens);
    }
    quantize({.model = source.string(), .output = (folder / "small.gguf").string(), .type = "q4_k", .threads = 2});
    EXPECT_EQ(results(folder / "small.gguf").completion.prompt_tokens, b.completion.prompt_tokens);
    fs::remove_all(source), fs::remove(file);
  }
  EXPECT_EQ(count, kinds.size());
}

}  // namespace
}  // namespace hearth::test
