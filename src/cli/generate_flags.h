// The flags of generate and rerun.
#pragma once

#include "cli/open_flags.h"
#include "cli/setting_flags.h"

namespace hearth::cli {

struct GenerateFlags {
  OpenFlags open;
  Request request;
  SaveOptions save;
  std::string output = "hearth.png", noise, save_latents, resume, preview, control_preprocess, save_control;
  int64_t memory_limit = 0, batch_count = 1;
  bool json = false;

  void add_to(Flags& flags);
  // Checks the flags against each other, after Flags::parse(). UsageError.
  void check(const Flags& flags);
};

}  // namespace hearth::cli
