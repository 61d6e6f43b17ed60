#include "models/t5/text_prompts.h"

#include "core/error.h"
#include "models/clip/towers.h"
#include "models/diffusion/finite.h"
#include "models/option.h"
#include "models/request.h"

namespace hearth::models::t5 {

using text::PromptRole;

RowPrompt read_prompt(std::string_view prompt, PromptRole role, const ImageTask& task, const RowReading& reading,
                      const text::Tokenizer& tokenizer, ResolvedImage& resolved) {
  const text::PromptTexts texts = text::read_texts(
      prompt, role, {.syntax = reading.syntax, .emphasis = reading.emphasis, .steps = task.request.steps, .before = task.steps_before});
  for (const std::string& warning : texts.warnings) clip::add_warning(warning, resolved);
  RowPrompt rows;
  for (const text::PromptTexts::Condition& part : texts.conditions) {
    RowCondition& condition = rows.emplace_back(RowCondition{.weight = part.weight});
    for (const text::ScheduledText& entry : part.texts) {
      condition.entries.push_back({entry.end, read_row(entry.text, role, reading, tokenizer)});
      if (const std::string& warning = condition.entries.back().row.warning; !warning.empty()) clip::add_warning(warning, resolved);
    }
  }
  return rows;
}

RowReading row_reading(const Request& request, const TextRules& rules, ResolvedImage& resolved) {
  const text::PromptSyntax syntax = syntax_of(request);
  const int64_t standard = syntax == text::PromptSyntax::comfyui ? rules.least_rows_in_comfyui : rules.rows;
  const int64_t rows = option_of<int64_t>(request.options, "max_sequence_length").value_or(standard);
  resolved.options["max_sequence_length"] = rows;
  return {.syntax = syntax, .emphasis = emphasis_of(request), .length = rows, .lower = rules.lower};
}

TextPrompts::TextPrompts(std::string_view component, diffusion::Slot<parts::T5EncoderModel> encoder, const text::Tokenizer& tokenizer,
                         const TextRules& rules, const Padding& padding, const ImageTask& task, bool use_negative, ResolvedImage& resolved)
    : component_(component), encoder_(encoder), tokenizer_(tokenizer), padding_(padding) {
  const Request& request = task.request;
  if (!request.embeddings.empty()) fail<UnsupportedError>("generate: embeddings are not supported by a T5 text encoder");
  const RowReading reading = row_reading(request, rules, resolved);
  prompts_.push_back(read_prompt(request.prompt, PromptRole::positive, task, reading, tokenizer, resolved));
  const bool composed = prompts_[0].size() > 1 || prompts_[0][0].weight != 1;
  if (use_negative || composed)
    prompts_.push_back(read_prompt(request.negative_prompt.value_or(""), PromptRole::negative, task, reading, tokenizer, resolved));
  else if (!request.negative_prompt.value_or("").empty())
    clip::add_warning(fmt::format("guidance {} is at most 1: the negative prompt is ignored", resolved.guidance.scale), resolved);
}

std::vector<diffusion::EncodedPrompt> TextPrompts::encode(const diffusion::Loaded& networks, Backend& host) const {
  std::vector<Row> rows;
  for (const RowPrompt& prompt : prompts_)
    for (const RowCondition& condition : prompt)
      for (const RowCondition::Entry& entry : condition.entries) rows.push_back(entry.row);
  const std::vector<Tensor> states = encode_rows(networks[encoder_], rows, tokenizer_, padding_);
  std::vector<diffusion::EncodedPrompt> out;
  size_t next = 0;
  for (const RowPrompt& prompt : prompts_) {
    diffusion::EncodedPrompt& encoded = out.emplace_back();
    for (const RowCondition& condition : prompt) {
      diffusion::EncodedCondition& c = encoded.conditions.emplace_back(diffusion::EncodedCondition{.weight = condition.weight});
      for (const RowCondition::Entry& entry : condition.entries) {
        const Tensor z = states[next++].to(host);
        diffusion::require_finite(z, component_, "its states");
        diffusion::EncodedEntry& e = c.entries.emplace_back(diffusion::EncodedEntry{.end = entry.end});
        e.given.tensors[std::string(text_states)] = z;
        if (padding_.masked) e.given.lengths[std::string(text_states)] = {entry.row.length};
      }
    }
  }
  return out;
}

}  // namespace hearth::models::t5
