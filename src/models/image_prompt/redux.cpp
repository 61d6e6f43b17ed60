#include "models/image_prompt/redux.h"

#include "core/error.h"
#include "models/slots.h"

namespace hearth::models::image_prompt {
namespace {

// Next to the tower's config.json, or in the component that diffusers' pipelines have for it; without either, the published preparation for
// the tower's size.
ImageProcessor processor_of(const Checkpoint& checkpoint, const parts::SiglipVisionConfig& tower) {
  const std::string name(slots::image_encoder.name);
  for (const char* file : {"preprocessor_config.json", "../feature_extractor/preprocessor_config.json"}) {
    const auto text = checkpoint.text_file(name, file);
    if (!text) continue;
    const ImageProcessor processor = ImageProcessor::from(Config::parse(*text, checkpoint.files(name).files.at(0).parent_path() / file));
    if (processor.width != tower.image_size || processor.height != tower.image_size)
      fail<WeightError>("{}: prepares images of {}×{} pixels, expected the image encoder's {}×{}", file, processor.width, processor.height,
                        tower.image_size, tower.image_size);
    return processor;
  }
  return {.width = tower.image_size, .height = tower.image_size};
}

}  // namespace

std::optional<Redux> Redux::add(const Checkpoint& checkpoint, diffusion::ComponentList& components, int64_t text_width) {
  const std::string encoder(slots::image_encoder.name), embedder(slots::image_embedder.name);
  if (!checkpoint.is_added(encoder) && !checkpoint.is_added(embedder)) return std::nullopt;
  for (const hearth::Slot* slot : {&slots::image_encoder, &slots::image_embedder})
    if (!checkpoint.is_added(slot->name))
      fail<UsageError>("open: image prompts lack the {}, expected {} PATH, too", slot->label, flag_of(*slot));
  const parts::SiglipVisionConfig tower = parts::SiglipVisionConfig::from(checkpoint.config(encoder));
  const parts::ReduxConfig redux = parts::ReduxConfig::from(checkpoint.config(embedder));
  const std::string where = checkpoint.files(embedder).files.at(0).string();
  if (redux.in != tower.width)
    fail<WeightError>("{}: reads image states of width {}, expected the image encoder's {}", where, redux.in, tower.width);
  if (redux.out != text_width)
    fail<WeightError>("{}: makes text states of width {}, expected the text encoder's {}", where, redux.out, text_width);
  if (tower.channels != 3) fail<UnsupportedError>("{}: the image encoder reads images of {} channels, expected 3", where, tower.channels);
  Redux r{.processor = processor_of(checkpoint, tower), .encoder = {}, .embedder = {}};
  r.encoder = components.add<parts::SiglipVisionModel>(encoder, Role::image_encoder,
                                                       [tower](const Scope& w) { return parts::SiglipVisionModel(w, tower); });
  r.embedder = components.add<parts::ReduxImageEncoder>(embedder, Role::image_encoder,
                                                        [redux](const Scope& w) { return parts::ReduxImageEncoder(w, redux); });
  return r;
}

Tensor Redux::rows(const diffusion::Loaded& networks, const Pixels& image, Backend& host) const {
  const parts::SiglipVisionModel& tower = networks[encoder];
  const parts::ReduxImageEncoder& redux = networks[embedder];
  const Tensor states = tower(processor(image, host).to(tower.post_layernorm.gamma.backend()));
  return redux(states.to(redux.redux_down.bias.backend()));
}

}  // namespace hearth::models::image_prompt
