#pragma once

#include "weights/layout/network_files.h"

namespace hearth::models::sana {

extern const NetworkFiles autoencoder_files;

}  // namespace hearth::models::sana
