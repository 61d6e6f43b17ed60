// The settings that all families of image models share.
#pragma once

#include "api/settings/setting.h"

namespace hearth::api {

std::vector<Row> shared_rows();

}  // namespace hearth::api
