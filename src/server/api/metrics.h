// Prometheus text of what the server does. The names are those of docs/server.md.
#pragma once

#include <string>

#include "server/api/routes.h"

namespace hearth::server {

std::string metrics_text(const ServerState& server);

}  // namespace hearth::server
