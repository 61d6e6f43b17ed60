// How an image was made, in full: our own text in its file (keyword `hearth`), a JSON object.
//
//   {"hearth": "0.1.0", "format": 1, "model": {"name": "demo", "family": "mock", "hashes": {"unet": "…"}}, "prompt": "…", …,
//    "precision": "f32", "noise": "seed", "defaults": ["width", "height"], …, "flags": {"hires": "2"}}
//
// Before "precision" stands what is always kept, behind "defaults" what was given beside it, each where its row of settings says
// (setting.h): alone, or in an object with others, as "guidance_settings", "variation" and "size_conditions". Every value is the one that
// was used; "defaults" names those that the request left open, so the request can be told from it. "flags" are by the names of the
// command's flags, only what is not the default, and the sums of images' pixels.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/settings/setting.h"

namespace hearth::api {

// What is no setting of the request.
struct RecipeFacts {
  std::string version;                                      // of hearth
  std::string model, family;                                // the checkpoint's folder or file name, and its family
  std::vector<std::pair<std::string, std::string>> hashes;  // component → SHA-256 of its weights, hexadecimal
  std::string denoiser_hash;                                // that of the network that takes the steps: A1111's hash of a model
  std::string precision;                                    // of its weights: "f16"
  std::string refiner;                                      // the second checkpoint's name, where there is one
  std::map<std::string, std::string> flags;                 // beside those of settings: precisions of components
};

// The settings that were left open.
std::vector<std::string> defaults_of(const Request& asked, const Request& told);
// Flag → text of the settings that are told so, and the sums of images. `told` need not have pixels.
std::map<std::string, std::string> flags_of(const Request& asked, const Request& told);

// One line of JSON. UsageError for text that is not UTF-8 and for a number that is not finite. `told`: what was used.
std::string write_recipe(const RecipeFacts& facts, const Request& asked, const Request& told);

// IoError for what is not JSON of this form, or of a later format. Keys it does not know are ignored: a later version's.
Json read_recipe(std::string_view text);
// What a recipe has kept of a setting; null where it has nothing.
Json kept_in(const Json& recipe, const Row& row);

}  // namespace hearth::api
