#include "models/hunyuan_dit/config.h"

#include <array>

#include "core/error.h"
#include "models/diffusion/requirements.h"
#include "models/hunyuan_dit/prompts.h"
#include "models/t5/tokenizer.h"

namespace hearth::models::hunyuan_dit {
namespace {

constexpr std::array<std::string_view, 7> needed{"transformer",    "vae",       "scheduler",  "text_encoder",
                                                 "text_encoder_2", "tokenizer", "tokenizer_2"};
constexpr std::array<std::string_view, 2> ignored{"safety_checker", "feature_extractor"};

void check_components(const Checkpoint& checkpoint, std::vector<std::string>& notes) {
  checkpoint.require_class("text_encoder", {"BertModel"});
  checkpoint.require_class("tokenizer", {"BertTokenizer", "BertTokenizerFast"});
  checkpoint.require_class("text_encoder_2", {"T5EncoderModel", "MT5EncoderModel"});
  checkpoint.require_class("tokenizer_2", {"T5Tokenizer", "T5TokenizerFast", "MT5Tokenizer", "MT5TokenizerFast"});
  checkpoint.require_class("transformer", {"HunyuanDiT2DModel"});
  checkpoint.require_class("vae", {"AutoencoderKL", "AutoencoderTiny"});
  for (std::string& note : diffusion::require_known(checkpoint, {.used = needed, .ignored = ignored})) notes.push_back(std::move(note));
  checkpoint.index().no_effect({"requires_safety_checker"});
  checkpoint.index().finish();
}

void check(const HunyuanConfig& c, const std::string& where) {
  const auto check_tokens = [&](std::string_view encoder, int64_t tokens, int64_t rows) {
    if (tokens > rows)
      fail<WeightError>("{}: the tokenizer of {} has {} tokens, expected at most its {} embedding rows", where, encoder, tokens, rows);
  };
  check_tokens("text_encoder", c.tokenizer.vocab_size(), c.bert.vocabulary);
  check_tokens("text_encoder_2", c.t5_tokenizer.vocab_size(), c.t5.vocabulary);
  if (c.transformer.text_rows > c.bert.positions)
    fail<WeightError>("{}: the transformer takes {} rows of text (text_len), text_encoder has {} positions", where, c.transformer.text_rows,
                      c.bert.positions);
  if (c.transformer.text != c.bert.width)
    fail<WeightError>("{}: the transformer takes text states of width {} (cross_attention_dim), expected text_encoder's {}", where,
                      c.transformer.text, c.bert.width);
  if (c.transformer.t5 != c.t5.width)
    fail<WeightError>("{}: the transformer takes text states of width {} (cross_attention_dim_t5), expected text_encoder_2's {}", where,
                      c.transformer.t5, c.t5.width);
  const int64_t C = c.vae.codec.latent_channels;
  if (c.transformer.in_channels != C)
    fail<WeightError>("{}: the transformer has {} input channels, the autoencoder's latents have {}", where, c.transformer.in_channels, C);
  diffusion::require_rgb(c.vae.in_channels, c.vae.out_channels, where);
}

}  // namespace

HunyuanConfig HunyuanConfig::from(const Checkpoint& checkpoint) {
  std::vector<std::string> notes = checkpoint.notes();
  check_components(checkpoint, notes);
  HunyuanConfig c{.tokenizer = bert_tokenizer(checkpoint),
                  .t5_tokenizer = t5::tokenizer_of(checkpoint, "tokenizer_2"),
                  .bert = bert_config(checkpoint),
                  .t5 = t5_config(checkpoint),
                  .transformer = TransformerConfig::from(checkpoint.config("transformer")),
                  .vae = diffusion::AutoencoderConfig::from(checkpoint),
                  .scheduler = scheduler_of(checkpoint),
                  .notes = std::move(notes)};
  if (!c.vae.codec.encodes) c.notes.push_back("the autoencoder is a decoder only: runs cannot start from an image");
  if (auto* kl = std::get_if<parts::AutoencoderKlConfig>(&c.vae.network); kl && !kl->latents_std.empty()) {
    c.notes.push_back("the autoencoder's latents_mean and latents_std are ignored, as in the reference pipeline");
    kl->latents_mean.clear(), kl->latents_std.clear();
  }
  check(c, checkpoint.root().string());
  return c;
}

text::Tokenizer bert_tokenizer(const Checkpoint& checkpoint) {
  const std::string place = checkpoint.place_of("tokenizer");
  text::Tokenizer tokenizer = t5::opened_tokenizer(checkpoint, "tokenizer");
  if (tokenizer.encode("").size() != 2)
    fail<WeightError>("{}: the tokenizer adds {} tokens to a text, expected two, [CLS] and [SEP]", place, tokenizer.encode("").size());
  if (!tokenizer.pad()) fail<WeightError>("{}: the tokenizer has no padding token, expected [PAD]", place);
  return tokenizer;
}

sampling::SchedulerConfig scheduler_of(const Checkpoint& checkpoint) {
  const std::string& name = checkpoint.component("scheduler").class_name;
  const Config file = checkpoint.config("scheduler");
  const sampling::SchedulerConfig config = sampling::SchedulerConfig::read(file, name);
  if (config.prediction != sampling::Prediction::v && config.prediction != sampling::Prediction::epsilon)
    fail<UnsupportedError>("{}: {} is not set up for this network, expected 'prediction_type' = \"v_prediction\"", file.where(), name);
  return config;
}

parts::BertConfig bert_config(const Checkpoint& checkpoint) { return parts::BertConfig::from(checkpoint.config("text_encoder")); }

parts::T5Config t5_config(const Checkpoint& checkpoint) {
  return parts::T5Config::from(checkpoint.config("text_encoder_2"), checkpoint.component("text_encoder_2").class_name);
}

}  // namespace hearth::models::hunyuan_dit
