// What the files of models from CompVis' and Stability's training code (`ldm`, `sgm`) have in common, whichever family they are of.
#pragma once

#include "weights/layout/image_files.h"

namespace hearth::models {

// UNet and autoencoder behind every prefix that makers and ComfyUI give them, and these text encoders.
std::vector<NetworkPlace> ldm_places(std::initializer_list<NetworkPlace> text_encoders);

// Buffers of the noise schedule, training state, averages, markers.
std::vector<std::string> ldm_leftovers();

// v or ε, by the marker v_pred or the metadata.
std::vector<Prediction> ldm_predictions();
// ztsnr, and the noise levels of EDM's v-prediction (CosXL).
std::vector<SchedulerMarker> ldm_markers();

// All tokenizers are CLIP's.
std::vector<Vocabulary> clip_vocabularies(std::initializer_list<std::string_view> tokenizers);

// UNet and autoencoder under CompVis' names, and these text encoders.
std::vector<WrittenPlace> ldm_written(std::initializer_list<WrittenPlace> text_encoders);

// The autoencoder of four channels and the two CLIP towers that several families have.
std::vector<Signature> ldm_autoencoder_signatures();
Signature clip_l_signature();
std::vector<Signature> big_g_signatures();

}  // namespace hearth::models
