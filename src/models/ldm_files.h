// Properties that files from CompVis' and Stability's training code (`ldm`, `sgm`) share, for all families.
#pragma once

#include "weights/layout/image_files.h"

namespace hearth::models {

// UNet and autoencoder under every prefix that publishers and ComfyUI use, and these text encoders.
std::vector<NetworkPlace> ldm_places(std::initializer_list<NetworkPlace> text_encoders);

// Buffers of the noise schedule, training state, averages, markers.
std::vector<std::string> ldm_leftovers();

// v or ε, from the marker v_pred or the metadata.
std::vector<Prediction> ldm_predictions();
// ztsnr, and the sigmas of EDM's v-prediction (CosXL).
std::vector<SchedulerMarker> ldm_markers();

// All tokenizers are CLIP's.
std::vector<Vocabulary> clip_vocabularies(std::initializer_list<std::string_view> tokenizers);

// UNet and autoencoder under CompVis' names, and these text encoders.
std::vector<WrittenPlace> ldm_written(std::initializer_list<WrittenPlace> text_encoders);

// The four-channel autoencoder and the two CLIP towers that several families have.
std::vector<Signature> ldm_autoencoder_signatures();
Signature clip_l_signature();
std::vector<Signature> big_g_signatures();

}  // namespace hearth::models
