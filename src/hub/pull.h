// pull() of hearth/hub.h, with what tests make smaller.
#pragma once

#include "hearth/hub.h"

namespace hearth::hub {

struct PullLimits {
  int64_t piece = int64_t(32) << 20;  // bytes that one request asks for
  double retry_seconds = 1;           // before the first of the repeated attempts
  int retries = 5;
  long idle_seconds = 60;  // without a byte, after which a connection counts as broken
};

PullResult pull(const PullRequest& request, const PullLimits& limits);

}  // namespace hearth::hub
