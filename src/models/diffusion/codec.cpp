#include "models/diffusion/codec.h"

#include "core/backend.h"

namespace hearth::models::diffusion {

parts::Posterior HostedCodec::encode(const Tensor& image) const {
  const parts::Posterior there = codec_.encode(image.to(device_));
  return {there.mean.to(host_), there.logvar ? there.logvar.to(host_) : Tensor()};
}

Tensor HostedCodec::decode(const Tensor& latents) const { return codec_.decode(latents.to(device_)).to(host_); }

Tensor HostedCodec::decode_in_tiles(const Tensor& latents, int64_t tile) const {
  return codec_.decode_in_tiles(latents.to(device_), tile).to(host_);
}

}  // namespace hearth::models::diffusion
