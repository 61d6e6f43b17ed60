// Tokenizers in place of published ones that hearth has no copy of.
#include <nlohmann/json.hpp>

#include "core/files/file.h"
#include "core/files/json.h"
#include "models/image_family.h"
#include "text/tokenizer/byte_symbols.h"
#include "weights/model_index.h"

namespace hearth::models {
namespace {

namespace fs = std::filesystem;

// In place of a file or a link, whose target stays as it is.
void put(const fs::path& file, std::string_view text) {
  fs::create_directories(file.parent_path());
  fs::remove(file);
  write_file(file, text);
}

// A tokenizer of bytes, with a chat template, where a vocabulary is too large to be built in.
void write_bytes_tokenizer(const fs::path& folder) {
  for (const char* file : {"tokenizer.json", "vocab.json", "spiece.model", "tokenizer.model", "vocab.txt"})
    if (fs::exists(folder / file)) return;
  nlohmann::json vocabulary;
  for (int byte = 0; byte < 256; ++byte) {
    std::string symbol;
    text::pipeline::append_byte_symbols(symbol, std::string(1, char(byte)));
    vocabulary[symbol] = byte;
  }
  const nlohmann::json end{{"id", 256},       {"content", "<|end|>"}, {"single_word", false}, {"lstrip", false},
                           {"rstrip", false}, {"normalized", false},  {"special", true}};
  const nlohmann::json bytes{{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", false}};
  put(folder / "tokenizer.json", nlohmann::json{{"version", "1.0"},
                                                {"added_tokens", nlohmann::json::array({end})},
                                                {"pre_tokenizer", bytes},
                                                {"decoder", bytes},
                                                {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", nlohmann::json::array()}}}}
                                     .dump());
  put(folder / "tokenizer_config.json", nlohmann::json{{"tokenizer_class", "PreTrainedTokenizerFast"},
                                                       {"pad_token", "<|end|>"},
                                                       {"chat_template", "{% for m in messages %}{{ m.content }}\n{% endfor %}"}}
                                            .dump());
}

}  // namespace

void write_stand_ins(const Benchmark& benchmark, const fs::path& folder) {
  for (const StandIn& file : benchmark.stand_ins) put(folder / file.component / file.file, file.text);
  const fs::path index = folder / "model_index.json";
  for (const Component& c : components_of(load_json(index), index.string()))
    if (config_file_name(c) == "tokenizer_config.json") write_bytes_tokenizer(folder / c.name);
}

}  // namespace hearth::models
