// The flags of generate that start a run from a picture.
#pragma once

#include "cli/flags.h"
#include "hearth/hearth.h"

namespace hearth::cli {

struct EditingFlags {
  std::string picture, mask, depth_map, resize = "stretch", fill;
  Editing edit;
  Variation variation;
  Hires hires;
  bool second = false, second_detail = false;  // --hires; a flag that goes with it

  void add_to(Flags& flags);
  // Reads the files. UsageError where a flag stands without the one that it goes with.
  void apply(Request& request) const;
};

}  // namespace hearth::cli
