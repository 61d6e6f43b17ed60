#include "models/diffusion/codec.h"

#include "core/backend.h"

namespace hearth::models::diffusion {

parts::Posterior HostedCodec::encode(const Tensor& image) const {
  const Tensor there = image.to(device_);
  const parts::Posterior latents = tile_ ? codec_.encode_in_tiles(there, *tile_) : codec_.encode(there);
  return {latents.mean.to(host_), latents.logvar ? latents.logvar.to(host_) : Tensor()};
}

Tensor HostedCodec::decode(const Tensor& latents) const {
  const Tensor there = latents.to(device_);
  return (tile_ ? codec_.decode_in_tiles(there, *tile_) : codec_.decode(there)).to(host_);
}

}  // namespace hearth::models::diffusion
