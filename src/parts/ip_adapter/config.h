// The sizes of an IP-Adapter. Its files have no configuration: files.cpp derives one from the tensors.
#pragma once

#include <vector>

#include "core/files/config.h"

namespace hearth::parts {

struct IpAdapterConfig {
  // What the tokens of an image prompt are made of: the projected vector of the image encoder; its penultimate states, each of them; the
  // same states, by a resampler; a vector of a face; such a vector and the same states.
  enum class Kind { vector, states, resampler, face, face_and_states };

  Kind kind = Kind::vector;
  int64_t in = 0;                // width of what the image encoder gives, or face: of the vector
  int64_t face = 0;              // face_and_states: width of the vector
  int64_t face_hidden = 0;       // face_and_states: of the vector's projection
  int64_t hidden = 0;            // states, face: of the projection; resampler, face_and_states: of its latents
  int64_t tokens = 4;            // of an image prompt; states: as many as the encoder has
  int64_t width = 0;             // of a token: that of the UNet's text states
  int64_t layers = 0;            // resampler, face_and_states
  int64_t heads = 0;             // the same; each of 64 channels
  std::vector<int64_t> attends;  // channels of each cross-attention of the UNet: those of down blocks, up blocks, middle block

  static IpAdapterConfig from(const Config& config);
  bool sees_face() const { return kind == Kind::face || kind == Kind::face_and_states; }
  bool sees_image() const { return kind != Kind::face; }

  bool operator==(const IpAdapterConfig&) const = default;
};

}  // namespace hearth::parts
