// What a family of image models tells the registry.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hearth/prompt.h"
#include "hearth/tokenizer.h"
#include "models/diffusion/latent_model.h"
#include "models/option.h"
#include "weights/checkpoint.h"

namespace hearth::models {

// What stands in the way of a component's use: one line, as opening it would throw; empty where nothing does.
struct ComponentCheck {
  std::string component;  // "unet"; "checkpoint" for what concerns several
  std::string problem;
};

// How one text encoder of a checkpoint reads text; weights are not needed.
class PromptReader {
 public:
  virtual ~PromptReader() = default;
  virtual Tokens tokenize(std::string_view text, bool special_tokens) const = 0;
  virtual std::string detokenize(const std::vector<int32_t>& ids) const = 0;
  // As a run of so many steps takes the prompt in that syntax. Errors of text::read_prompt and of reading the embeddings.
  virtual ReadPrompt read(std::string_view prompt, text::PromptSyntax syntax, text::Emphasis emphasis, const PromptReading& reading,
                          Backend& device) const = 0;
};

struct ImageFamily {
  std::vector<std::string_view> pipelines;      // the classes in model_index.json that it runs
  bool (*claims)(const Checkpoint&) = nullptr;  // which of their checkpoints; absent: all that no other family claims
  // Its files.cpp: what it is in single files, and its built-in configurations; null: diffusers folders alone.
  const ImageFiles* files = nullptr;
  std::vector<Option> options = {};  // its own
  // Built-in configurations whose speed `hearth bench` measures at full size with generated weights.
  std::vector<std::string_view> benchmarks = {};
  // Reads every configuration; no weights.
  std::unique_ptr<diffusion::LatentModel> (*describe)(const Checkpoint& checkpoint);
  // Builds every component without its numbers: what is missing, misshapen, unread or not supported. Reads headers only.
  std::vector<ComponentCheck> (*check)(const Checkpoint& checkpoint, const std::string& variant);
  // Of each text encoder, the first one first. Reads the configurations of tokenizers and text encoders alone.
  std::vector<std::unique_ptr<PromptReader>> (*prompt_readers)(const Checkpoint& checkpoint);
  // The scheduler's file as the family's runs take it.
  sampling::SchedulerConfig (*scheduler)(const Checkpoint& checkpoint);
};

}  // namespace hearth::models
