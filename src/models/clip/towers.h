// Several CLIP text encoders that encode the same prompt, each with its own tokenizer, text and clip skip.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "models/clip/prompt_states.h"
#include "models/diffusion/networks.h"
#include "models/image_model.h"
#include "text/clip/clip_tokenizer.h"
#include "weights/checkpoint.h"
#include "weights/textual_inversion.h"

namespace hearth::models::clip {

// A text encoder and its tokenizer, by their names in model_index.json.
struct TowerNames {
  std::string_view encoder, tokenizer;
  std::string_view class_name;  // "CLIPTextModel"
  std::string_view embedding;   // name of its vectors in a textual-inversion file: "clip_l"
  bool open_clip = false;       // not OpenAI's: A1111 applies no clip skip to it
};

struct Tower {
  TowerNames names;
  text::ClipTokenizer tokenizer;
  parts::ClipTextConfig config;
};

Tower tower_of(const Checkpoint& checkpoint, const TowerNames& names);
// WeightError unless the tokenizer matches the encoder: its ids and the length of a prompt.
void check_tower(const Tower& tower, const std::string& where);

// Adds a warning unless it is there.
void add_warning(const std::string& warning, ResolvedImage& resolved);

// The text for a text encoder: the option `prompt_2` of the second one, `prompt_3` of the third one, else the prompt; of the negative
// prompt likewise.
std::string text_of(const Request& request, text::PromptRole role, size_t encoder);
// Whether any of the negative prompts is given.
bool gives_negative(const Request& request);

// The prompts parsed for each text encoder: the same conditions with equally many chunks; shorter texts are padded with empty chunks.
class TowerPrompts {
 public:
  struct Rules {
    int64_t clip_skip = 1;            // the default
    bool final_norm = true;           // the encoder's final norm is applied to the states
    bool pooled_unprojected = false;  // PromptEncoding
    parts::ClipPadding padding = parts::ClipPadding::attended;
  };
  // `use_negative`: whether guidance evaluates the negative prompt; a composed prompt always does. `resolved` receives clip skip, chunks,
  // embeddings and warnings. `towers` must outlive this. Errors of text::read_prompt and read_embeddings; UsageError for a clip skip beyond
  // an encoder's layers.
  TowerPrompts(const std::vector<Tower>& towers, std::vector<diffusion::Slot<parts::ClipTextModel>> slots, const Rules& rules,
               const ImageTask& task, bool use_negative, Backend& host, ResolvedImage& resolved);

  bool has_negative() const { return texts_[0].prompts.size() > 1; }
  const text::Prompt& prompt(size_t k) const { return texts_[0].prompts[k]; }  // of the first encoder; 1: the negative one
  // The first `count` prompts, side by side on the host (prompt_states.h).
  std::vector<EncodedPrompt> encode(const diffusion::Loaded& networks, Backend& host, size_t count) const;

 private:
  struct Texts {
    std::vector<text::Prompt> prompts;  // the prompt, and the negative prompt if it is evaluated
    text::Chunk empty_chunk;
    std::vector<TextualInversion> vectors;          // of the embeddings
    int64_t clip_skip = 1, clip_skip_negative = 1;  // as in PromptEncoding
  };
  Texts read(size_t tower, const ImageTask& task, bool use_negative, Backend& host, std::vector<text::EmbeddingName>& names,
             ResolvedImage& resolved) const;
  void equalize();

  const std::vector<Tower>& towers_;
  std::vector<diffusion::Slot<parts::ClipTextModel>> slots_;
  Rules rules_;
  text::PromptSyntax syntax_;
  text::Emphasis emphasis_;
  std::vector<Texts> texts_;  // of each encoder
};

// UsageError unless the prompts have the same parts with AND, with the same weights.
void require_same_parts(const text::Prompt& a, const text::Prompt& b);

}  // namespace hearth::models::clip
