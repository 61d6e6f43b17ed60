#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "api/rerun/rerun.h"
#include "core/error.h"

namespace hearth::api {
namespace {

using Json = nlohmann::json;

// ComfyUI's API format: {"3": {"class_type": "KSampler", "inputs": {"seed": 1, "model": ["4", 0], …}}, …}
class Graph {
 public:
  Graph(const Json& nodes, Rerun& r) : nodes_(nodes), r_(r) {}

  std::string find(const std::set<std::string>& classes) const {
    for (const auto& [id, node] : nodes_.items())
      if (classes.contains(class_of(id))) return id;
    return {};
  }
  std::string class_of(const std::string& id) const {
    const auto node = nodes_.find(id);
    return node != nodes_.end() && node->is_object() ? node->value("class_type", "") : "";
  }
  const Json* input(const std::string& id, const std::string& name) const {
    const auto node = nodes_.find(id);
    if (node == nodes_.end() || !node->is_object() || !node->contains("inputs") || !(*node)["inputs"].is_object()) return nullptr;
    const Json& inputs = (*node)["inputs"];
    return inputs.contains(name) ? &inputs[name] : nullptr;
  }
  // The node that an input comes from; empty if the input is a value.
  std::string source(const std::string& id, const std::string& name) const {
    const Json* from = input(id, name);
    return from && from->is_array() && !from->empty() && (*from)[0].is_string() ? (*from)[0].get<std::string>() : "";
  }
  // A value as text, also through one node that only provides a value.
  std::string text(const std::string& id, const std::string& name) {
    const Json* value = input(id, name);
    if (!value) return {};
    if (const std::string from = source(id, name); !from.empty()) {
      for (const char* slot : {"value", "text", "string", "seed", "noise_seed"})
        if (const Json* held = input(from, slot); held && !held->is_array()) return used(from), written(*held);
      r_.not_reproduced.push_back(
          fmt::format("{} of node {} ({}), which comes from node {} ({})", name, id, class_of(id), from, class_of(from)));
      return {};
    }
    return written(*value);
  }
  void pass(const std::string& id, const std::string& name, const char* flag) {
    if (const std::string value = text(id, name); !value.empty()) add_flag(r_, flag, value);
  }
  void used(const std::string& id) { used_.insert(id); }
  void report_unused() {
    for (const auto& [id, node] : nodes_.items())
      if (!used_.contains(id)) r_.not_reproduced.push_back(fmt::format("node {}: {}", id, class_of(id)));
  }

 private:
  static std::string written(const Json& v) { return v.is_string() ? v.get<std::string>() : v.dump(); }

  const Json& nodes_;
  Rerun& r_;
  std::set<std::string> used_;
};

// Follows the chain of text encoders to the checkpoint; nodes on the way are reported as not honored.
void follow_clip(Graph& g, Rerun& r, std::string id) {
  for (int depth = 0; depth < 64 && !id.empty(); ++depth) {
    if (g.class_of(id) == "CLIPSetLastLayer") {
      g.used(id);
      if (const Json* layer = g.input(id, "stop_at_clip_layer"); layer && layer->is_number_integer() && *layer != -1)
        add_flag(r, "clip-skip", -layer->get<int64_t>());
      return;
    }
    id = g.source(id, "clip");
  }
}

void add_prompt(Graph& g, Rerun& r, const std::string& sampler, const char* side, const char* flag, bool clip) {
  const std::string id = g.source(sampler, side);
  if (g.class_of(id) != "CLIPTextEncode") {
    if (!id.empty()) r.not_reproduced.push_back(fmt::format("the {} prompt from node {} ({})", side, id, g.class_of(id)));
    if (std::string_view(flag) == "prompt") add_flag(r, flag, "");
    return;
  }
  g.used(id);
  const std::string text = g.text(id, "text");
  if (!text.empty() || std::string_view(flag) == "prompt") add_flag(r, flag, text);
  if (clip) follow_clip(g, r, g.source(id, "clip"));
}

void add_start(Graph& g, Rerun& r, const std::string& sampler, const std::string& denoise) {
  std::string id = g.source(sampler, "latent_image");
  const std::string kind = g.class_of(id);
  if (kind == "EmptyLatentImage") {
    g.used(id);
    g.pass(id, "width", "width");
    g.pass(id, "height", "height");
    if (const std::string n = g.text(id, "batch_size"); !n.empty() && n != "1") add_flag(r, "batch-size", n);
    return;
  }
  if (kind == "VAEEncode" && g.class_of(g.source(id, "pixels")) == "LoadImage") {
    g.used(id);
    id = g.source(id, "pixels");
    g.used(id);
    g.pass(id, "image", "init-image");
    if (!denoise.empty()) add_flag(r, "strength", denoise);
    return;
  }
  r.not_reproduced.push_back(fmt::format("the initial latents from node {} ({})", id, kind));
}

}  // namespace

Rerun rerun_of_graph(const std::string& text) {
  const Json nodes = Json::parse(text, nullptr, false);
  if (!nodes.is_object()) fail<UsageError>("rerun: ComfyUI's graph is not a JSON object");
  Rerun r{.source = "ComfyUI", .arguments = {}, .model = {}};
  Graph g(nodes, r);
  const std::string sampler = g.find({"KSampler", "KSamplerAdvanced"});
  if (sampler.empty()) fail<UsageError>("rerun: ComfyUI's graph has no KSampler, expected one");
  g.used(sampler);
  add_prompt(g, r, sampler, "positive", "prompt", true);
  add_prompt(g, r, sampler, "negative", "negative-prompt", false);
  const bool advanced = g.class_of(sampler) == "KSamplerAdvanced";
  g.pass(sampler, advanced ? "noise_seed" : "seed", "seed");
  g.pass(sampler, "steps", "steps");
  g.pass(sampler, "cfg", "cfg-scale");
  g.pass(sampler, "sampler_name", "sampler");
  g.pass(sampler, "scheduler", "schedule");
  add_flag(r, "compat", "comfyui");
  add_start(g, r, sampler, advanced ? "" : g.text(sampler, "denoise"));
  if (advanced)
    for (const char* name : {"add_noise", "start_at_step", "end_at_step", "return_with_leftover_noise"})
      if (const std::string value = g.text(sampler, name); !value.empty()) r.not_reproduced.push_back(fmt::format("{} {}", name, value));
  if (const std::string loader = g.find({"CheckpointLoaderSimple", "CheckpointLoader"}); !loader.empty()) {
    g.used(loader);
    r.model = g.text(loader, "ckpt_name");
  }
  for (const char* harmless : {"VAEDecode", "SaveImage", "PreviewImage"})
    if (const std::string id = g.find({harmless}); !id.empty()) g.used(id);
  g.report_unused();
  return r;
}

}  // namespace hearth::api
