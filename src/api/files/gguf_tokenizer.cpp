// Converts a tokenizer.json to the keys of GGUF files.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/files/gguf_export.h"
#include "api/language/tokenizer_source.h"
#include "core/files/file.h"
#include "core/files/json.h"
#include "text/tokenizer/gguf_patterns.h"
#include "text/tokenizer/gguf_vocabulary.h"
#include "text/tokenizer/pre_tokenizers.h"
#include "text/tokenizer/world_vocabulary.h"

namespace hearth::api {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

enum TokenType : int32_t { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };

// An empty object if the file does not exist.
Json load_if_there(const fs::path& file) {
  std::error_code error;
  return fs::exists(file, error) ? load_json(file) : Json::object();
}

std::string text_at(const Json& json, const char* key) {
  const auto found = json.is_object() ? json.find(key) : json.end();
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

// The stages of a Sequence, or the single stage.
std::vector<Json> stages(const Json& json, const char* list) {
  if (!json.is_object()) return {};
  if (text_at(json, "type") != "Sequence") return {json};
  return json.at(list).get<std::vector<Json>>();
}

// The world vocabulary of RWKV. Id 0 begins and ends texts.
void export_world(const fs::path& file, int64_t rows, GgufExport& to) {
  std::vector<std::string> tokens = text::pipeline::read_world_vocabulary(read_file(file), file.string());
  if (int64_t(tokens.size()) > rows)
    fail<WeightError>("{}: has the id {}, but the embedding has {} rows", file.string(), tokens.size() - 1, rows);
  tokens.resize(size_t(rows));
  std::vector<int32_t> types;
  for (size_t id = 0; id < tokens.size(); ++id) {
    types.push_back(id == 0 ? control : tokens[id].empty() ? unused : normal);
    tokens[id] = id == 0 ? "<s>" : tokens[id].empty() ? fmt::format("[PAD{}]", id) : text::pipeline::escaped_world_token(tokens[id]);
  }
  to.values.text("tokenizer.ggml.model", text::gguf_world);
  to.values.texts("tokenizer.ggml.tokens", tokens);
  to.values.i32s("tokenizer.ggml.token_type", types);
  for (const char* name : {"bos", "eos"}) to.values.integer(fmt::format("tokenizer.ggml.{}_token_id", name), 0);
  to.values.boolean("tokenizer.ggml.add_bos_token", false);
}

class TokenizerExport {
 public:
  TokenizerExport(const fs::path& folder, const Config& config, int64_t rows, GgufExport& to)
      : tokenizer_(open_folder_tokenizer(folder)),
        where_((folder / "tokenizer.json").string()),
        json_(load_json(folder / "tokenizer.json")),
        settings_(load_if_there(folder / "tokenizer_config.json")),
        config_(config),
        to_(to) {
    if (!json_.is_object() || !json_.contains("model")) fail<WeightError>("{}: has no 'model'", where_);
    if (const std::string type = text_at(json_["model"], "type"); type != "BPE")
      fail<UnsupportedError>("{}: a tokenizer of type '{}' cannot be written as GGUF, expected BPE", where_, type);
    read_tokens(size_t(rows));
    read_merges();
  }

  void write() {
    const bool by_score = json_["model"].value("byte_fallback", false);
    to_.values.text("tokenizer.ggml.model", by_score ? text::gguf_scored_pairs : text::gguf_byte_pairs);
    check_normalizer(by_score);
    if (!by_score) to_.values.text("tokenizer.ggml.pre", split_pattern());
    to_.values.texts("tokenizer.ggml.tokens", tokens_);
    if (by_score) write_scores();
    to_.values.i32s("tokenizer.ggml.token_type", types_);
    if (!by_score) to_.values.texts("tokenizer.ggml.merges", merges_);
    for (const auto& [name, key] : {std::pair("bos", "bos"), {"eos", "eos"}, {"unk", "unknown"}, {"pad", "padding"}})
      if (const auto id = special(name)) to_.values.integer(fmt::format("tokenizer.ggml.{}_token_id", key), *id);
    write_added_tokens(tokenizer_, special("bos"), special("eos"), to_);
    if (by_score) to_.values.boolean("tokenizer.ggml.add_space_prefix", adds_space());
  }

 private:
  void set(int64_t id, const std::string& token, int32_t type) {
    if (id < 0 || size_t(id) >= tokens_.size())
      fail<WeightError>("{}: token '{}' has the id {}, but the embedding has {} rows", where_, token, id, tokens_.size());
    tokens_[size_t(id)] = token;
    types_[size_t(id)] = type;
  }

  void read_tokens(size_t rows) {
    tokens_.resize(rows);
    types_.assign(rows, unused);
    for (size_t i = 0; i < rows; ++i) tokens_[i] = fmt::format("[PAD{}]", i);
    const bool fallback = json_["model"].value("byte_fallback", false);
    const std::string unk = text_at(json_["model"], "unk_token");
    for (const auto& item : json_["model"].at("vocab").items()) {
      const std::string& token = item.key();
      const bool one_byte = fallback && token.size() == 6 && token.starts_with("<0x") && token.ends_with(">");
      set(item.value().get<int64_t>(), token, one_byte ? byte : token == unk && !unk.empty() ? unknown : normal);
    }
    for (const Json& added : json_.value("added_tokens", Json::array())) {
      const std::string content = added.at("content");
      const int32_t type = content == unk ? unknown : added.value("special", false) ? control : user_defined;
      set(added.at("id").get<int64_t>(), content, type);
    }
  }

  // "left right", or a list of both. In a list, a blank is replaced by U+0120, its byte-level spelling.
  void read_merges() {
    for (const Json& merge : json_["model"].value("merges", Json::array())) {
      if (merge.is_string()) {
        merges_.push_back(merge);
        continue;
      }
      std::string joined;
      for (const Json& half : merge) {
        if (!joined.empty()) joined += ' ';
        for (char c : half.get<std::string>()) c == ' ' ? joined += "Ġ" : joined += c;
      }
      merges_.push_back(joined);
    }
  }

  // SentencePiece merges the pair whose union has the highest score: the order of the merges, as scores.
  void write_scores() {
    std::map<std::string, float, std::less<>> score;
    for (size_t i = 0; i < merges_.size(); ++i) {
      std::string whole = merges_[i];
      whole.erase(whole.find(' '), 1);
      score.emplace(whole, -float(i));
    }
    std::vector<float> scores;
    for (size_t i = 0; i < tokens_.size(); ++i) {
      const auto found = types_[i] == normal ? score.find(tokens_[i]) : score.end();
      scores.push_back(found != score.end() ? found->second : types_[i] == normal ? -float(merges_.size()) : 0);
    }
    to_.values.f32s("tokenizer.ggml.scores", scores);
  }

  // A file with scores has spaces replaced, and perhaps one in front; other normalization is part of what the pre-tokenizer's name says.
  void check_normalizer(bool by_score) const {
    for (const Json& stage : stages(json_.value("normalizer", Json()), "normalizers")) {
      const std::string type = text_at(stage, "type");
      const bool spaces = type == "Prepend" || (type == "Replace" && stage.at("pattern") == Json({{"String", " "}}));
      if (by_score ? !spaces : type != "NFC")
        fail<UnsupportedError>("{}: the normalizer stage {} cannot be written as GGUF", where_, stage.dump());
    }
  }

  // GGUF's name of the pre-tokenizer.
  std::string split_pattern() const {
    text::pipeline::SplitRules rules{.nfc = !stages(json_.value("normalizer", Json()), "normalizers").empty(),
                                     .ignore_merges = json_["model"].value("ignore_merges", false)};
    for (const Json& stage : stages(json_.value("pre_tokenizer", Json()), "pretokenizers")) {
      const std::string type = text_at(stage, "type");
      if (type == "Split" && stage.at("pattern").contains("Regex") && text_at(stage, "behavior") == "Isolated" &&
          !stage.value("invert", false))
        rules.patterns.push_back(stage.at("pattern").at("Regex"));
      else if (type == "Digits" && stage.value("individual_digits", false)) rules.patterns.emplace_back(R"(\p{N})");
      else if (type == "ByteLevel" && !stage.value("add_prefix_space", true)) {
        if (stage.value("use_regex", true)) rules.patterns.emplace_back(text::pipeline::gpt2_pattern);
      } else fail<UnsupportedError>("{}: the pre-tokenizer stage {} cannot be written as GGUF", where_, stage.dump());
    }
    if (const auto name = text::pipeline::name_of_rules(rules)) return std::string(*name);
    fail<UnsupportedError>("{}: GGUF has no name for the split patterns of this pre-tokenizer{}{}", where_, rules.nfc ? " after NFC" : "",
                           rules.ignore_merges ? " with ignore_merges" : "");
  }

  // The id of "bos_token" and so on, if there is one.
  std::optional<int32_t> special(const std::string& name) const {
    const auto found = settings_.find(name + "_token");
    if (found != settings_.end() && !found->is_null()) {
      const std::string spelling = found->is_string() ? found->get<std::string>() : text_at(*found, "content");
      const auto at = std::ranges::find(tokens_, spelling);
      if (at == tokens_.end()) fail<WeightError>("{}: the {} token '{}' is not in the vocabulary", where_, name, spelling);
      return int32_t(at - tokens_.begin());
    }
    const std::optional<int32_t> usual = name == "bos"   ? tokenizer_.bos()
                                         : name == "eos" ? tokenizer_.eos()
                                         : name == "unk" ? tokenizer_.unk()
                                                         : tokenizer_.pad();
    if (usual && size_t(*usual) < tokens_.size()) return usual;  // the class's
    const std::string key = name + "_token_id";
    if (!config_.has(key)) return std::nullopt;
    return int32_t(config_.dump(key).starts_with('[') ? config_.integers(key).at(0) : config_.integer(key));
  }

  bool adds_space() const {
    for (const Json& stage : stages(json_.value("normalizer", Json()), "normalizers"))
      if (text_at(stage, "type") == "Prepend") return true;
    for (const Json& stage : stages(json_.value("pre_tokenizer", Json()), "pretokenizers"))
      if (text_at(stage, "type") == "Metaspace") return text_at(stage, "prepend_scheme") != "never";
    return false;
  }

  text::Tokenizer tokenizer_;
  std::string where_;
  Json json_, settings_;
  const Config& config_;
  GgufExport& to_;
  std::vector<std::string> tokens_, merges_;
  std::vector<int32_t> types_;
};

// The chat template in chat_template.jinja, else in tokenizer_config.json.
void write_template(const fs::path& folder, GgufExport& to) {
  std::error_code error;
  const fs::path file = folder / "chat_template.jinja";
  const std::string text =
      fs::exists(file, error) ? read_file(file) : text_at(load_if_there(folder / "tokenizer_config.json"), "chat_template");
  if (!text.empty()) to.values.text("tokenizer.chat_template", text);
}

}  // namespace

void export_tokenizer(const fs::path& folder, const Config& config, int64_t rows, GgufExport& to) {
  std::error_code error;
  if (!fs::exists(folder / "tokenizer.json", error)) {
    if (const fs::path world = folder / text::pipeline::world_vocabulary_file; fs::exists(world, error)) {
      export_world(world, rows, to);
      return write_template(folder, to);
    }
    if (!fs::exists(folder / "tokenizer.model", error)) {
      to.notes.emplace_back("the folder has no tokenizer.json: the GGUF file supports token ids only");
      return;
    }
    export_sentencepiece(folder, rows, to);
    return write_template(folder, to);
  }
  try {
    TokenizerExport(folder, config, rows, to).write();
    write_template(folder, to);
  } catch (const Json::exception& e) { fail<WeightError>("{}: {}", (folder / "tokenizer.json").string(), e.what()); }
}

}  // namespace hearth::api
