// How an image was made, in full: our own text in its file (keyword `hearth`), a JSON object.
//
//   {"hearth": "0.1.0", "format": 1, "model": {"name": "demo", "family": "mock", "hashes": {"unet": "…"}}, "prompt": "…", …,
//    "precision": "f32", "noise": "seed", "defaults": ["width", "height"], …, "flags": {"hires": "2"}}
//
// The settings before "precision" are always written; those after "defaults" are written only where the request gave them. A setting's
// row (setting.h) says whether it stands alone or in an object with others: "guidance_settings", "variation", "size_conditions". Each
// value is the one that was used, and "defaults" names those that the request did not give. "flags" maps the command's flags to their
// values where these are not the defaults, and holds the SHA-256 of each given image's pixels.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/settings/setting.h"

namespace hearth::api {

// What a recipe holds beside the settings of the request.
struct RecipeFacts {
  std::string version;                                      // of hearth
  std::string model, family;                                // the checkpoint's folder or file name, and its family
  std::vector<std::pair<std::string, std::string>> hashes;  // component → SHA-256 of its weights, hexadecimal
  std::string denoiser_hash;                                // that of the network that takes the steps: A1111's hash of a model
  std::string precision;                                    // of its weights: "f16"
  std::string refiner;                                      // the second checkpoint's name, where there is one
  std::map<std::string, std::string> flags;                 // beside those of settings: precisions of components
};

// The names of the settings that the request did not give.
std::vector<std::string> defaults_of(const Request& asked, const Request& told);
// Flag → text for every setting with Report::among_flags or both, and "FLAG-sha256" → the sum of an image's pixels, which come from
// `asked`.
std::map<std::string, std::string> flags_of(const Request& asked, const Request& told);

// One line of JSON. UsageError for text that is not UTF-8 and for a number that is not finite. `told`: what was used.
std::string write_recipe(const RecipeFacts& facts, const Request& asked, const Request& told);

// IoError for what is not JSON of this form, or of a later format. Keys it does not know are ignored: a later version's.
Json read_recipe(std::string_view text);
// A setting's value in a recipe; null where the recipe has none.
Json kept_in(const Json& recipe, const Row& row);

}  // namespace hearth::api
