// Generates an image with the demo model:  minimal OUTPUT.png [PROMPT]
#include <cstdio>

#include "hearth/hearth.h"

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: minimal OUTPUT.png [PROMPT]\n"), 2;
  try {
    hearth::Model model = hearth::Model::open_demo();
    const hearth::Generation made = model.generate({.prompt = argc > 2 ? argv[2] : "a red house on green hills at sunset",
                                                    .steps = 12,
                                                    .guidance = 6,
                                                    .sampler = "dpmpp_2m",
                                                    .seed = 0});
    made.images[0].save(argv[1]);
    std::printf("%s: %s\n", argv[1], made.images[0].parameters.c_str());
  } catch (const hearth::Error& e) { return std::fprintf(stderr, "minimal: %s\n", e.what()), 1; }
}
