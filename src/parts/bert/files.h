// BERT in checkpoint files.
#pragma once

#include "weights/layout/network_files.h"

namespace hearth::parts {

// Layout "transformers". The pooler and the heads of training are ignored.
extern const NetworkFiles bert_files;

}  // namespace hearth::parts
