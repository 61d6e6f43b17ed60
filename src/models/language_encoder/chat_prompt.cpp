#include "models/language_encoder/chat_prompt.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "models/gguf_wording.h"
#include "models/language_encoder/tokenizer.h"
#include "text/prompt/prompt_schedule.h"
#include "text/prompt/weighted_text.h"
#include "text/template/chat_files.h"
#include "weights/gguf/gguf.h"

namespace hearth::models::language_encoder {
namespace {

using Json = nlohmann::ordered_json;

text::ChatTemplate template_of(const Checkpoint& checkpoint, std::string_view component) {
  const std::string place = checkpoint.place_of(component);
  const text::ChatFiles files =
      text::ChatFiles::read([&](const std::string& name) { return checkpoint.text_file(component, name); }, place);
  if (files.templates.empty()) fail<WeightError>("{}: has no chat template, which prompts are put in", place);
  return {files.templates, files.special_tokens, place};
}

text::ChatTemplate template_of(const GgufFile& file, const text::Tokenizer& t) {
  const auto templates = gguf_chat_templates(file.metadata());
  if (templates.empty()) fail<WeightError>("{}: has no chat template, which prompts are put in", file.describe());
  std::map<std::string, std::string> special;
  const auto add = [&](const char* name, const std::string& token) {
    if (!token.empty()) special[name] = token;
  };
  add("bos_token", t.bos_token()), add("eos_token", t.eos_token());
  add("unk_token", t.unk_token()), add("pad_token", t.pad_token());
  return {templates, special, file.describe()};
}

// As transformers: what tokenizer_config.json says, else that of the class.
bool pads_left(const Checkpoint& checkpoint, std::string_view component) {
  const auto text = checkpoint.text_file(component, "tokenizer_config.json");
  if (!text) return false;
  const Config config = Config::parse(*text, checkpoint.place_of(component) + "/tokenizer_config.json");
  const std::string of_class = config.text("tokenizer_class", "").starts_with("LlamaTokenizer") ? "left" : "right";
  const std::string side = config.text("padding_side", of_class);
  if (side != "left" && side != "right") fail<WeightError>("{}: 'padding_side' is '{}', expected left or right", config.where(), side);
  return side == "left";
}

}  // namespace

ChatTokenizer::ChatTokenizer(const Checkpoint& checkpoint, std::string_view tokenizer, std::string_view encoder, bool has_template)
    : tokenizer_(tokenizer_of(checkpoint, tokenizer, encoder)), pads_left_(!checkpoint.gguf(encoder) && pads_left(checkpoint, tokenizer)) {
  if (!has_template) return;
  const GgufFile* gguf = checkpoint.gguf(encoder);
  template_ = gguf ? template_of(*gguf, tokenizer_) : template_of(checkpoint, tokenizer);
}

std::string ChatTokenizer::render(std::string_view prompt, const ChatForm& form) const {
  if (!form.in_front.empty() || !form.behind.empty()) return fmt::format("{}{}{}", form.in_front, prompt, form.behind);
  Json messages = Json::array();
  const auto add = [&](const char* role, std::string_view text) {
    Json content = text;
    if (form.parts) content = Json::array({Json{{"type", "text"}, {"text", text}}});
    messages.push_back(Json{{"role", role}, {"content", std::move(content)}});
  };
  if (!form.system.empty()) add("system", form.system);
  add("user", prompt);
  return template_.value().render({.messages = messages.dump(-1, ' ', false, Json::error_handler_t::replace),
                                   .add_generation_prompt = form.generation_prompt,
                                   .variables = std::string(form.variables)});
}

Row ChatTokenizer::row_of(std::string_view prompt, text::PromptRole role, const ChatForm& form, const RowLength& length) const {
  if (length.most < 1) fail<UsageError>("prompt: {} tokens for the text encoder, expected at least 1", length.most);
  Row row;
  std::vector<int32_t> ids = tokenizer_.encode(render(prompt, form), {.add_special_tokens = form.special_tokens});
  if (ids.empty()) fail<UsageError>("{}: no tokens, expected at least one", in_words(role));
  row.warning = cut_off(ids, length.most, role, tokenizer_);
  const size_t missing = length.pads ? size_t(length.most) - ids.size() : 0;
  if (missing > 0 && !tokenizer_.pad()) fail<WeightError>("the tokenizer of the text encoder has no padding token, expected one");
  row.text.begin = pads_left_ ? int64_t(missing) : 0;
  row.text.end = row.text.begin + int64_t(ids.size());
  if (missing > 0) ids.insert(pads_left_ ? ids.begin() : ids.end(), missing, *tokenizer_.pad());
  row.text.ids = std::move(ids);
  return row;
}

std::string text_in(std::string_view prompt, text::PromptSyntax syntax, text::Emphasis emphasis) {
  if (syntax != text::PromptSyntax::a1111) return std::string(prompt);
  const std::vector<text::WeightedPrompt> parts = text::split_at_and(prompt);
  if (parts.size() != 1 || parts[0].weight != 1)
    fail<UnsupportedError>("prompt: AND and a weight of the whole prompt are not supported for a text encoder that is a language model");
  const std::vector<text::ScheduledText> schedule = text::prompt_schedule(parts[0].text, 1);
  if (text::prompt_schedule(parts[0].text, 1000).size() != 1)
    fail<UnsupportedError>("prompt: texts that change during the run are not supported for a text encoder that is a language model");
  if (emphasis == text::Emphasis::none) return schedule[0].text;
  std::string all;
  for (const text::WeightedText& part : text::a1111_weights(schedule[0].text)) {
    if (part.chunk_break) continue;
    if (part.weight != 1 && emphasis != text::Emphasis::ignore)
      fail<UnsupportedError>("prompt: weights are not supported for a text encoder that is a language model, but '{}' has {}", part.text,
                             part.weight);
    all += part.text;
  }
  return all;
}

ChatPromptReader::ChatPromptReader(ChatTokenizer tokenizer, std::string encoder, ChatForm form, RowLength length)
    : tokenizer_(std::move(tokenizer)), encoder_(std::move(encoder)), form_(form), length_(length) {}

Tokens ChatPromptReader::tokenize(std::string_view text, bool special_tokens) const {
  text::Tokenizer::Encoding all = tokenizer_.tokenizer().encode_with_pieces(text, {.add_special_tokens = special_tokens});
  return {.ids = std::move(all.ids), .pieces = std::move(all.pieces)};
}

std::string ChatPromptReader::detokenize(const std::vector<int32_t>& ids) const { return tokenizer_.tokenizer().decode(ids); }

ReadPrompt ChatPromptReader::read(std::string_view prompt, text::PromptSyntax syntax, text::Emphasis emphasis, const PromptReading& reading,
                                  Backend&) const {
  const std::string text = text_in(prompt, syntax, emphasis);
  const Row row = tokenizer_.row_of(text, text::PromptRole::positive, form_, length_);
  std::vector<PromptToken> tokens;
  for (int64_t i = row.text.begin; i < row.text.end; ++i) {
    const int32_t id = row.text.ids[size_t(i)];
    tokens.push_back({.id = id, .piece = tokenizer_.tokenizer().piece(id).value_or("")});
  }
  ReadPrompt out{.encoder = encoder_};
  out.conditions.push_back({.texts = {{.end = reading.steps, .text = text, .chunks = {std::move(tokens)}}}});
  if (!row.warning.empty()) out.warnings.push_back(row.warning);
  return out;
}

}  // namespace hearth::models::language_encoder
