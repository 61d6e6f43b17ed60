#include "models/hunyuan_dit/controlnet_files.h"
#include "models/hunyuan_dit/files.h"
#include "models/hunyuan_dit/model.h"
#include "models/registry.h"

namespace hearth::models::hunyuan_dit {
namespace {

// Every word is unknown, which takes as long as a known one.
constexpr StandIn tokenizers[] = {
    {"tokenizer", "vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n"},
    {"tokenizer_2", "tokenizer.json",
     R"({"model": {"type": "WordLevel", "vocab": {"<pad>": 0, "</s>": 1, "<unk>": 2}, "unk_token": "<unk>"}, "pre_tokenizer": {"type": "WhitespaceSplit"}})"}};

}  // namespace

Entry entry() {
  return {
      .name = family_name,
      .summary = "Hunyuan-DiT 1.0 to 1.2: text to image, BERT and mT5, transformer, AutoencoderKL",
      .task =
          ImageFamily{
              .pipelines = {"HunyuanDiTPipeline"},
              .files = &files,
              .controls = control_places(),
              .options = {options().begin(), options().end()},
              .benchmarks = {Benchmark{"hunyuan-dit", "hunyuan-dit-1.2", tokenizers}},
              .describe = [](const Checkpoint& c) -> std::unique_ptr<diffusion::LatentModel> { return std::make_unique<HunyuanDit>(c); },
              .check = check,
              .prompt_readers = prompt_readers,
              .scheduler = scheduler_of,
          },
      .title = "Hunyuan-DiT",
  };
}

}  // namespace hearth::models::hunyuan_dit
