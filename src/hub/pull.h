// pull() of hearth/hub.h, with limits that tests reduce.
#pragma once

#include "hearth/hub.h"

namespace hearth::hub {

struct PullLimits {
  int64_t piece = int64_t(32) << 20;  // bytes per request
  double retry_seconds = 1;           // before the first retry
  int retries = 5;
  long idle_seconds = 60;  // without a byte, after which a connection is considered broken
};

PullResult pull(const PullRequest& request, const PullLimits& limits);

}  // namespace hearth::hub
