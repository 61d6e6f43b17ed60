#include "weights/layout/sections.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "weights/listing.h"
#include "weights/name_pattern.h"

namespace hearth {
namespace {

// A network that any family may have at a prefix, and its slots in each.
struct Site {
  std::string_view prefix;
  const NetworkFiles* network = nullptr;
  std::vector<const Slot*> slots;
};

std::vector<Site> sites_of(std::span<const KnownFamily> families) {
  std::vector<Site> sites;
  for (const KnownFamily& family : families)
    for (const NetworkPlace& place : family.files->places) {
      const auto same = [&](const Site& s) { return s.prefix == place.prefix && s.network == place.network; };
      auto site = std::ranges::find_if(sites, same);
      if (site == sites.end()) site = sites.insert(site, {place.prefix, place.network, {}});
      if (std::ranges::find(site->slots, place.slot->name, &Slot::name) == site->slots.end()) site->slots.push_back(place.slot);
    }
  return sites;
}

// The moving average of `model.diffusion_model.A.B` is `model_ema.diffusion_modelAB`.
std::string average_of(std::string_view name) {
  std::string flat = "model_ema.";
  for (char c : name.substr(name.find('.') + 1))
    if (c != '.') flat += c;
  return flat;
}

void take_averages(Pieces& pieces, const TensorList& all, const std::string& where) {
  std::vector<std::string> lacking;
  for (auto& [name, piece] : pieces) {
    piece.stored = average_of(piece.stored);
    const auto average = all.find(piece.stored);
    if (average == all.end()) lacking.push_back("'" + piece.stored + "'");
    else if (average->second.shape != piece.info.shape)
      piece.info.unreadable = fmt::format("has an average of shape {}, expected {}", average->second.shape, piece.info.shape);
    else piece.info = average->second;
  }
  if (lacking.size() == pieces.size()) fail<WeightError>("{}: holds no averaged weights (model_ema.…)", where);
  if (!lacking.empty()) fail<WeightError>("{}: lacks {} of the averaged weights", where, shortened_list(lacking));
}

bool may_hold(const ImageFiles& family, const Section& section) {
  return std::ranges::any_of(family.places,
                             [&](const NetworkPlace& place) { return place.prefix == section.prefix && place.network == section.network; });
}

}  // namespace

std::vector<Section> find_sections(const TensorList& tensors, std::span<const KnownFamily> families, const std::string& where) {
  std::vector<Section> found;
  for (const Site& site : sites_of(families))
    for (const Spelling& spelling : site.network->spellings) {
      const auto there = [&](std::string_view mark) { return tensors.contains(std::string(site.prefix) + std::string(mark)); };
      if (!std::ranges::all_of(spelling.marks, there)) continue;
      const auto same = std::ranges::find(found, site.slots, &Section::slots);
      if (same != found.end())
        fail<UnsupportedError>("{}: holds two sets of tensors for the component '{}', with the prefixes '{}' and '{}'", where,
                               same->slot().name, same->prefix, site.prefix);
      found.push_back({site.network, &spelling, std::string(site.prefix), site.slots});
    }
  return found;
}

const Section* denoiser_of(std::span<const Section> sections) {
  const auto found = std::ranges::find_if(sections, [](const Section& s) { return s.slot().role == ComponentRole::denoiser; });
  return found == sections.end() ? nullptr : &*found;
}

std::string contents_of(const TensorList& tensors, std::span<const Section> sections, std::span<const KnownFamily> families,
                        const std::string& architecture) {
  std::vector<std::string> names;
  for (const Section& s : sections) names.emplace_back(s.slot().label);
  if (names.empty())
    for (const Recognized& r : recognize(tensors, signatures_of(families))) names.push_back(r.what);
  if (names.empty() && !architecture.empty()) return fmt::format("a GGUF model of the architecture '{}'", architecture);
  return names.empty() ? "no network that hearth recognizes" : fmt::format("{}", fmt::join(names, ", "));
}

std::shared_ptr<TensorSource> open_section(std::shared_ptr<TensorSource> source, const Section& section, const SectionOptions& options) {
  const TensorList all = source->list(), inside = inside_of(all, section.prefix);
  Pieces pieces;
  if (section.spelling->reading) {
    pieces = official_pieces(all, section.prefix, section.spelling->reading(inside, options.config ? *options.config : nlohmann::json()));
  } else {
    for (const auto& [stored, official] : official_names(inside, section.network->aliases))
      pieces.emplace(official, Piece{section.prefix + stored, form::same, inside.at(stored)});
  }
  if (options.averaged) take_averages(pieces, all, source->describe());
  return source_of(std::move(source), std::move(pieces));
}

std::vector<std::string> unknown_names(const TensorList& tensors, std::span<const Section> sections,
                                       std::span<const KnownFamily> families) {
  const Section* denoiser = denoiser_of(sections);
  std::vector<std::string> leftovers, unknown;
  for (const KnownFamily& family : families)
    if (!denoiser || may_hold(*family.files, *denoiser))
      leftovers.insert(leftovers.end(), family.files->leftovers.begin(), family.files->leftovers.end());
  for (const auto& tensor : tensors) {
    const std::string& name = tensor.first;
    const bool inside = std::ranges::any_of(sections, [&](const Section& s) { return name.starts_with(s.prefix); });
    if (!inside && !matches_any(leftovers, name)) unknown.push_back(name);
  }
  return unknown;
}

}  // namespace hearth
