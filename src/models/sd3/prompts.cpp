#include "models/sd3/prompts.h"

#include <set>

#include "core/error.h"
#include "models/diffusion/finite.h"
#include "models/option.h"
#include "models/request.h"
#include "ops/shape_ops.h"
#include "text/prompt/prompt_schedule.h"

namespace hearth::models::sd3 {
namespace {

using diffusion::EncodedCondition, diffusion::EncodedEntry, diffusion::EncodedPrompt;

constexpr int64_t standard_rows = 256, rows_of_comfyui = 77;

bool declines_t5(const Request& r) { return option_of<int64_t>(r.options, "no_t5").value_or(0) != 0; }

// x [1, T, C] with zeros up to `width`.
Tensor widened_to(const Tensor& x, int64_t width) {
  if (x.size(2) == width) return x;
  return ops::concat({x, Tensor::zeros(x.backend(), {1, x.size(1), width - x.size(2)})}, 2);
}

}  // namespace

Sd3Prompts::Sd3Prompts(const Sd3Config& config, std::vector<diffusion::Slot<parts::ClipTextModel>> slots,
                       std::optional<diffusion::Slot<parts::T5EncoderModel>> t5, const ImageTask& task, bool use_negative, Backend& host,
                       ResolvedImage& resolved)
    : config_(config),
      t5_(declines_t5(task.request) ? std::nullopt : t5),
      texts_(config.towers, std::move(slots), {.clip_skip = 2, .final_norm = false, .pooled_unprojected = true}, task, use_negative, host,
             resolved) {
  const Request& request = task.request;
  if (!t5_) {
    if (!declines_t5(request) && config.has_t5 == Sd3Config::T5::lacking)
      fail<UsageError>(
          "generate: the checkpoint lacks its third text encoder (T5), expected one with --text-encoder-3, or --no-t5 to do without it");
    for (const char* option : {"prompt_3", "negative_prompt_3"})
      if (request.options.contains(option))
        fail<UsageError>("generate: {} is for the third text encoder (T5), which {}", option,
                         declines_t5(request) ? "the run does without" : "the checkpoint does not have");
  }
  if (t5_ && !request.embeddings.empty())
    fail<UnsupportedError>("generate: embeddings are not supported by the third text encoder (T5), expected --no-t5");
  const text::PromptSyntax syntax = syntax_of(request);
  const auto asked = option_of<int64_t>(request.options, "max_sequence_length");
  // A1111 gives T5 as many tokens as CLIP's chunks have. ComfyUI has a least number, and no rows without T5.
  const int64_t of_clip = resolved.chunks * config.towers[0].tokenizer.model_max_length();
  const int64_t rows = asked.value_or(syntax == text::PromptSyntax::plain     ? standard_rows
                                      : syntax == text::PromptSyntax::comfyui ? rows_of_comfyui
                                                                              : of_clip);
  resolved.options["max_sequence_length"] = rows;
  zero_rows_ = syntax == text::PromptSyntax::comfyui && !asked ? 0 : rows;
  if (!has_negative() && !clip::text_of(request, text::PromptRole::negative, 0).empty())
    clip::add_warning(fmt::format("guidance {} is at most 1: the negative prompt is ignored", resolved.guidance.scale), resolved);
  if (!t5_) return;
  const t5::RowReading reading{.syntax = syntax, .emphasis = emphasis_of(request), .length = rows};
  rows_.push_back(read_rows(task, text::PromptRole::positive, reading, resolved));
  if (has_negative()) rows_.push_back(read_rows(task, text::PromptRole::negative, reading, resolved));
}

Sd3Prompts::RowConditions Sd3Prompts::read_rows(const ImageTask& task, text::PromptRole role, const t5::RowReading& reading,
                                                ResolvedImage& resolved) const {
  // Conditions, steps and texts are those of the syntax; the tokens in it are CLIP's and are not used.
  const text::PromptReading of_clip = {
      .syntax = reading.syntax, .emphasis = reading.emphasis, .steps = task.request.steps, .before = task.steps_before};
  const text::Prompt parsed = text::read_prompt(clip::text_of(task.request, role, 2), role, of_clip, config_.towers[0].tokenizer, {});
  clip::require_same_parts(texts_.prompt(role == text::PromptRole::positive ? 0 : 1), parsed);
  RowConditions conditions;
  for (const text::Condition& condition : parsed.conditions) {
    std::vector<RowEntry>& entries = conditions.emplace_back();
    for (const text::PromptEntry& entry : condition.entries) {
      entries.push_back({entry.end, t5::read_row(entry.text, role, reading, *config_.t5_tokenizer)});
      if (const std::string& warning = entries.back().row.warning; !warning.empty()) clip::add_warning(warning, resolved);
    }
  }
  return conditions;
}

std::vector<std::string> Sd3Prompts::unused() const {
  return t5_ || config_.has_t5 != Sd3Config::T5::present ? std::vector<std::string>() : std::vector<std::string>{"text_encoder_3"};
}

std::vector<EncodedPrompt> Sd3Prompts::encode(const diffusion::Loaded& networks, Backend& host) const {
  const size_t count = has_negative() ? 2 : 1;
  const int64_t width = config_.transformer.text_width;
  const std::vector<EncodedPrompt> of_clip = texts_.encode(networks, host, count);
  std::vector<t5::Row> rows;
  for (const RowConditions& prompt : rows_)
    for (const auto& condition : prompt)
      for (const RowEntry& entry : condition) rows.push_back(entry.row);
  std::vector<Tensor> states;
  if (t5_) states = t5::encode_rows(networks[*t5_], rows, *config_.t5_tokenizer);
  for (Tensor& z : states) {
    z = z.to(host);
    diffusion::require_finite(z, "text_encoder_3", "its states");
  }

  std::vector<EncodedPrompt> out;
  size_t first = 0;  // row of the condition
  for (size_t k = 0; k < count; ++k) {
    EncodedPrompt& prompt = out.emplace_back();
    for (size_t c = 0; c < of_clip[k].conditions.size(); ++c) {
      const EncodedCondition& theirs = of_clip[k].conditions[c];
      EncodedCondition& condition = prompt.conditions.emplace_back(EncodedCondition{.weight = theirs.weight});
      std::set<int64_t> ends;
      for (const EncodedEntry& entry : theirs.entries) ends.insert(entry.end);
      if (t5_)
        for (const RowEntry& entry : rows_[k][c]) ends.insert(entry.end);
      for (const int64_t end : ends) {
        const diffusion::Conditioning& given = diffusion::given_at(theirs, end);
        std::vector<Tensor> parts{widened_to(given[clip::states], width)};
        if (t5_) parts.push_back(states[first + text::schedule_entry(rows_[k][c], end)]);
        else if (zero_rows_ > 0) parts.push_back(Tensor::zeros(host, {1, zero_rows_, width}));
        EncodedEntry& entry = condition.entries.emplace_back(EncodedEntry{.end = end});
        entry.given.tensors[std::string(clip::states)] = parts.size() == 1 ? parts[0] : ops::concat(parts, 1);
        entry.given.tensors[std::string(clip::pooled)] = given[clip::pooled];
      }
      if (t5_) first += rows_[k][c].size();
    }
  }
  return out;
}

}  // namespace hearth::models::sd3
