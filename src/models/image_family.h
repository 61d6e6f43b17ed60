// The interface of a family of image models to the registry.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hearth/prompt.h"
#include "hearth/tokenizer.h"
#include "models/diffusion/latent_model.h"
#include "models/option.h"
#include "weights/checkpoint.h"

namespace hearth::models {

// Why a component cannot be used: one line, as opening it would throw; empty if nothing is wrong.
struct ComponentCheck {
  std::string component;  // "unet"; "checkpoint" for a problem of several
  std::string problem;
};

// How one text encoder of a checkpoint tokenizes text; weights are not needed.
class PromptReader {
 public:
  virtual ~PromptReader() = default;
  virtual Tokens tokenize(std::string_view text, bool special_tokens) const = 0;
  virtual std::string detokenize(const std::vector<int32_t>& ids) const = 0;
  // Parses the prompt as a run of the given number of steps would. Errors of text::read_prompt and of reading the embeddings.
  virtual ReadPrompt read(std::string_view prompt, text::PromptSyntax syntax, text::Emphasis emphasis, const PromptReading& reading,
                          Backend& device) const = 0;
};

// A file of a tokenizer for `hearth bench`, where hearth has no copy of the published vocabulary: "tokenizer_2", "vocab.txt".
struct StandIn {
  std::string_view component, file, text;
};

// A built-in configuration that `hearth bench` measures under a name, which may be the configuration's own.
struct Benchmark {
  constexpr Benchmark(const char* own_name) : name(own_name), configuration(own_name) {}
  constexpr Benchmark(const char* other_name, const char* of, std::span<const StandIn> tokenizers = {})
      : name(other_name), configuration(of), stand_ins(tokenizers) {}
  std::string_view name, configuration;
  std::span<const StandIn> stand_ins = {};
};
// Completes the folder of a checkpoint with the benchmark's configuration: with these files, and a tokenizer of bytes for every other
// component without a vocabulary.
void write_stand_ins(const Benchmark& benchmark, const std::filesystem::path& folder);

struct ImageFamily {
  std::vector<std::string_view> pipelines;      // supported classes of model_index.json
  bool (*claims)(const Checkpoint&) = nullptr;  // selects among their checkpoints; absent: all that no other family claims
  // Its files.cpp: signatures of single files, and built-in configurations; null: diffusers folders only.
  const ImageFiles* files = nullptr;
  std::vector<NetworkPlace> controls = {};  // control networks for its models, in files of their own
  std::vector<Option> options = {};         // the family's own
  // Built-in configurations that `hearth bench` measures at full size with generated weights.
  std::vector<Benchmark> benchmarks = {};
  // Reads all configurations; no weights.
  std::unique_ptr<diffusion::LatentModel> (*describe)(const Checkpoint& checkpoint);
  // Builds every component without its data: missing, misshapen, unread or unsupported tensors. Reads headers only.
  std::vector<ComponentCheck> (*check)(const Checkpoint& checkpoint, const std::string& variant);
  // One for each text encoder, the first one first. Reads only the configurations of tokenizers and text encoders.
  std::vector<std::unique_ptr<PromptReader>> (*prompt_readers)(const Checkpoint& checkpoint);
  // The scheduler config as used by the family's runs.
  sampling::SchedulerConfig (*scheduler)(const Checkpoint& checkpoint);
};

}  // namespace hearth::models
