// The settings that A1111's API keeps from one request to the next (/sdapi/v1/options), and overrides for a single one.
#pragma once

#include <string>
#include <vector>

#include "hearth/hearth.h"
#include "server/fields.h"
#include "server/image/pictures.h"
#include "server/model_host.h"

namespace hearth::server {

struct A1111Options {
  std::string checkpoint;  // id of an image model
  int64_t clip_skip = 1;   // CLIP_stop_at_last_layers
  int64_t ensd = 0;        // eta_noise_seed_delta
  bool discard_penultimate = false;
  std::string rng = "NV", emphasis = "Original";
  std::string samples_format = "png";
  int64_t jpeg_quality = 80;
  bool webp_lossless = false;
  double eta_ddim = 0, eta_ancestral = 1;
  double s_churn = 0, s_tmin = 0, s_tmax = 0, s_noise = 1;
  bool live_previews = true;
  int64_t preview_every = 1;  // show_progress_every_n_steps

  // Every option that A1111 has and that concerns images.
  Json json() const;
  // Takes over what the object names. Keys that hearth does not know concern A1111's pages and folders and are ignored; ApiError 400 for a
  // value that hearth does not honor, 404 for an unknown checkpoint.
  void set(const Fields& fields, const std::vector<OfferedModel>& models);

  ImageForm form() const;
  void apply(Request& request) const;  // those that concern the noise, the prompt and the schedule
};

// The image model that a client means: its id, with or without a hash in brackets or a file's extension. ApiError 404.
std::string checkpoint_of(const std::string& name, const std::vector<OfferedModel>& models);

}  // namespace hearth::server
