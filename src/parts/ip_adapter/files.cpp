#include "parts/ip_adapter/files.h"

#include <fmt/ranges.h>

#include <array>
#include <nlohmann/json.hpp>

namespace hearth::parts {
namespace {

constexpr std::array<NameRule, 7> tokens{{
    {"image_proj.latents", "image_proj.latents"},
    {"image_proj.proj.**", "image_proj.proj.**"},
    {"image_proj.norm.*", "image_proj.norm.*"},
    {"image_proj.norm_out.*", "image_proj.norm_out.*"},
    {"image_proj.proj_in.*", "image_proj.proj_in.*"},
    {"image_proj.proj_out.*", "image_proj.proj_out.*"},
    {"ip_adapter.**", "ip_adapter.**"},
}};
constexpr std::array<NameRule, 3> of_face{{
    {"norm_out.*", "norm_out.*"},
    {"proj_in.*", "proj_in.*"},
    {"proj_out.*", "proj_out.*"},
}};
// Keys and values are one matrix in files; everything else has its own name.
constexpr std::array<NameRule, 7> resampler{{
    {"layers.#.0.to_kv.weight", "layers.#.0.to_k.weight", form::rows(0, 1, 2)},
    {"layers.#.0.to_kv.weight", "layers.#.0.to_v.weight", form::rows(1, 2, 2)},
    {"layers.#.0.norm1.*", "layers.#.0.norm1.*"},
    {"layers.#.0.norm2.*", "layers.#.0.norm2.*"},
    {"layers.#.0.to_q.weight", "layers.#.0.to_q.weight"},
    {"layers.#.0.to_out.weight", "layers.#.0.to_out.weight"},
    {"layers.#.1.**", "layers.#.1.**"},
}};

NameMap original_names(const TensorList&, const nlohmann::json&) {
  const char* const face = "image_proj.perceiver_resampler";
  return {{"", "", tokens}, {"image_proj", "image_proj", resampler}, {face, face, resampler}, {face, face, of_face}};
}

int64_t layers_of(const TensorList& t, std::string_view prefix) {
  int64_t layers = 0;
  while (t.contains(fmt::format("image_proj.{}layers.{}.0.to_q.weight", prefix, layers))) ++layers;
  return layers;
}

std::optional<std::string> config_of(const TensorList& t) {
  nlohmann::json c;
  const auto matrix = [&](const char* name) { return shape_of(t, std::string("image_proj.") + name + ".weight"); };
  const Shape proj = matrix("proj"), first = matrix("proj.0"), second = matrix("proj.2"), latents = shape_of(t, "image_proj.latents");
  if (proj.rank() == 2) {
    const Shape norm = matrix("norm");
    if (norm.rank() != 1 || norm[0] == 0 || proj[0] % norm[0]) return std::nullopt;
    c = {{"kind", "vector"}, {"in", proj[1]}, {"width", norm[0]}, {"tokens", proj[0] / norm[0]}};
  } else if (first.rank() == 2 && second.rank() == 2 && matrix("proj.3").rank() == 1) {
    c = {{"kind", "states"}, {"in", first[1]}, {"hidden", first[0]}, {"width", second[0]}};
  } else if (const Shape from = matrix("perceiver_resampler.proj_in"), to = matrix("perceiver_resampler.proj_out");
             from.rank() == 2 && to.rank() == 2 && first.rank() == 2 && second.rank() == 2) {
    const Shape q = matrix("perceiver_resampler.layers.0.0.to_q");
    if (from[0] == 0 || second[0] % from[0] || q.rank() != 2 || q[0] % 64) return std::nullopt;
    c = {{"kind", "face_and_states"},
         {"in", from[1]},
         {"face", first[1]},
         {"face_hidden", first[0]},
         {"hidden", from[0]},
         {"tokens", second[0] / from[0]},
         {"width", to[0]},
         {"heads", q[0] / 64},
         {"layers", layers_of(t, "perceiver_resampler.")}};
  } else if (first.rank() == 2 && second.rank() == 2 && matrix("norm").rank() == 1) {
    const int64_t width = matrix("norm")[0];
    if (width == 0 || second[0] % width) return std::nullopt;
    c = {{"kind", "face"}, {"in", first[1]}, {"hidden", first[0]}, {"width", width}, {"tokens", second[0] / width}};
  } else if (latents.rank() == 3 && matrix("proj_in").rank() == 2 && matrix("proj_out").rank() == 2) {
    const Shape q = matrix("layers.0.0.to_q");
    if (q.rank() != 2 || q[0] % 64) return std::nullopt;
    c = {{"kind", "resampler"},        {"in", matrix("proj_in")[1]}, {"hidden", latents[2]},          {"tokens", latents[1]},
         {"layers", layers_of(t, "")}, {"heads", q[0] / 64},         {"width", matrix("proj_out")[0]}};
  } else {
    return std::nullopt;
  }
  c["attends"] = nlohmann::json::array();
  for (int64_t id = 1;; id += 2) {
    const Shape k = shape_of(t, fmt::format("ip_adapter.{}.to_k_ip.weight", id));
    if (k.rank() != 2) break;
    c["attends"].push_back(k[0]);
  }
  return c.dump();
}

}  // namespace

const NetworkFiles ip_adapter_files{
    .classes = {"IPAdapter"},
    .spellings = {{.name = "original", .marks = {"ip_adapter.1.to_k_ip.weight", "ip_adapter.1.to_v_ip.weight"}, .reading = original_names}},
    .ignored = {"ip_adapter.*_lora.*"},  // of FaceID: a LoRA for the UNet, which adapters/ reads
    .standard_config = config_of,
};

}  // namespace hearth::parts
