// What an adapter is for: how much of it each published model of this build has.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "adapters/adapters.h"
#include "weights/layout/image_files.h"

namespace hearth::api {

// A diffusers folder without weights, of links: a built-in configuration and the vocabularies that it omits.
void link_configuration(const KnownFamily& family, const std::string& name, const std::filesystem::path& folder);

struct Fit {
  std::string model;  // "Stable Diffusion XL"
  adapters::Coverage coverage;
  size_t missing() const { return coverage.absent.size() + coverage.unknown.size(); }
};

// Of the published models that stand for the families (ImageFamily::benchmarks) and have any of it, those that lack least. Reads no
// weights.
std::vector<Fit> fits_of(const std::filesystem::path& adapter);

// Lines that say what the file is: kinds, ranks, modules, what it is for; of `model`, a checkpoint, how much of it fits.
std::string describe_adapter(const std::filesystem::path& adapter, const std::filesystem::path& model = {});

// A line that says whether a control network fits a checkpoint, and if not, why.
std::string describe_control(const std::filesystem::path& network, const std::filesystem::path& model);

}  // namespace hearth::api
