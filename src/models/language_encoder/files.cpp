#include "models/language_encoder/files.h"

#include <algorithm>
#include <array>

#include "models/language_registry.h"
#include "weights/gguf/gguf.h"

namespace hearth::models::language_encoder {
namespace {

// The official names are those of a model with a head.
constexpr std::array<Alias, 7> aliases{{
    {"embed_tokens.*", "model.embed_tokens.*"},
    {"layers.**", "model.layers.**"},
    {"norm.*", "model.norm.*"},
    {"language_model.model.**", "model.**"},
    {"language_model.lm_head.*", "lm_head.*"},
    {"model.language_model.**", "model.**"},
    {"model.visual.**", "visual.**"},
}};

constexpr std::array<NameRule, 3> official{{{"model.**", "model.**"}, {"lm_head.*", "lm_head.*"}, {"visual.**", "visual.**"}}};

const NameMap& official_map() {
  static const NameMap map{{"", "", official}};
  return map;
}

// "XForCausalLM", "XModel", and the classes of models that see images, too.
bool is_language_class(std::string_view name) {
  constexpr std::string_view with_head = "ForCausalLM", alone = "Model";
  return std::ranges::any_of(language_families(), [&](const Found<LanguageFamily>& found) {
    const LanguageFamily& f = found.family;
    if (!f.decoder) return false;
    if (name == f.class_name || std::ranges::find(f.within, name) != f.within.end()) return true;
    std::string_view stem = f.class_name;
    if (!stem.ends_with(with_head) || !name.ends_with(alone)) return false;
    stem.remove_suffix(with_head.size());
    return name.substr(0, name.size() - alone.size()) == stem;
  });
}

SelfDescribed open_gguf(const std::shared_ptr<TensorSource>& file) {
  auto gguf = std::dynamic_pointer_cast<GgufFile>(file);
  if (!gguf) fail<UnsupportedError>("{}: its tensors have the names of GGUF files, but it is not a GGUF file", file->describe());
  const LanguageCheckpoint opened = open_language_checkpoint(std::move(gguf));
  return {.tensors = opened.tensors(), .config = opened.config().dump()};
}

}  // namespace

const NetworkFiles files{
    .classes = {"AutoModelForCausalLM"},
    .other_classes = is_language_class,
    .spellings = {{.name = "transformers",
                   .marks = {"model.embed_tokens.weight", "model.layers.0.input_layernorm.weight", "model.norm.weight"},
                   .writing = [](const TensorList&) { return official_map(); }},
                  {.name = "without head", .marks = {"embed_tokens.weight", "layers.0.input_layernorm.weight", "norm.weight"}},
                  {.name = "with images",
                   .marks = {"language_model.model.embed_tokens.weight", "language_model.model.layers.0.input_layernorm.weight"}},
                  {.name = "with images and head",
                   .marks = {"model.language_model.embed_tokens.weight", "model.language_model.layers.0.input_layernorm.weight"}},
                  {.name = "gguf",
                   .marks = {"token_embd.weight", "blk.0.attn_norm.weight", "blk.0.attn_q.weight", "output_norm.weight"},
                   .opening = open_gguf}},
    .aliases = aliases,
    // The head, what sees images, and tokenizers in files for ComfyUI.
    .ignored = {"lm_head.*", "*.rotary_emb.inv_freq", "visual.*", "model.visual.*", "vision_tower.*", "model.vision_tower.*",
                "multi_modal_projector.*", "model.multi_modal_projector.*", "tekken_model", "tokenizer_json", "rope_freqs.weight"},
};

}  // namespace hearth::models::language_encoder
