#include "models/qwen_image/config.h"

#include <array>

#include "core/error.h"
#include "models/diffusion/requirements.h"
#include "models/language_encoder/config.h"
#include "models/slots.h"

namespace hearth::models::qwen_image {
namespace {

constexpr std::array<std::string_view, 5> needed{"transformer", "vae", "scheduler", "text_encoder", "tokenizer"};
constexpr std::array<std::string_view, 6> needed_for_edits{"transformer", "vae", "scheduler", "text_encoder", "tokenizer", "processor"};

constexpr language_encoder::ChatForm edit_form{
    .in_front =
        "<|im_start|>system\nDescribe the key features of the input image (color, shape, size, texture, objects, background), then "
        "explain how the user's text instruction should alter or modify the image. Generate a new image that meets the user's "
        "requirements while maintaining consistency with the original input where appropriate.<|im_end|>\n<|im_start|>user\n",
    .behind = prompt_form.behind};

void check_components(const Checkpoint& checkpoint) {
  checkpoint.require_class("transformer", {"QwenImageTransformer2DModel"});
  checkpoint.require_class("vae", {"AutoencoderKLQwenImage"});
  const std::span<const std::string_view> all =
      edits_of(checkpoint) ? std::span<const std::string_view>(needed_for_edits) : std::span<const std::string_view>(needed);
  for (const std::string_view name : all) checkpoint.component(name);
  diffusion::require_known(checkpoint, {.used = all, .takes_added = true});  // a vision tower: added_vision_of()
  checkpoint.index().finish();
}

ImagePreparation preparation_of(const Checkpoint& checkpoint, const parts::QwenVisionConfig& tower) {
  const char* file = "preprocessor_config.json";
  const auto text = checkpoint.text_file("processor", file);
  if (!text) fail<WeightError>("{}: has no {}, which prepares images", checkpoint.place_of("processor"), file);
  return ImagePreparation::from(Config::parse(*text, checkpoint.place_of("processor") + "/" + file), tower);
}

// GGUF files do not name it.
int32_t image_token_of(const text::Tokenizer& tokenizer, const std::string& where) {
  const std::optional<int32_t> id = tokenizer.id_of(image_pad);
  if (!id) fail<WeightError>("{}: its tokenizer has no token {}, which stands for images in prompts", where, image_pad);
  return *id;
}

void check(const QwenImageConfig& c, const std::string& where) {
  const parts::DecoderConfig& text = c.text_encoder.text;
  if (c.tokenizer.tokenizer().vocab_size() > text.vocabulary)
    fail<WeightError>("{}: the tokenizer of text_encoder has ids up to {}, expected less than its {} embedding rows", where,
                      c.tokenizer.tokenizer().vocab_size() - 1, text.vocabulary);
  if (c.transformer.text != text.width)
    fail<WeightError>("{}: the transformer takes text states of width {} (joint_attention_dim), expected text_encoder's {}", where,
                      c.transformer.text, text.width);
  if (c.edits && c.vision().out != text.width)
    fail<WeightError>("{}: the vision tower makes rows of width {} (out_hidden_size), expected the {} of text_encoder's embeddings", where,
                      c.vision().out, text.width);
  if (c.edits && (text.rotaries.empty() || text.rotaries[0].sections.empty()))
    fail<WeightError>("{}: the text encoder has no positions for images, expected 'mrope_section' in 'rope_scaling'", where);
  const int64_t C = c.vae.latent_channels;
  if (c.transformer.in_channels != 4 * C || c.transformer.latent_channels != C)
    fail<WeightError>("{}: the transformer has {} input and {} output channels, expected {} and {} for the autoencoder's {} channels",
                      where, c.transformer.in_channels, c.transformer.latent_channels, 4 * C, C, C);
  diffusion::require_rgb(c.vae.image_channels, c.vae.image_channels, where);
}

}  // namespace

QwenImageConfig QwenImageConfig::from(const Checkpoint& checkpoint) {
  check_components(checkpoint);
  QwenImageConfig c{.tokenizer = tokenizer_of(checkpoint),
                    .text_encoder = text_encoder_of(checkpoint),
                    .added_vision = added_vision_of(checkpoint),
                    .edits = edits_of(checkpoint),
                    .transformer = TransformerConfig::from(checkpoint.config("transformer")),
                    .vae = vae_of(checkpoint),
                    .scheduler = scheduler_of(checkpoint),
                    .notes = checkpoint.notes()};
  if (c.edits) {
    c.preparation = preparation_of(checkpoint, c.vision());
    c.image_token = c.added_vision ? image_token_of(c.tokenizer.tokenizer(), checkpoint.place_of("text_encoder"))
                                   : int32_t(checkpoint.config("text_encoder").integer("image_token_id", 151655));
  }
  check(c, checkpoint.root().string());
  return c;
}

std::optional<Edits> edits_of(const Checkpoint& checkpoint) {
  if (checkpoint.pipeline_class() == "QwenImageEditPipeline") return Edits{.form = edit_form, .prompt_area = 1024.0 * 1024};
  if (checkpoint.pipeline_class() == "QwenImageEditPlusPipeline")
    return Edits{.form = edit_form, .several = true, .prompt_area = 384.0 * 384};
  return std::nullopt;
}

parts::AutoencoderWanConfig vae_of(const Checkpoint& checkpoint) { return parts::AutoencoderWanConfig::from(checkpoint.config("vae")); }

language_encoder::ChatTokenizer tokenizer_of(const Checkpoint& checkpoint) { return {checkpoint, "tokenizer", "text_encoder", false}; }

TextEncoderConfig text_encoder_of(const Checkpoint& checkpoint) {
  TextEncoderConfig c{.text = language_encoder::decoder_of(checkpoint, "text_encoder")};
  if (edits_of(checkpoint) && !checkpoint.gguf("text_encoder"))
    c.vision = parts::QwenVisionConfig::from(checkpoint.config("text_encoder").object("vision_config"));
  if (c.text.layers.empty())
    fail<WeightError>("{}: the text encoder has no layers, expected at least one", checkpoint.place_of("text_encoder"));
  return c;
}

std::optional<parts::QwenVisionConfig> added_vision_of(const Checkpoint& checkpoint) {
  const std::string tower(slots::image_encoder.name), flag = flag_of(slots::image_encoder);
  const bool needed = edits_of(checkpoint) && checkpoint.gguf("text_encoder"), added = checkpoint.is_added(tower);
  if (needed && !added)
    fail<UsageError>("{}: a text encoder in a GGUF file has no vision tower, which a model that edits needs; give one with {}",
                     checkpoint.place_of("text_encoder"), flag);
  if (added && !edits_of(checkpoint))
    fail<UsageError>("open: {} does not look at images, expected no {}", checkpoint.pipeline_class(), flag);
  if (added && !needed) fail<UsageError>("open: the text encoder has a vision tower, expected no {}", flag);
  return added ? std::optional(parts::QwenVisionConfig::from(checkpoint.config(tower))) : std::nullopt;
}

sampling::SchedulerConfig scheduler_of(const Checkpoint& checkpoint) { return diffusion::even_flow_scheduler(checkpoint); }

}  // namespace hearth::models::qwen_image
