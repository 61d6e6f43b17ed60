// Queries of a checkpoint that need no weights: a check of each component by itself, and how its text encoders read prompts.
#include "models/clip/files.h"
#include "models/clip/prompt_reader.h"
#include "models/diffusion/checks.h"
#include "models/stable_diffusion/model.h"

namespace hearth::models::stable_diffusion {

std::vector<ComponentCheck> check(const Checkpoint& checkpoint, const Family& family, const std::string& variant) {
  diffusion::Checks checks(checkpoint, variant);
  for (const TowerNames& tower : family.towers)
    checks.builds(
        tower.encoder,
        [&] { return parts::ClipTextConfig::from(checkpoint.config(tower.encoder), checkpoint.component(tower.encoder).class_name); },
        [](const Scope& w, const parts::ClipTextConfig& c) { parts::ClipTextModel(w, c); });
  checks.builds(
      "unet", [&] { return parts::UnetConfig::from(checkpoint.config("unet")); },
      [](const Scope& w, const parts::UnetConfig& c) { parts::Unet(w, c); });
  checks.builds(
      "vae", [&] { return diffusion::AutoencoderConfig::from(checkpoint); },
      [](const Scope& w, const diffusion::AutoencoderConfig& c) { diffusion::Autoencoder(w, c); });
  for (const TowerNames& tower : family.towers)
    checks.attempt(tower.tokenizer, [&] { text::ClipTokenizer::parse(clip::clip_files(checkpoint, tower.tokenizer)); });
  checks.attempt("scheduler",
                 [&] { sampling::SchedulerConfig::read(checkpoint.config("scheduler"), checkpoint.component("scheduler").class_name); });
  return checks.finish([&] { StableDiffusionConfig::from(checkpoint, family); });
}

std::vector<std::unique_ptr<PromptReader>> prompt_readers(const Checkpoint& checkpoint, const Family& family) {
  std::vector<std::unique_ptr<PromptReader>> readers;
  for (const TowerNames& names : family.towers) {
    clip::Tower tower = clip::tower_of(checkpoint, names);
    readers.push_back(std::make_unique<clip::ClipPromptReader>(std::move(tower.tokenizer), std::string(names.encoder),
                                                               std::string(names.embedding), tower.config.width));
  }
  return readers;
}

}  // namespace hearth::models::stable_diffusion
