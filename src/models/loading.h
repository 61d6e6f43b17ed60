// How a checkpoint of any family is loaded, and the report of it.
#pragma once

#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hearth/progress.h"
#include "weights/checkpoint.h"
#include "weights/weights.h"

namespace hearth::models {

inline constexpr int64_t all_blocks = std::numeric_limits<int64_t>::max();

struct LoadRequest {
  std::string variant;                                                           // "fp16": *.fp16.safetensors
  std::optional<WeightTypes> types;                                              // absent: automatic_types()
  std::map<std::string, std::optional<WeightTypes>, std::less<>> types_of_some;  // by component, replaces `types`
  std::map<std::string, Backend*, std::less<>> devices;                          // by component, replaces the model's; must outlive it
  std::filesystem::path cache;                   // folder of packed weights (weights/packed_cache.h); empty: none
  std::function<void(const std::string&)> warn;  // one line: the packed-weight cache cannot be used
  OnProgress progress;                           // phase "load", in bytes of all components
  bool when_needed = false;                      // runs load what they need; names and shapes are checked on opening
  int64_t memory_limit = 0;                      // bytes that the process may take; 0: no limit. Loads when needed
  // Of each network, on a device with two sides (weights/offload.h): how many of its blocks are on the card. With a limit of bytes that a
  // run may take there, each run has as many as fit; loads when needed.
  int64_t card_blocks = all_blocks;
  std::optional<int64_t> card_memory = {};
  const Checkpoint* refiner = nullptr;    // executes the last steps; its autoencoder is not used
  std::filesystem::path preview_decoder;  // file or folder of a small autoencoder for previews; empty: none

  const std::optional<WeightTypes>& types_of(std::string_view component) const {
    const auto own = types_of_some.find(component);
    return own == types_of_some.end() ? types : own->second;
  }
};

// Parts of components' blocks that stay in memory, 0 to 1 (LoadOptions::resident), by the components' names in reports; absent: all.
using Residence = std::map<std::string, double>;
// Blocks of components on the card, in the same way; absent: LoadRequest::card_blocks.
using OnCard = std::map<std::string, int64_t>;

// Where the blocks of components are.
struct Placement {
  Residence resident;
  OnCard on_card = {};
};

// The role of a component determines when a run needs it, and its precision.
enum class Role { text_encoder, image_encoder, denoiser, codec, preview, control };

// A component as loaded.
struct ComponentReport {
  std::string name, class_name;           // "unet", "UNet2DConditionModel"
  std::optional<Role> role = {};          // of image models
  std::vector<std::string> files;         // relative to the checkpoint
  std::map<std::string, int64_t> stored;  // dtype or block type → number of values, as in the files
  std::string held;                       // "f16", or "as stored"
  std::string factors;                    // of its products: "f32" or "bf16"
  std::string device;                     // the backend's name
  // Of all tensors. Memory excludes tables that stay in the file, and what is loaded at its first use.
  int64_t parameters = 0, bytes = 0;
  int64_t blocks = 0, blocks_in_memory = 0;  // of the network (weights/blocks.h); those that stay in memory
  // Of the other blocks, in all runs: how many were loaded, the seconds that took in the background, and those that runs waited for them.
  int64_t block_loads = 0;
  double block_load_seconds = 0, block_wait_seconds = 0;
  // Of a device with two sides: the network's blocks (weights/offload.h), those on the card, and the bytes there, of `bytes`.
  struct Card {
    int64_t of_blocks = 0, blocks = 0, bytes = 0;
    bool all() const { return blocks == of_blocks && bytes > 0; }
  };
  std::optional<Card> card = {};
  std::vector<std::string> kept_wider;  // tensors whose values the requested type cannot represent
};

}  // namespace hearth::models
