// Reads the tokenizer.json of the library tokenizers.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "text/clip/clip_readers.h"

namespace hearth::text {

using Json = nlohmann::json;

namespace {

void require(const Json& json, const char* name, const Json& needed, const std::string& where) {
  const Json value = json.is_object() ? json.value(name, Json()) : Json();
  const auto shortened = [](const Json& j) {
    const std::string text = j.dump(-1, ' ', false, Json::error_handler_t::replace);
    return text.size() > 160 ? text.substr(0, 157) + "…" : text;
  };
  if (value != needed) fail<UnsupportedError>("{}: {} is {}, expected CLIP's {}", where, name, shortened(value), shortened(needed));
}

const Json& member(const Json& json, const char* name, Json::value_t type, const std::string& where) {
  const auto it = json.find(name);
  if (it == json.end() || it->type() != type) fail<WeightError>("{}: '{}' is missing or of another type", where, name);
  return *it;
}

// Checks that the pre-tokenizer splits by CLIP's pattern, then converts to bytes. The pattern of transformers 5 starts with the special
// tokens.
WordPattern read_pattern(const Json& given, const std::string& where) {
  const std::string words = R"('s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+)";
  const std::string with_specials = R"(<\|startoftext\|>|<\|endoftext\|>|)" + words;
  require(given, "type", "Sequence", where);
  const Json& stages = member(given, "pretokenizers", Json::value_t::array, where);
  if (stages.size() != 2) fail<UnsupportedError>("{}: has {} stages, expected CLIP's 2", where, stages.size());
  const Json& split = stages[0];
  const Json& bytes = stages[1];
  require(split, "type", "Split", where);
  require(split, "behavior", "Removed", where);
  require(split, "invert", true, where);
  const bool specials = split.value("pattern", Json()) == Json{{"Regex", with_specials}};
  if (!specials) require(split, "pattern", Json{{"Regex", words}}, where);
  require(bytes, "type", "ByteLevel", where);
  require(bytes, "add_prefix_space", false, where);
  if (bytes.contains("use_regex")) require(bytes, "use_regex", true, where);
  return specials ? WordPattern::exact_with_specials : WordPattern::exact;
}

}  // namespace

void read_tokenizer_json(ClipVocabulary& v, TokenList& tokens, const Json& json, const std::string& where) {
  const char* normalizer = R"({"type": "Sequence", "normalizers": [
      {"type": "NFC"}, {"type": "Replace", "pattern": {"Regex": "\\s+"}, "content": " "}, {"type": "Lowercase"}]})";
  require(json, "normalizer", Json::parse(normalizer), where);
  v.fast_pattern = read_pattern(member(json, "pre_tokenizer", Json::value_t::object, where), where + ": pre_tokenizer");

  const Json& model = member(json, "model", Json::value_t::object, where);
  const std::string at = where + ": model";
  require(model, "type", "BPE", at);
  require(model, "end_of_word_suffix", word_end, at);
  for (const char* name : {"fuse_unk", "byte_fallback", "ignore_merges"})
    if (model.contains(name)) require(model, name, false, at);
  if (model.contains("dropout")) require(model, "dropout", nullptr, at);
  if (model.contains("continuing_subword_prefix") && !model.at("continuing_subword_prefix").is_null())
    require(model, "continuing_subword_prefix", "", at);
  read_vocabulary(tokens, member(model, "vocab", Json::value_t::object, at), at);
  MergeList list(tokens, at + ".merges: entry");
  size_t place = 0;
  for (const Json& merge : member(model, "merges", Json::value_t::array, at)) {
    std::string left, right;
    if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
      left = merge[0].get<std::string>();
      right = merge[1].get<std::string>();
    } else if (merge.is_string()) {  // before tokenizers 0.20
      const std::string both = merge.get<std::string>();
      const size_t space = std::min(both.find(' '), both.size());
      left = both.substr(0, space);
      right = both.substr(std::min(space + 1, both.size()));
    }
    if (left.empty() || right.empty() || right.find(' ') != right.npos)
      fail<WeightError>("{}.merges: entry {} is {}, expected two pieces", at, place, merge.dump());
    list.add(left, right, place++);
  }
  v.merges = std::move(list.merges);
}

void check_post_processor(const NamedId& start, const NamedId& end, const Json& json, const std::string& where) {
  const Json& post = member(json, "post_processor", Json::value_t::object, where);
  require(post, "type", "RobertaProcessing", where + ": post_processor");
  require(post, "cls", start, where + ": post_processor");
  require(post, "sep", end, where + ": post_processor");
}

}  // namespace hearth::text
