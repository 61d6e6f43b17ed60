#include "models/stable_cascade/config.h"

#include <array>

#include "core/error.h"
#include "models/diffusion/requirements.h"
#include "models/slots.h"

namespace hearth::models::stable_cascade {
namespace {

constexpr std::array<std::string_view, 13> used{"decoder",
                                                "vqgan",
                                                "scheduler",
                                                "text_encoder",
                                                "tokenizer",
                                                "prior",
                                                "image_encoder",
                                                "prior_prior",
                                                "prior_text_encoder",
                                                "prior_tokenizer",
                                                "prior_scheduler",
                                                "prior_image_encoder",
                                                "prior_feature_extractor"};
constexpr std::array<std::string_view, 1> ignored{"feature_extractor"};

bool is_combined(const Checkpoint& checkpoint) { return checkpoint.has("prior_prior"); }

void check_components(const Checkpoint& checkpoint, const Names& names, std::vector<std::string>& notes) {
  checkpoint.require_class("decoder", {"StableCascadeUNet"});
  checkpoint.require_class("vqgan", {"PaellaVQModel"});
  checkpoint.require_class(names.prior, {"StableCascadeUNet"});
  checkpoint.require_class(names.text_encoder, {"CLIPTextModelWithProjection"});
  checkpoint.require_class(names.tokenizer, {"CLIPTokenizer", "CLIPTokenizerFast"});
  for (std::string& note : diffusion::require_known(checkpoint, {.used = used, .ignored = ignored, .takes_added = true}))
    notes.push_back(std::move(note));
  if (is_combined(checkpoint)) {
    notes.push_back("the decoder's text encoder is not used: the prior's encodes for both, as in the reference pipeline");
    if (!checkpoint.is_file() && !checkpoint.part_of_files("text_encoder").empty())
      fail<UsageError>("open: {} has a text encoder of the prior, expected no --text-encoder", checkpoint.root().string());
  }
  checkpoint.index().only_number("latent_dim_scale", 10.67);
  checkpoint.index().finish();
}

sampling::SchedulerConfig read_scheduler(const Config& file, const std::string& name) {
  const sampling::SchedulerConfig config = sampling::SchedulerConfig::read(file, name);
  if (config.scheduler != sampling::SchedulerClass::wuerstchen)
    fail<UnsupportedError>("{}: {} is not supported for this network, expected DDPMWuerstchenScheduler", file.where(), name);
  return config;
}

void check(const CascadeConfig& c, const std::string& where) {
  clip::check_tower(c.towers[0], where);
  const parts::ClipTextConfig& text = c.towers[0].config;
  if (!c.prior.text || c.prior.features)
    fail<WeightError>("{}: the prior is not a stage C: it takes {}, expected text and images", where,
                      c.prior.features ? "latents of another network" : "no states of the text");
  if (!c.decoder.features || c.decoder.text)
    fail<WeightError>("{}: the decoder is not a stage B: it takes {}, expected latents of the prior", where,
                      c.decoder.text ? "states of the text" : "no latents of another network");
  if (c.prior.text != text.width)
    fail<WeightError>("{}: the prior takes text states of width {} (clip_text_in_channels), expected the text encoder's {}", where,
                      c.prior.text, text.width);
  for (const auto& [unet, name] : {std::pair{&c.prior, "prior"}, {&c.decoder, "decoder"}}) {
    if (unet->pooled != text.projection)
      fail<WeightError>("{}: the {} takes a text vector of width {} (clip_text_pooled_in_channels), expected the text encoder's {}", where,
                        name, unet->pooled, text.projection);
    if (unet->in_channels != unet->out_channels)
      fail<WeightError>("{}: the {} has {} input and {} output channels, expected equally many", where, name, unet->in_channels,
                        unet->out_channels);
  }
  if (c.decoder.features != c.prior.out_channels)
    fail<WeightError>("{}: the decoder takes latents of {} channels (effnet_in_channels), expected the prior's {}", where,
                      c.decoder.features, c.prior.out_channels);
  if (c.decoder.in_channels != c.vqgan.latent_channels)
    fail<WeightError>("{}: the decoder has {} channels, the vqgan's latents have {}", where, c.decoder.in_channels,
                      c.vqgan.latent_channels);
  if (c.vqgan.factor() != 4)
    fail<UnsupportedError>("{}: the vqgan makes {} pixels of a latent, each way, expected 4", where, c.vqgan.factor());
  if (c.decoder.patch > 2 || c.prior.patch != 1)
    fail<UnsupportedError>("{}: 'patch_size' is {} of the prior and {} of the decoder, expected 1 and 1 or 2", where, c.prior.patch,
                           c.decoder.patch);
  if (c.image && c.image->config.projection != c.prior.image)
    fail<WeightError>("{}: the prior takes image vectors of width {} (clip_image_in_channels), expected the image encoder's {}", where,
                      c.prior.image, c.image->config.projection);
}

}  // namespace

Names names_of(const Checkpoint& checkpoint) {
  if (checkpoint.pipeline_class() == "StableCascadePriorPipeline")
    fail<UsageError>("{}: holds the prior alone, expected -m with the decoder's folder, and this one for --prior",
                     checkpoint.root().string());
  const auto first = [&](std::string_view a, std::string_view b) { return checkpoint.has(a) ? a : checkpoint.has(b) ? b : ""; };
  Names names{.text_encoder = first("prior_text_encoder", "text_encoder"),
              .tokenizer = first("prior_tokenizer", "tokenizer"),
              .prior = first("prior", "prior_prior"),
              .prior_scheduler = first("prior_scheduler", ""),
              .image_encoder = first("image_encoder", "prior_image_encoder"),
              .feature_extractor = first("prior_feature_extractor", "")};
  if (names.prior.empty())
    fail<UsageError>("{}: holds no prior, which makes the latents that the decoder refines: give one with --prior PATH",
                     checkpoint.root().string());
  if (names.text_encoder.empty()) names.text_encoder = "text_encoder";
  if (names.tokenizer.empty()) names.tokenizer = "tokenizer";
  return names;
}

clip::TowerNames tower_names(const Names& names) {
  return {.encoder = names.text_encoder,
          .tokenizer = names.tokenizer,
          .class_name = "CLIPTextModelWithProjection",
          .embedding = "clip_g",
          .open_clip = true};
}

UnetConfig unet_config(const Checkpoint& checkpoint, std::string_view component) { return UnetConfig::from(checkpoint.config(component)); }

StageAConfig vqgan_config(const Checkpoint& checkpoint) { return StageAConfig::from(checkpoint.config("vqgan")); }

ImageTower image_tower(const Checkpoint& checkpoint, const Names& names) {
  ImageTower tower{.config = parts::ClipVisionConfig::from(checkpoint.config(names.image_encoder)), .processor = {}};
  const parts::ClipVisionConfig& c = tower.config;
  if (c.channels != 3)
    fail<UnsupportedError>("{}: the image encoder reads images of {} channels, expected 3", checkpoint.root().string(), c.channels);
  if (!c.projection) fail<WeightError>("{}: the image encoder has no projection, expected one", checkpoint.root().string());
  std::optional<Config> file;
  if (checkpoint.is_added(names.image_encoder)) {  // next to the tower's config.json, or in the component of the same folder
    for (const char* name : {"preprocessor_config.json", "../feature_extractor/preprocessor_config.json"})
      if (const auto text = file ? std::nullopt : checkpoint.text_file(names.image_encoder, name)) file = Config::parse(*text, name);
  } else if (!names.feature_extractor.empty()) {
    file = checkpoint.config(names.feature_extractor);
  }
  tower.processor = file ? image_prompt::ImageProcessor::from_clip(*file) : image_prompt::ImageProcessor::clip(c.image_size);
  if (tower.processor.width != c.image_size || tower.processor.height != c.image_size)
    fail<WeightError>("{}: images are prepared in {}×{} pixels, expected the image encoder's {}×{}", checkpoint.root().string(),
                      tower.processor.width, tower.processor.height, c.image_size, c.image_size);
  return tower;
}

sampling::SchedulerConfig scheduler_of(const Checkpoint& checkpoint) {
  return read_scheduler(checkpoint.config("scheduler"), checkpoint.component("scheduler").class_name);
}

sampling::SchedulerConfig prior_scheduler_of(const Checkpoint& checkpoint, const Names& names) {
  const std::string class_name = "DDPMWuerstchenScheduler";
  if (!names.prior_scheduler.empty())
    return read_scheduler(checkpoint.config(names.prior_scheduler), checkpoint.component(names.prior_scheduler).class_name);
  if (checkpoint.is_added(names.prior)) {
    const char* const file = "../scheduler/scheduler_config.json";
    if (const auto text = checkpoint.text_file(names.prior, file)) {
      const Config config = Config::parse(*text, checkpoint.files(names.prior).files.at(0).parent_path() / file);
      return read_scheduler(config, config.text("_class_name", class_name));
    }
  }
  return read_scheduler(Config::parse("{}", "defaults"), class_name);
}

CascadeConfig CascadeConfig::from(const Checkpoint& checkpoint) {
  CascadeConfig c;
  c.notes = checkpoint.notes();
  c.names = names_of(checkpoint);
  check_components(checkpoint, c.names, c.notes);
  c.towers.push_back(clip::tower_of(checkpoint, tower_names(c.names)));
  c.prior = unet_config(checkpoint, c.names.prior), c.decoder = unet_config(checkpoint, "decoder");
  c.vqgan = vqgan_config(checkpoint);
  if (!c.names.image_encoder.empty()) c.image = image_tower(checkpoint, c.names);
  c.prior_scheduler = prior_scheduler_of(checkpoint, c.names), c.scheduler = scheduler_of(checkpoint);
  check(c, checkpoint.root().string());
  return c;
}

}  // namespace hearth::models::stable_cascade
