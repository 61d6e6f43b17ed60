// How a picture was made, in full: our own text in a PNG (keyword `hearth`), a JSON object.
//
//   {"hearth": "0.1.0", "format": 1,
//    "model": {"name": "demo", "family": "mock", "hashes": {"unet": "…"}},
//    "prompt": "…", "negative_prompt": "…", "prompt_syntax": "a1111", "emphasis": "original", "clip_skip": 1, "embeddings": [], "width":
//    512, "height": 512, "steps": 20, "guidance": 7.5, "sampler": "dpmpp_2m", "schedule": "karras", "seed": 1, "batch_size": 1,
//    "batch_index": 0, "compat": "", "precision": "f32", "noise": "seed", "defaults": ["width", "height"]}
//
// and, where guidance is more than classifier-free, "guidance_settings": {"method": "apg", "rescale": 0, "interval": [0.3, 5.4],
// "options": {"eta": "0.5", …}}, the interval only where there is one; "sampler_options" likewise; "eta_noise_seed_delta": 31337
// where it is not 0; "variation": {"seed": 5, "strength": 0.1}; and "flags" where more was asked for. Options of the
// model's family where they were given, as "prompt_2": "…" and "size_conditions": {"original_size": [1024, 768]}; "refiner": {"name": "…",
// "start": 0.8}.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hearth/option.h"
#include "media/parameters.h"

namespace hearth {

inline constexpr std::string_view parameters_keyword = "parameters", recipe_keyword = "hearth";

// An option of the model's family. The format has a key for each, or one in an object for all of a group: "size_conditions".
struct RecipeOption {
  std::string name, group;
  OptionType type = OptionType::integer;
  bool stated = false;  // it stands with what is always there, else behind it
  std::string a1111;    // its name in A1111's parameters, where it has one and is not 1
  OptionValue value;

  friend bool operator==(const RecipeOption&, const RecipeOption&) = default;
};
// As JSON: [w, h] for a pair; in a group a list in any case.
nlohmann::ordered_json json_of(const OptionValue& value);
nlohmann::ordered_json grouped_json_of(const OptionValue& value);

// Every value is the one that was used. `defaults` names those that the request left open, so the request can be told from it.
struct Recipe {
  std::string version;                                      // of hearth
  std::string model, family;                                // the checkpoint's folder or file name, and its family
  std::vector<std::pair<std::string, std::string>> hashes;  // component → SHA-256 of its weights, hexadecimal; "unet" is A1111's
  std::string prompt, negative_prompt;
  std::string prompt_syntax = "plain", emphasis = "original";
  std::vector<RecipeOption> options;    // of the model's family: those that were given, and those that are always stated
  std::vector<std::string> embeddings;  // what the prompts call them
  int64_t width = 0, height = 0;
  int64_t steps = 0;
  double guidance = 1;
  std::string guidance_method = "cfg";
  double guidance_rescale = 0;
  std::optional<std::array<double, 2>> guidance_interval;
  std::map<std::string, std::string> guidance_options;  // those that differ from the method's defaults
  std::string sampler;                                  // hearth's names of it
  std::map<std::string, std::string> sampler_options;   // those that differ from the sampler's defaults
  std::string schedule;                                 // and of the schedule
  uint64_t seed = 0;                                    // of this picture
  uint64_t variation_seed = 0;                          // where variation_strength is not 0
  double variation_strength = 0;
  // What else was asked for, by the names of the command's flags, only what is not the default: "hires", "vae-tiling", of runs that start
  // from a picture "init-image" and "init-image-sha256" (of its pixels), "mask", "strength" …
  std::map<std::string, std::string> flags;
  int64_t batch_size = 1, batch_index = 0;
  std::string compat;  // "", "diffusers", "comfyui" or "a1111"
  int64_t eta_noise_seed_delta = 0;
  std::string precision;  // of the weights, e.g. "f16"
  std::string noise;      // "seed", or "file" where the first noise was given
  std::string refiner;    // the second checkpoint's name, where there was one
  double refiner_start = 0;
  std::vector<std::string> defaults;

  friend bool operator==(const Recipe&, const Recipe&) = default;
};

// One line of JSON. UsageError for text that is not UTF-8 and for a guidance that is not finite.
std::string write_recipe(const Recipe& recipe);

// `options`: those that families have, whose values do not count. IoError for what is not JSON of this form, or of a later format. Keys it
// does not know are ignored: a later version's.
Recipe parse_recipe(std::string_view json, const std::vector<RecipeOption>& options);

// The same for A1111 and its readers, with A1111's names of samplers and schedules. The model's hash is the first ten digits of the
// UNet's. `RNG` tells A1111 where to draw the noise: what the flag "rng" says; without it `NV` where compat is "a1111", else `CPU`,
// PyTorch's generator.
Parameters to_parameters(const Recipe& recipe);

}  // namespace hearth
