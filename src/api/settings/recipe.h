// How an image was generated, in full: hearth's own text in its file (keyword `hearth`), a JSON object.
//
//   {"hearth": "0.1.0", "format": 1, "model": {"name": "demo", "family": "mock", "hashes": {"unet": "…"}}, "prompt": "…", …,
//    "precision": "f32", "noise": "seed", "defaults": ["width", "height"], …, "flags": {"hires": "2"}}
//
// The settings before "precision" are always written; those after "defaults" only if the request gave them. A setting's row (setting.h)
// says whether it is stored alone or in an object with others: "guidance_settings", "variation", "size_conditions". Each value is the one
// that was used; "defaults" names those that the request did not give. "flags" maps the command's flags to values that are not the
// defaults, and holds the SHA-256 of the pixels of each input image.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/settings/setting.h"

namespace hearth::api {

// What a recipe holds besides the settings.
struct RecipeFacts {
  std::string version;                                      // of hearth
  std::string model, family;                                // the checkpoint's folder or file name, and its family
  std::vector<std::pair<std::string, std::string>> hashes;  // component → SHA-256 of its weights, hexadecimal
  std::string denoiser_hash;                                // of the denoiser: what A1111 calls the model hash
  std::string precision;                                    // of the denoiser's weights: "f16"
  std::string refiner;                                      // the refiner checkpoint's name, if there is one
  int64_t ended_after = 0;                                  // the step after which the run was ended; 0: all steps ran
  std::map<std::string, std::string> flags;                 // besides those of settings: precisions of components
};

// The names of the settings that the request did not give.
std::vector<std::string> defaults_of(const Request& requested, const Request& used);
// Flag → text for every setting with Report::among_flags or both, and "FLAG-sha256" → the hash of an image's pixels, which come from
// `requested`.
std::map<std::string, std::string> flags_of(const Request& requested, const Request& used);

// One line of JSON. UsageError for text that is not UTF-8 and for a number that is not finite. `used`: the settings that the run used.
std::string write_recipe(const RecipeFacts& facts, const Request& requested, const Request& used);

// IoError for anything but JSON of this form, and for a later format. Unknown keys, of a later version, are ignored.
Json read_recipe(std::string_view text);
// A setting's value in a recipe; null if it has none.
Json stored_value(const Json& recipe, const Row& row);

}  // namespace hearth::api
