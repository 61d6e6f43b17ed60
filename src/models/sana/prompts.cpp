#include "models/sana/prompts.h"

#include <algorithm>

#include "core/error.h"
#include "models/clip/towers.h"
#include "models/diffusion/finite.h"
#include "models/language_encoder/chat_prompt.h"
#include "models/language_encoder/tokenizer.h"
#include "models/request.h"
#include "models/sana/options.h"
#include "ops/shape_ops.h"
#include "text/prompt/words.h"

namespace hearth::models::sana {

const std::string_view instruction =
    "Given a user prompt, generate an 'Enhanced prompt' that provides detailed visual descriptions suitable for image generation. "
    "Evaluate the level of detail in the user prompt:\n"
    "- If the prompt is simple, focus on adding specifics about colors, shapes, sizes, textures, and spatial relationships to create vivid "
    "and concrete scenes.\n"
    "- If the prompt is already detailed, refine and enhance the existing details slightly without overcomplicating.\n"
    "Here are examples of how to transform or refine prompts:\n"
    "- User Prompt: A cat sleeping -> Enhanced: A small, fluffy white cat curled up in a round shape, sleeping peacefully on a warm sunny "
    "windowsill, surrounded by pots of blooming red flowers.\n"
    "- User Prompt: A busy city street -> Enhanced: A bustling city street scene at dusk, featuring glowing street lamps, a diverse crowd "
    "of people in colorful clothing, and a double-decker bus passing by towering glass skyscrapers.\n"
    "Please generate only the enhanced description for the prompt below and avoid including any additional commentary or evaluations:\n"
    "User Prompt: ";

Row row_of(const text::Tokenizer& tokenizer, std::string_view text, text::PromptRole role, std::string_view before, int64_t length) {
  if (length < 1) fail<UsageError>("prompt: {} tokens for the text encoder, expected at least 1", length);
  Row row;
  const auto ids_of = [&](std::string_view t) { return tokenizer.encode(t, {.add_special_tokens = true}); };
  row.ids = ids_of(std::string(before) + text::lowered_and_stripped(text));
  if (row.ids.empty()) fail<UsageError>("{}: no tokens, expected at least one", in_words(role));
  const int64_t places = before.empty() ? length : std::ssize(ids_of(before)) + length - 2;
  if (places < length) fail<UsageError>("prompt: an instruction without tokens, expected a longer one, or none");
  row.warning = language_encoder::cut_off(row.ids, places, role, tokenizer);
  row.rest = std::min(places - length + 1, std::ssize(row.ids));
  return row;
}

Prompts::Prompts(const SanaConfig& config, diffusion::Slot<parts::DecoderTextEncoder> encoder, const ImageTask& task, bool use_negative,
                 ResolvedImage& resolved)
    : encoder_(encoder), limited_(task.request.options.contains(std::string(clamp_attention.name))) {
  const Request& r = task.request;
  if (!r.embeddings.empty()) fail<UnsupportedError>("generate: {} does not support embeddings", family_name);
  const int64_t length = option_of<int64_t>(r.options, max_sequence_length.name).value_or(default_length);
  resolved.options[std::string(max_sequence_length.name)] = length;
  const std::string before = option_of<std::string>(r.options, complex_human_instruction.name).value_or(std::string(instruction));
  const auto read = [&](std::string_view prompt, text::PromptRole role, std::string_view instruction_of_role) {
    Row row = row_of(config.tokenizer, language_encoder::text_in(prompt, syntax_of(r), emphasis_of(r)), role, instruction_of_role, length);
    if (!row.warning.empty()) clip::add_warning(row.warning, resolved);
    rows_.push_back(std::move(row));
  };
  read(r.prompt, text::PromptRole::positive, before);
  const std::string negative = r.negative_prompt.value_or("");
  if (use_negative) read(negative, text::PromptRole::negative, "");
  else if (!negative.empty()) clip::add_warning("the negative prompt is ignored: it requires guidance", resolved);
}

// Texts of a run have equally many rows, so that they can be evaluated together: the transformer attends to those that count.
std::vector<diffusion::EncodedPrompt> Prompts::encode(const diffusion::Loaded& networks, Backend& host) const {
  std::vector<parts::PaddedText> texts;
  int64_t longest = 0;
  const auto rows_of = [](const Row& row) { return 1 + std::ssize(row.ids) - row.rest; };
  for (const Row& row : rows_) {
    texts.push_back({row.ids, 0, std::ssize(row.ids)});
    longest = std::max(longest, rows_of(row));
  }
  const std::vector<std::vector<Tensor>> all = networks[encoder_](texts);
  std::vector<diffusion::EncodedPrompt> prompts;
  for (size_t i = 0; i < rows_.size(); ++i) {
    const Tensor states = all[i][0].to(host);
    diffusion::require_finite(states, "text_encoder", "its states");
    const int64_t T = states.size(0), C = states.size(1), count = rows_of(rows_[i]);
    std::vector<Tensor> parts{states.slice(0, 0, 1)};
    if (rows_[i].rest < T) parts.push_back(states.slice(0, rows_[i].rest, T));
    if (count < longest) parts.push_back(Tensor::zeros(host, {longest - count, C}));
    diffusion::Conditioning given;
    given.tensors[std::string(text_states)] = ops::concat(parts, 0).view({1, longest, C});
    given.lengths[std::string(text_states)] = {count};
    if (limited_) given.tensors[std::string(limited_mark)] = Tensor::zeros(host, {1});
    prompts.push_back({.conditions = {{.entries = {{.given = std::move(given)}}}}});
  }
  return prompts;
}

Tokens SanaPromptReader::tokenize(std::string_view text, bool special_tokens) const {
  text::Tokenizer::Encoding all = tokenizer_.encode_with_pieces(text, {.add_special_tokens = special_tokens});
  return {.ids = std::move(all.ids), .pieces = std::move(all.pieces)};
}

std::string SanaPromptReader::detokenize(const std::vector<int32_t>& ids) const { return tokenizer_.decode(ids); }

ReadPrompt SanaPromptReader::read(std::string_view prompt, text::PromptSyntax syntax, text::Emphasis emphasis, const PromptReading& reading,
                                  Backend&) const {
  const std::string text = language_encoder::text_in(prompt, syntax, emphasis);
  const Row row = row_of(tokenizer_, text, text::PromptRole::positive, instruction, default_length);
  std::vector<PromptToken> tokens;
  for (const int32_t id : row.ids) tokens.push_back({.id = id, .piece = tokenizer_.piece(id).value_or("")});
  ReadPrompt out{.encoder = "text_encoder"};
  out.conditions.push_back(
      {.texts = {
           {.end = reading.steps, .text = std::string(instruction) + text::lowered_and_stripped(text), .chunks = {std::move(tokens)}}}});
  if (!row.warning.empty()) out.warnings.push_back(row.warning);
  return out;
}

}  // namespace hearth::models::sana
