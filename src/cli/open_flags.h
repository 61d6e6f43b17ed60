// The flags of every verb that opens a model.
#pragma once

#include "cli/flags.h"
#include "hearth/hearth.h"

namespace hearth::cli {

struct OpenFlags {
  std::string model, unet, vae, text_encoder, text_encoder_2, config, refiner, preview_decoder, variant, device = "cpu", precision = "auto";
  std::string unet_precision, vae_precision, text_precision, cache;
  int threads = 0;
  bool pin = false, ema = false;

  void add_place(Flags& flags);       // --variant --device --threads --precision
  void add_parts(Flags& flags);       // --vae --unet --text-encoder --text-encoder-2 --config --ema
  void add_components(Flags& flags);  // --unet-precision --vae-precision --text-precision
  void add_session(Flags& flags);     // --pin-threads --cache
  OpenOptions options() const;
};

std::vector<std::string> names_of(const std::vector<Named>& table);
Precision precision_of(const std::string& name);  // "auto", "f32", "bf16", "f16"

}  // namespace hearth::cli
