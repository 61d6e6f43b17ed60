// From a prompt to the tokens of a language model that encodes it: as a message of a chat, in the template of the checkpoint.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "hearth/hearth.h"
#include "models/image_family.h"
#include "parts/decoder/text_encoder.h"
#include "text/prompt/prompt.h"
#include "text/template/chat_template.h"
#include "text/tokenizer/tokenizer.h"

namespace hearth::models::language_encoder {

// What surrounds a prompt.
struct ChatForm {
  std::string_view system = {};       // a message in front; empty: none
  bool parts = false;                 // a message's content is a list with one part, {"type": "text", …}
  bool generation_prompt = true;      // the beginning of an answer follows
  std::string_view variables = "{}";  // of the template: {"enable_thinking": true}
  bool special_tokens = true;         // those that the tokenizer adds, besides the template's
  // In place of a template: the texts in front of the prompt and behind it. The checkpoint needs no template then.
  std::string_view in_front = {}, behind = {};
};

// How many tokens a row has.
struct RowLength {
  int64_t most = 512;  // what follows is cut off
  bool pads = false;   // shorter rows are padded to `most`
};

struct Row {
  parts::PaddedText text;
  std::string warning;  // what was cut off, in one line; empty if nothing
};

// A checkpoint's tokenizer and chat template.
class ChatTokenizer {
 public:
  // `tokenizer`: the component; if the text encoder `encoder` is a GGUF file, its own. IoError, WeightError or UnsupportedError if one
  // cannot be read. `has_template`: false if prompts are put between texts of their own (ChatForm::in_front).
  ChatTokenizer(const Checkpoint& checkpoint, std::string_view tokenizer, std::string_view encoder, bool has_template = true);

  // The prompt between the texts of the form. Errors of the template.
  std::string render(std::string_view prompt, const ChatForm& form) const;
  // As transformers' tokenizer(…, truncation=True), and padding="max_length" if it pads: with the padding token, on the side that
  // tokenizer_config.json names.
  Row row_of(std::string_view prompt, text::PromptRole role, const ChatForm& form, const RowLength& length) const;

  const text::Tokenizer& tokenizer() const { return tokenizer_; }

 private:
  text::Tokenizer tokenizer_;
  std::optional<text::ChatTemplate> template_;
  bool pads_left_ = false;
};

// The text that a prompt stands for in a syntax. Plain and in ComfyUI, which does not weight the texts of language models, it is the
// prompt itself. In A1111's syntax brackets of weight 1 are removed; UnsupportedError for weights, prompt editing and AND.
std::string text_in(std::string_view prompt, text::PromptSyntax syntax, text::Emphasis emphasis);

// For `hearth tokenize`.
class ChatPromptReader final : public PromptReader {
 public:
  ChatPromptReader(ChatTokenizer tokenizer, std::string encoder, ChatForm form, RowLength length);

  Tokens tokenize(std::string_view text, bool special_tokens) const override;
  std::string detokenize(const std::vector<int32_t>& ids) const override;
  ReadPrompt read(std::string_view prompt, text::PromptSyntax syntax, text::Emphasis emphasis, const PromptReading& reading,
                  Backend& device) const override;

 private:
  ChatTokenizer tokenizer_;
  std::string encoder_;
  ChatForm form_;
  RowLength length_;
};

}  // namespace hearth::models::language_encoder
