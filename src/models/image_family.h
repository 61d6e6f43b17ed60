// What a family of image models tells the registry.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "models/option.h"
#include "models/text_to_image.h"
#include "text/clip_tokenizer.h"
#include "weights/checkpoint.h"

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
  const ImageFiles* files = nullptr;            // its files.cpp: what it is in single files, and its built-in configurations
  std::vector<Option> options = {};             // its own; two families that have one of the same name have the same row
  // Loads everything; all or nothing. The checkpoint must outlive nothing: what is needed of it is kept.
  std::unique_ptr<TextToImage> (*open)(const Checkpoint& checkpoint, Backend& device, const LoadRequest& request);
  // Builds every component without its numbers: what is missing, misshapen, unread or not supported. Reads headers only.
  std::vector<ComponentCheck> (*check)(const Checkpoint& checkpoint, const std::string& variant);
  // Reads the configurations of tokenizers and text encoders alone.
  std::vector<PromptEncoder> (*prompt_encoders)(const Checkpoint& checkpoint);
  // The scheduler's file as the family's runs take it.
  sampling::SchedulerConfig (*scheduler)(const Checkpoint& checkpoint);
};

}  // namespace hearth::models
