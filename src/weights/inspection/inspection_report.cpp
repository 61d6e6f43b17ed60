#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "weights/inspection/inspection.h"
#include "weights/listing.h"

namespace hearth {
namespace {

using Json = nlohmann::ordered_json;

Json types_json(const InspectedComponent& c) {
  Json types = Json::object();
  for (const auto& [kind, counts] : c.types)
    for (const auto& [type, count] : counts) types[kind][type] = {{"tensors", count.tensors}, {"parameters", count.parameters}};
  return types;
}

Json quantized_json(const QuantizedWeights& q) {
  Json types = Json::object();
  for (const auto& [type, held] : q.types) types[type] = {{"weights", held.weights}, {"bytes", held.bytes}, {"widened", held.widened}};
  return {{"method", q.method}, {"stored_bytes", q.stored_bytes}, {"unpacked_bytes", q.unpacked_bytes}, {"types", types}};
}

std::string count_text(int64_t n) {
  if (n < 1000) return fmt::format("{}", n);
  return n < 1'000'000 ? fmt::format("{:.1f} k", double(n) / 1e3) : fmt::format("{:.2f} M", double(n) / 1e6);
}

// "f16", or "matrices f16; norms f32, f16" if the classes of tensors differ.
std::string types_text(const InspectedComponent& c) {
  std::set<std::string> all;
  std::vector<std::string> parts;
  for (const auto& [kind, counts] : c.types) {
    std::vector<std::string> names;
    for (const auto& [type, count] : counts) names.push_back(type);
    all.insert(names.begin(), names.end());
    parts.push_back(fmt::format("{} {}", kind, fmt::join(names, " and ")));
  }
  return all.size() == 1 ? *all.begin() : fmt::format("{}", fmt::join(parts, ", "));
}

std::string component_text(const InspectedComponent& c) {
  std::string text = fmt::format("{}{}\n", c.name, c.class_name.empty() ? "" : ": " + c.class_name);
  const auto line = [&](std::string_view label, const std::string& value) {
    if (!value.empty()) text += fmt::format("  {:<12} {}\n", label, value);
  };
  line("problem", c.problem);
  line("unused", c.unused);
  for (const Recognized& r : c.recognized) line("holds", fmt::format("{} ({} tensor names)", r.what, r.layout));
  if (c.tensors > 0 && c.recognized.empty() && c.class_name.empty()) line("holds", "no network that hearth recognizes");
  if (c.tensors > 0) {
    line("size", fmt::format("{} parameters in {} tensors, {}", count_text(c.parameters), c.tensors, size_text(c.bytes)));
    line("precision", types_text(c));
  }
  line("quantized", c.quantized.text());
  std::vector<std::string> files, variants;
  for (const InspectedFile& file : c.files) files.push_back(fmt::format("{} ({})", file.name, size_text(file.bytes)));
  for (const std::string& variant : c.variants) variants.push_back(variant.empty() ? "full precision" : variant);
  line("files", shortened_list(files));
  line("index", c.index);
  if (variants.size() > 1 || c.variants != std::vector<std::string>{c.variant})
    line("variants", fmt::format("{}", fmt::join(variants, ", ")));
  line("tokenizer", c.tokenizer);
  line("layout", c.layout);
  line("unreadable", shortened_list(c.unreadable));
  line("ignored", shortened_list(c.ignored));
  std::vector<std::string> config;
  for (const auto& [key, value] : c.config) config.push_back(key + " " + value);
  line("config", fmt::format("{}", fmt::join(config, ", ")));
  return text;
}

}  // namespace

nlohmann::ordered_json to_json(const InspectedCheckpoint& found) {
  Json json = {{"kind", found.kind}};
  if (!found.pipeline_class.empty()) json["pipeline_class"] = found.pipeline_class;
  json["components"] = Json::array();
  for (const InspectedComponent& c : found.components) {
    Json one = {{"name", c.name},     {"library", c.library}, {"class", c.class_name},  {"problem", c.problem},
                {"unused", c.unused}, {"variant", c.variant}, {"variants", c.variants}, {"index", c.index}};
    one["files"] = Json::array();
    for (const InspectedFile& file : c.files) one["files"].push_back({{"name", file.name}, {"bytes", file.bytes}});
    one["recognized"] = Json::array();
    for (const Recognized& r : c.recognized)
      one["recognized"].push_back({{"part", r.part}, {"what", r.what}, {"layout", r.layout}, {"prefix", r.prefix}});
    one["tensors"] = c.tensors;
    one["parameters"] = c.parameters;
    one["bytes"] = c.bytes;
    one["types"] = types_json(c);
    one["unreadable"] = c.unreadable;
    if (!c.quantized.method.empty()) one["quantized"] = quantized_json(c.quantized);
    if (!c.layout.empty()) {
      one["layout"] = c.layout;
      one["ignored"] = c.ignored;
    }
    one["metadata"] = c.metadata;
    if (!c.tokenizer.empty()) one["tokenizer"] = c.tokenizer;
    one["config"] = Json::object();
    for (const auto& [key, value] : c.config)
      one["config"][key] = Json::parse(value, nullptr, false).is_discarded() ? Json(value) : Json::parse(value);
    json["components"].push_back(std::move(one));
  }
  return json;
}

std::string to_text(const InspectedCheckpoint& found) {
  std::string text = found.kind;
  if (!found.pipeline_class.empty()) text += ": " + found.pipeline_class;
  text += "\n";
  for (const InspectedComponent& c : found.components) text += component_text(c);
  return text;
}

}  // namespace hearth
