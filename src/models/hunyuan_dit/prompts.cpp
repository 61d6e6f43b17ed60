#include "models/hunyuan_dit/prompts.h"

#include "core/error.h"
#include "models/clip/towers.h"
#include "models/diffusion/finite.h"
#include "models/request.h"
#include "models/stable_diffusion/size_options.h"

namespace hearth::models::hunyuan_dit {

using text::PromptRole;

Inputs inputs_of(const diffusion::Conditioning& given, std::span<const float> timesteps) {
  const auto lengths = [&](std::string_view name) { return given.lengths.find(name)->second; };
  return {.text = given[bert_states],
          .t5 = given[t5_states],
          .text_lengths = lengths(bert_states),
          .t5_lengths = lengths(t5_states),
          .timesteps = timesteps,
          .sizes = given[sizes_given]};
}

t5::RowReading bert_reading(const text::Tokenizer& tokenizer, int64_t rows) {
  const std::vector<int32_t> ends = tokenizer.encode("");
  return {.length = rows, .ends = {.start = ends.front(), .end = ends.back(), .encoder = "BERT"}};
}

SizeConditions size_conditions(const OptionValues& given, int64_t height, int64_t width) {
  using stable_diffusion::Pair;  // width and height, or x and y
  const auto value = [&](const Option& option, const Pair& otherwise) { return option_of<Pair>(given, option.name).value_or(otherwise); };
  const Pair original = value(stable_diffusion::original_size, {1024, 1024}),
             target = value(stable_diffusion::target_size, {width, height}), corner = value(stable_diffusion::crop, {0, 0});
  return {float(original[1]), float(original[0]), float(target[1]), float(target[0]), float(corner[1]), float(corner[0])};
}

t5::RowReading t5_reading(int64_t rows) { return {.length = rows}; }

Prompts::Prompts(const HunyuanConfig& config, const Encoders& encoders, const ImageTask& task, bool use_negative, ResolvedImage& resolved)
    : config_(config),
      encoders_(encoders),
      readings_{bert_reading(config.tokenizer, config.transformer.text_rows), t5_reading(config.transformer.t5_rows)} {
  const Request& request = task.request;
  sizes_ = size_conditions(request.options, resolved.height, resolved.width);
  if (!request.embeddings.empty()) fail<UnsupportedError>("generate: embeddings are not supported by {}", family_name);
  const std::array tokenizers{&config.tokenizer, &config.t5_tokenizer};
  for (size_t k = 0; k < 2; ++k) {
    t5::RowReading& reading = readings_[k];
    reading.syntax = syntax_of(request), reading.emphasis = emphasis_of(request);
    const auto read = [&](PromptRole role, const std::string& text) {
      prompts_[k].push_back(t5::read_prompt(text, role, task, reading, *tokenizers[k], resolved));
      for (const t5::RowCondition& condition : prompts_[k].back())
        for (const t5::RowCondition::Entry& entry : condition.entries)
          if (const auto ids = int64_t(entry.row.ids.size()); ids != *reading.length)
            fail<UsageError>("generate: a text has {} tokens for {}, expected at most {} (other syntaxes than comfyui truncate it)", ids,
                             reading.ends.encoder, *reading.length);
    };
    read(PromptRole::positive, request.prompt);
    const bool composed = prompts_[k][0].size() > 1 || prompts_[k][0][0].weight != 1;
    if (use_negative || composed) read(PromptRole::negative, request.negative_prompt.value_or(""));
  }
  if (!has_negative() && !request.negative_prompt.value_or("").empty())
    clip::add_warning(fmt::format("guidance {} is at most 1: the negative prompt is ignored", resolved.guidance.scale), resolved);
}

std::vector<diffusion::EncodedPrompt> Prompts::encode(const diffusion::Loaded& networks, Backend& host) const {
  const auto rows_of = [&](size_t k) {
    std::vector<t5::Row> rows;
    for (const t5::RowPrompt& prompt : prompts_[k])
      for (const t5::RowCondition& condition : prompt)
        for (const t5::RowCondition::Entry& entry : condition.entries) rows.push_back(entry.row);
    return rows;
  };
  constexpr t5::Padding padding{.masked = true};
  const parts::BertModel& bert = networks[encoders_.bert];
  const parts::T5EncoderModel& t5 = networks[encoders_.t5];
  const auto encode_bert = [&](const auto& ids, const auto& lengths) { return bert(ids, lengths); };
  const std::vector<Tensor> of_bert = t5::encode_rows(encode_bert, rows_of(0), config_.tokenizer, readings_[0].ends, padding),
                            of_t5 = t5::encode_rows(t5, rows_of(1), config_.t5_tokenizer, padding);
  std::vector<diffusion::EncodedPrompt> out;
  size_t next = 0;
  for (size_t p = 0; p < prompts_[0].size(); ++p) {
    diffusion::EncodedPrompt& encoded = out.emplace_back();
    for (size_t c = 0; c < prompts_[0][p].size(); ++c) {
      const t5::RowCondition& condition = prompts_[0][p][c];
      diffusion::EncodedCondition& to = encoded.conditions.emplace_back(diffusion::EncodedCondition{.weight = condition.weight});
      for (size_t i = 0; i < condition.entries.size(); ++i, ++next) {
        diffusion::EncodedEntry& entry = to.entries.emplace_back(diffusion::EncodedEntry{.end = condition.entries[i].end});
        const auto put = [&](std::string_view name, const Tensor& states, const t5::Row& row, std::string_view component) {
          const Tensor z = states.to(host);
          diffusion::require_finite(z, component, "its states");
          entry.given.tensors[std::string(name)] = z, entry.given.lengths[std::string(name)] = {row.length};
        };
        put(bert_states, of_bert[next], condition.entries[i].row, "text_encoder");
        if (config_.transformer.conditions) entry.given.tensors[std::string(sizes_given)] = embed_sizes(host, sizes_);
        put(t5_states, of_t5[next], prompts_[1][p][c].entries[i].row, "text_encoder_2");
      }
    }
  }
  return out;
}

}  // namespace hearth::models::hunyuan_dit
