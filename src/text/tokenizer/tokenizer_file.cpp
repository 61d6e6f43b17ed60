#include "text/tokenizer/tokenizer_file.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "text/tokenizer/stage_reader.h"

namespace hearth::text::pipeline {
namespace {

using Json = nlohmann::json;

// Parses a number like serde_json, which the reference uses: all digits that fit in 64 bits, times a power of ten, each rounded. Scores
// that differ in the last bit decide between segmentations of equal length.
double score_of(std::string_view text) {
  constexpr uint64_t most = std::numeric_limits<uint64_t>::max();
  uint64_t digits = 0;
  int64_t exponent = 0;
  bool behind_point = false, full = false;
  size_t i = text.starts_with('-');
  for (; i < text.size() && text[i] != 'e' && text[i] != 'E'; ++i) {
    if (text[i] == '.') {
      behind_point = true;
      continue;
    }
    const auto digit = uint64_t(text[i] - '0');
    full = full || digits > (most - digit) / 10;
    if (!full) digits = digits * 10 + digit;
    if (full != behind_point) exponent += full ? 1 : -1;
  }
  if (i < text.size()) {
    const bool plus = text[i + 1] == '+';
    int written = 0;
    const auto [end, error] = std::from_chars(text.data() + i + 1 + plus, text.data() + text.size(), written);
    exponent += error == std::errc() ? written : text[i + 1] == '-' ? -100000 : 100000;
  }
  auto value = double(digits);
  for (; exponent < -308 && value != 0; exponent += 308) value /= 1e308;
  double power = 0;
  const std::string written_power = fmt::format("1e{}", std::abs(exponent));
  std::from_chars(written_power.data(), written_power.data() + written_power.size(), power);
  if (value != 0) value = exponent < 0 ? value / power : value * power;
  return text.starts_with('-') ? -value : value;
}

// Receives the parser's events. Adds vocabulary and merges directly to their lists; everything else becomes JSON.
class Receiver : public nlohmann::json_sax<Json> {
 public:
  Receiver(TokenizerFile& file, std::string_view text, const std::string& where) : file_(file), text_(text), where_(where) {}

  bool null() override { return value(nullptr); }
  bool boolean(bool v) override { return value(v); }
  bool number_integer(int64_t v) override { return number(v, double(v)); }
  bool number_unsigned(uint64_t v) override {
    if (v > uint64_t(std::numeric_limits<int64_t>::max())) return mode_ == Mode::json ? value(v) : wrong();
    return number(int64_t(v), double(v));
  }
  bool number_float(double v, const std::string& digits) override { return mode_ == Mode::scores ? score(score_of(digits)) : value(v); }
  bool binary(Json::binary_t&) override { return wrong(); }
  bool string(std::string& v) override {
    if (mode_ == Mode::merges) return merge_text(v);
    if (mode_ == Mode::scores) return score_text(v);
    return value(std::move(v));
  }
  bool key(std::string& v) override {
    if (mode_ == Mode::vocabulary) {
      token_ = std::move(v);
      return true;
    }
    if (frames_.back().value->contains(v)) fail<IoError>("{}: an object has the key '{}' twice", where_, v);
    frames_.back().key = std::move(v);
    return true;
  }
  bool start_object(size_t) override {
    if (mode_ == Mode::json && in_model("vocab")) return enter(Mode::vocabulary);
    return mode_ == Mode::json ? open(Json::object()) : wrong();
  }
  bool start_array(size_t) override {
    if (mode_ == Mode::json && in_model("vocab")) return enter(Mode::scores);
    if (mode_ == Mode::json && in_model("merges")) return enter(Mode::merges);
    if (mode_ == Mode::json) return open(Json::array());
    if (mode_ == Mode::vocabulary || in_pair_) return wrong();
    in_pair_ = true;
    pair_.clear();
    has_score_ = false;
    return true;
  }
  bool end_object() override {
    if (mode_ == Mode::json) return close();
    mode_ = Mode::json;
    return true;
  }
  bool end_array() override {
    if (mode_ == Mode::json) return close();
    if (!in_pair_) {
      mode_ = Mode::json;
      return true;
    }
    in_pair_ = false;
    if (mode_ == Mode::merges) {
      if (pair_.size() != 2) return wrong();
      file_.merges.emplace_back(std::move(pair_[0]), std::move(pair_[1]));
    } else {
      if (pair_.size() != 1 || !has_score_) return wrong();
      file_.scores.emplace_back(std::move(pair_[0]), score_);
    }
    return true;
  }
  bool parse_error(size_t at, const std::string&, const Json::exception& e) override {
    if (dynamic_cast<const Json::out_of_range*>(&e)) fail<IoError>("{}: holds a number that is too large", where_);
    fail<IoError>("{}: invalid JSON at line {}", where_, 1 + std::ranges::count(text_.substr(0, at), '\n'));
  }

 private:
  enum class Mode { json, vocabulary, scores, merges };

  // Whether the value that starts here is this member of "model".
  bool in_model(std::string_view name) const { return frames_.size() == 2 && frames_[0].key == "model" && frames_[1].key == name; }
  bool enter(Mode mode) {
    place(nullptr);
    mode_ = mode;
    in_pair_ = false;
    return true;
  }
  [[noreturn]] bool wrong() const {
    const char* name = mode_ == Mode::merges ? "merges" : "vocab";
    const char* needed =
        mode_ == Mode::merges ? "a list of \"left right\" or [\"left\", \"right\"]" : "an object of ids, or a list of [\"token\", score]";
    fail<WeightError>("{}: model.{} is not {}", where_, name, needed);
  }

  bool number(int64_t v, double as_double) {
    if (mode_ == Mode::vocabulary) {
      file_.vocabulary.emplace_back(std::move(token_), v);
      return true;
    }
    return mode_ == Mode::scores ? score(as_double) : value(v);
  }
  bool score(double v) {
    if (!in_pair_ || has_score_ || pair_.size() != 1) return wrong();
    score_ = v;
    has_score_ = true;
    return true;
  }
  bool score_text(std::string& v) {
    if (!in_pair_ || !pair_.empty()) return wrong();
    pair_.push_back(std::move(v));
    return true;
  }
  bool merge_text(std::string& v) {
    if (in_pair_) {
      pair_.push_back(std::move(v));
      return true;
    }
    if (v.starts_with("#version")) return true;
    const size_t space = v.find(' ');
    if (space == v.npos || v.find(' ', space + 1) != v.npos)
      fail<WeightError>("{}: the merge '{}' is malformed, expected two tokens with one space between", where_, v);
    file_.merges.emplace_back(v.substr(0, space), v.substr(space + 1));
    return true;
  }

  bool value(Json v) {
    if (mode_ != Mode::json) return wrong();
    place(std::move(v));
    return true;
  }
  Json* place(Json v) {
    if (frames_.empty()) return &(*file_.rest = std::move(v));
    Json& parent = *frames_.back().value;
    return parent.is_array() ? &parent.emplace_back(std::move(v)) : &(parent[frames_.back().key] = std::move(v));
  }
  bool open(Json v) {
    constexpr size_t deepest = 100;
    if (frames_.size() == deepest) fail<IoError>("{}: lists and objects are nested more than {} levels deep", where_, deepest);
    frames_.push_back({place(std::move(v)), {}});
    return true;
  }
  bool close() {
    frames_.pop_back();
    return true;
  }

  TokenizerFile& file_;
  std::string_view text_;
  const std::string& where_;
  Mode mode_ = Mode::json;
  struct Frame {
    Json* value;
    std::string key;  // of the next member
  };
  std::vector<Frame> frames_;  // the lists and objects that are open
  std::string token_;
  std::vector<std::string> pair_;
  double score_ = 0;
  bool in_pair_ = false, has_score_ = false;
};

// Older files do not state the type.
std::string type_of(const Json& model, const TokenizerFile& file) {
  if (model.contains("type") && model["type"].is_string()) return model["type"].get<std::string>();
  if (!file.merges.empty()) return "BPE";
  if (model.contains("max_input_chars_per_word")) return "WordPiece";
  return file.scores.empty() ? "WordLevel" : "Unigram";
}

std::unique_ptr<Model> make_model(TokenizerFile& file) {
  if (!file.rest->contains("model") || !(*file.rest)["model"].is_object()) fail<WeightError>("tokenizer: \"model\" is missing");
  Json& json = (*file.rest)["model"];
  json["type"] = type_of(json, file);
  const StageReader stage(json, "model");
  const std::string& type = stage.type();
  if (type == "BPE") {
    if (stage.has("dropout") && stage.member("dropout") != 0)
      fail<UnsupportedError>("tokenizer: dropout {} of the BPE model is not supported, expected 0", short_dump(stage.member("dropout")));
    return make_byte_pairs(std::move(file.vocabulary), file.merges,
                           {.unk_token = stage.text_or_empty("unk_token"),
                            .continuing_subword_prefix = stage.text_or_empty("continuing_subword_prefix"),
                            .end_of_word_suffix = stage.text_or_empty("end_of_word_suffix"),
                            .fuse_unk = stage.flag("fuse_unk", false),
                            .byte_fallback = stage.flag("byte_fallback", false),
                            .ignore_merges = stage.flag("ignore_merges", false)});
  }
  constexpr int64_t most = int64_t(1) << 62;
  if (type == "Unigram") {
    const int64_t unk = stage.has("unk_id") ? stage.integer("unk_id", 0, std::numeric_limits<int32_t>::max()) : -1;
    return make_unigram(file.scores, {.unk = int32_t(unk), .byte_fallback = stage.flag("byte_fallback", false)});
  }
  if (type == "WordPiece")
    return make_word_piece(std::move(file.vocabulary), stage.text("unk_token"), stage.text("continuing_subword_prefix"),
                           stage.integer("max_input_chars_per_word", 0, most));
  if (type == "WordLevel") return make_word_level(std::move(file.vocabulary), stage.text("unk_token"));
  stage.unknown();
}

}  // namespace

TokenizerFile parse_tokenizer_file(std::string_view text, const std::string& where) {
  TokenizerFile file;
  file.rest = std::make_shared<Json>();
  Receiver receiver(file, text, where);
  Json::sax_parse(text, &receiver);
  if (!file.rest->is_object()) fail<WeightError>("{}: the contents are not an object, expected a JSON object", where);
  if (const Json version = file.rest->value("version", Json("1.0")); version != "1.0")
    fail<UnsupportedError>("{}: the version is {}, expected \"1.0\"", where, short_dump(version));
  return file;
}

AddedToken added_token_of(const Json& json) {
  const auto flag = [&json](const char* name, bool otherwise) {
    if (!json.contains(name)) return otherwise;
    if (!json[name].is_boolean())
      fail<WeightError>("tokenizer: \"{}\" of an added token is {}, expected true or false", name, short_dump(json[name]));
    return json[name].get<bool>();
  };
  if (!json.is_object() || !json.contains("content") || !json["content"].is_string())
    fail<WeightError>("tokenizer: an added token is {}, expected an object with a \"content\"", short_dump(json));
  const bool special = flag("special", false);
  return {.content = json["content"].get<std::string>(),
          .single_word = flag("single_word", false),
          .lstrip = flag("lstrip", false),
          .rstrip = flag("rstrip", false),
          .normalized = flag("normalized", !special),
          .special = special};
}

std::shared_ptr<Tokenizer::Data> make_tokenizer(TokenizerFile file) {
  const Json none;
  const auto stage = [&](const char* name) -> const Json& { return file.rest->contains(name) ? (*file.rest)[name] : none; };
  auto data = std::make_shared<Tokenizer::Data>();
  data->normalizer = make_normalizer(stage("normalizer"));
  data->pre_tokenizer = make_pre_tokenizer(stage("pre_tokenizer"));
  data->post_processor = make_post_processor(stage("post_processor"));
  data->decoder = make_decoder(stage("decoder"));
  data->model = make_model(file);
  const Json& added = stage("added_tokens");
  if (!added.is_null() && !added.is_array()) fail<WeightError>("tokenizer: \"added_tokens\" is {}, expected a list", short_dump(added));
  for (const Json& token : added) data->added.add(added_token_of(token), *data->model);
  return data;
}

}  // namespace hearth::text::pipeline
