#include "parts/ip_adapter/config.h"

#include "parts/config_reading.h"

namespace hearth::parts {

IpAdapterConfig IpAdapterConfig::from(const Config& c) {
  using Kind = IpAdapterConfig::Kind;
  IpAdapterConfig a;
  c.only("kind", {"vector", "states", "resampler", "face", "face_and_states"});
  const std::string kind = c.text("kind");
  a.kind = kind == "vector"      ? Kind::vector
           : kind == "states"    ? Kind::states
           : kind == "resampler" ? Kind::resampler
           : kind == "face"      ? Kind::face
                                 : Kind::face_and_states;
  a.in = positive_integer(c, "in", 0);
  a.tokens = positive_integer(c, "tokens", 4);
  a.width = positive_integer(c, "width", 0);
  if (a.kind != Kind::vector) a.hidden = positive_integer(c, "hidden", 0);
  if (a.kind == Kind::face_and_states) a.face = positive_integer(c, "face", 0), a.face_hidden = positive_integer(c, "face_hidden", 0);
  if (a.kind == Kind::resampler || a.kind == Kind::face_and_states)
    a.layers = positive_integer(c, "layers", 0), a.heads = positive_integer(c, "heads", 0);
  for (const double channels : c.numbers("attends")) a.attends.push_back(int64_t(channels));
  c.finish();
  return a;
}

}  // namespace hearth::parts
