#include "models/flux1/config.h"

#include <array>

#include "core/error.h"
#include "models/clip/files.h"
#include "models/diffusion/requirements.h"
#include "models/t5/tokenizer.h"

namespace hearth::models::flux1 {
namespace {

using diffusion::Beside;

constexpr std::array<std::string_view, 7> needed{"transformer",    "vae",       "scheduler",  "text_encoder",
                                                 "text_encoder_2", "tokenizer", "tokenizer_2"};
// Of pipelines with another kind of image prompt, which this family's transformer does not receive.
constexpr std::array<std::string_view, 2> ignored{"image_encoder", "feature_extractor"};

void check_components(const Checkpoint& checkpoint, std::vector<std::string>& notes) {
  checkpoint.require_class("text_encoder", {"CLIPTextModel"});
  checkpoint.require_class("tokenizer", {"CLIPTokenizer", "CLIPTokenizerFast"});
  checkpoint.require_class("text_encoder_2", {"T5EncoderModel"});
  checkpoint.require_class("tokenizer_2", {"T5Tokenizer", "T5TokenizerFast"});
  checkpoint.require_class("transformer", {"FluxTransformer2DModel"});
  checkpoint.require_class("vae", {"AutoencoderKL", "AutoencoderTiny"});
  for (std::string& note : diffusion::require_known(checkpoint, {.used = needed, .ignored = ignored, .takes_added = true}))
    notes.push_back(std::move(note));
  checkpoint.index().finish();
}

void check_tokens(const std::string& where, std::string_view encoder, int64_t ids, int64_t rows) {
  if (ids > rows)
    fail<WeightError>("{}: the tokenizer of {} has ids up to {}, expected less than its {} embedding rows", where, encoder, ids - 1, rows);
}

void check(const FluxConfig& c, const Checkpoint& checkpoint) {
  const std::string where = checkpoint.root().string();
  check_tokens(where, "text_encoder", c.clip_tokenizer.max_id() + 1, c.clip.vocabulary);
  check_tokens(where, "text_encoder_2", c.t5_tokenizer.vocab_size(), c.t5.vocabulary);
  if (c.clip_tokenizer.model_max_length() > c.clip.positions)
    fail<WeightError>("{}: the tokenizer outputs {} ids per prompt (model_max_length), the text encoder accepts {}", where,
                      c.clip_tokenizer.model_max_length(), c.clip.positions);
  if (c.transformer.pooled != c.clip.width)
    fail<WeightError>("{}: the transformer takes a pooled text of width {} (pooled_projection_dim), expected text_encoder's {}", where,
                      c.transformer.pooled, c.clip.width);
  if (c.transformer.text != c.t5.width)
    fail<WeightError>("{}: the transformer takes text states of width {} (joint_attention_dim), expected text_encoder_2's {}", where,
                      c.transformer.text, c.t5.width);
  const int64_t C = c.vae.codec.latent_channels, in = c.transformer.in_channels, f = c.vae.codec.factor;
  if (c.transformer.out_channels != 4 * C || (in != 4 * C && in != 8 * C && in != 8 * C + 4 * f * f))
    fail<WeightError>(
        "{}: the transformer has {} input and {} output channels, expected {}, {} or {} input and {} output channels for the "
        "autoencoder's {} latent channels",
        where, in, c.transformer.out_channels, 4 * C, 8 * C, 8 * C + 4 * f * f, 4 * C, C);
  diffusion::require_rgb(c.vae.in_channels, c.vae.out_channels, where);
  const std::string& pipeline = checkpoint.pipeline_class();
  const Beside wanted = pipeline == "FluxFillPipeline"        ? Beside::image_and_mask
                        : pipeline.starts_with("FluxControl") ? Beside::control
                                                              : Beside::nothing;
  if (c.beside() != wanted)
    fail<WeightError>("{}: the transformer has {} input channels, expected {} for {}", where, in,
                      wanted == Beside::nothing   ? 4 * C
                      : wanted == Beside::control ? 8 * C
                                                  : 8 * C + 4 * f * f,
                      pipeline);
}

}  // namespace

FluxConfig FluxConfig::from(const Checkpoint& checkpoint) {
  std::vector<std::string> notes = checkpoint.notes();
  check_components(checkpoint, notes);
  const bool fast = checkpoint.component("tokenizer").class_name == "CLIPTokenizerFast";
  FluxConfig c{.clip_tokenizer = text::ClipTokenizer::parse(clip::clip_files(checkpoint, "tokenizer"),
                                                            fast ? text::Cleaning::fast : text::Cleaning::ftfy),
               .t5_tokenizer = t5::tokenizer_of(checkpoint, "tokenizer_2"),
               .clip = clip_config(checkpoint),
               .t5 = t5_config(checkpoint),
               .transformer = TransformerConfig::from(checkpoint.config("transformer")),
               .vae = diffusion::AutoencoderConfig::from(checkpoint),
               .scheduler = scheduler_of(checkpoint),
               .notes = std::move(notes)};
  if (!c.vae.codec.encodes) c.notes.push_back("the autoencoder is a decoder only: runs cannot start from an image");
  check(c, checkpoint);
  const bool kontext = checkpoint.pipeline_class().starts_with("FluxKontext");
  const bool may_be = checkpoint.is_single_file() && c.beside() == Beside::nothing && c.transformer.guidance;
  c.reads_references = kontext || may_be;
  return c;
}

Beside FluxConfig::beside() const {
  const int64_t more = transformer.in_channels / 4 - vae.codec.latent_channels;
  return more == 0 ? Beside::nothing : more == vae.codec.latent_channels ? Beside::control : Beside::image_and_mask;
}

sampling::SchedulerConfig scheduler_of(const Checkpoint& checkpoint) { return diffusion::even_flow_scheduler(checkpoint); }

parts::ClipTextConfig clip_config(const Checkpoint& checkpoint) {
  return parts::ClipTextConfig::from(checkpoint.config("text_encoder"), checkpoint.component("text_encoder").class_name);
}

parts::T5Config t5_config(const Checkpoint& checkpoint) {
  return parts::T5Config::from(checkpoint.config("text_encoder_2"), checkpoint.component("text_encoder_2").class_name);
}

}  // namespace hearth::models::flux1
