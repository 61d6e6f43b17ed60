// <lora:NAME:SCALE> in a prompt of A1111's syntax, which names an adapter in a folder.
//
//   <lora:NAME>  <lora:NAME:0.8>           strength 1, 0.8
//   <lora:NAME:0.5:0.8>  <lora:NAME:te=0.5:unet=0.8>    0.5 on text encoders, 0.8 on the denoiser
//   <lora:NAME:0.8:lbw=1,0,0,0,1,…>        factors of a UNet's blocks, as the extension lora-block-weight numbers them
//   <lora:NAME:0.8:down_blocks.1.*=0.5>    a factor for modules, by a pattern
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "hearth/hearth.h"

namespace hearth::api {

struct PromptLoras {
  std::string prompt;  // without them
  std::vector<Lora> loras;
};

// `folder`: Request::lora_folder, in which also subfolders are searched. UsageError for a name that is not there, with the nearest one, for
// a prompt that names adapters without a folder, and for malformed numbers; UnsupportedError for `dyn=`.
PromptLoras take_loras(const std::string& prompt, const std::filesystem::path& folder);

// The names in a folder: files' names without their extensions → files.
std::map<std::string, std::filesystem::path> loras_in(const std::filesystem::path& folder);

// The request with the adapters of its prompt. UsageError for a folder that the prompt's syntax does not use.
Request with_prompt_loras(Request request);

}  // namespace hearth::api
