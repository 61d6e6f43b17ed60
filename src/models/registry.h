// The families that this build knows. A family is a folder here; its entry() is the only thing that it tells the rest.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "models/language_model.h"
#include "models/text_to_image.h"
#include "weights/checkpoint.h"
#include "weights/language_checkpoint.h"

namespace hearth::models {

// What stands in the way of a component's use: one line, as opening it would throw; empty where nothing does.
struct ComponentCheck {
  std::string component;  // "unet"; "checkpoint" for what concerns several
  std::string problem;
};

// A text encoder as its prompts need it.
struct PromptEncoder {
  std::string name;  // "text_encoder"
  text::ClipTokenizer tokenizer;
  std::string embedding;  // its vectors in a file of textual inversion: "clip_l"
  int64_t width = 0;      // of these
};

struct TextToImageFamily {
  std::vector<std::string_view> pipelines;      // the classes in model_index.json that it runs
  bool (*claims)(const Checkpoint&) = nullptr;  // which of their checkpoints; absent: all that no other family claims
  // Loads everything; all or nothing. The checkpoint must outlive nothing: what is needed of it is kept.
  std::unique_ptr<TextToImage> (*open)(const Checkpoint& checkpoint, Backend& device, const LoadRequest& request);
  // Builds every component without its numbers: what is missing, misshapen, unread or not supported. Reads headers only.
  std::vector<ComponentCheck> (*check)(const Checkpoint& checkpoint, const std::string& variant);
  // Reads the configurations of tokenizers and text encoders alone.
  std::vector<PromptEncoder> (*prompt_encoders)(const Checkpoint& checkpoint);
  // The scheduler's file as the family's runs take it.
  sampling::SchedulerConfig (*scheduler)(const Checkpoint& checkpoint);
};

struct LanguageFamily {
  std::vector<std::string_view> model_types;  // in config.json
  // Loads everything; all or nothing.
  std::unique_ptr<LanguageModel> (*open)(const LanguageCheckpoint& checkpoint, Backend& device, const LoadRequest& request);
};

struct Entry {
  std::string_view name;     // "sd1"
  std::string_view summary;  // one line for `hearth list models`
  std::variant<TextToImageFamily, LanguageFamily> task;
};

std::span<const Entry> entries();

template <class Family> struct Found {
  std::string_view name;  // of the entry
  const Family& family;
};
// The family of a checkpoint, by the pipeline class in its model_index.json and by what its families claim. UnsupportedError names the
// class and those that there are.
Found<TextToImageFamily> find_family(const Checkpoint& checkpoint);
// The same by model_type.
Found<LanguageFamily> find_family(const LanguageCheckpoint& checkpoint);

}  // namespace hearth::models
