#include "models/aura_flow/files.h"
#include "models/aura_flow/model.h"
#include "models/registry.h"

namespace hearth::models::aura_flow {
namespace {

// Every word is unknown, which takes as long as a known one.
constexpr StandIn tokenizers[] = {
    {"tokenizer", "tokenizer.json",
     R"({"model": {"type": "WordLevel", "vocab": {"<unk>": 0, "<pad>": 1, "</s>": 2}, "unk_token": "<unk>"}, "pre_tokenizer": {"type": "WhitespaceSplit"}})"},
    {"tokenizer", "tokenizer_config.json", R"({"add_bos_token": false, "add_eos_token": true, "pad_token": "<pad>"})"}};

}  // namespace

Entry entry() {
  return {
      .name = family_name,
      .summary = "AuraFlow 0.1 to 0.3: text to image, Pile-T5, transformer, AutoencoderKL",
      .task =
          ImageFamily{
              .pipelines = {"AuraFlowPipeline"},
              .files = &files,
              .options = {options().begin(), options().end()},
              .benchmarks = {Benchmark{"auraflow", "aura-flow-0.2", tokenizers}},
              .describe = [](const Checkpoint& c) -> std::unique_ptr<diffusion::LatentModel> { return std::make_unique<AuraFlow>(c); },
              .check = check,
              .prompt_readers = prompt_readers,
              .scheduler = scheduler_of,
          },
      .title = "AuraFlow",
  };
}

}  // namespace hearth::models::aura_flow
