// The keys and names are those of llama.cpp's conversion of Qwen2_5_VLForConditionalGeneration: queries, keys and values are apart, and so
// are the two frames of the patches' kernel.
#include "parts/qwen_vision/files.h"

#include <array>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/on_host.h"
#include "weights/derived.h"
#include "weights/gguf/gguf.h"

namespace hearth::parts {
namespace {

constexpr std::string_view projector = "qwen2.5vl_merger";

constexpr std::array<Alias, 10> names{{
    {"v.blk.#.ln1.*", "blocks.#.norm1.*"},
    {"v.blk.#.ln2.*", "blocks.#.norm2.*"},
    {"v.blk.#.attn_qkv.*", "blocks.#.attn.qkv.*"},
    {"v.blk.#.attn_out.*", "blocks.#.attn.proj.*"},
    {"v.blk.#.ffn_gate.*", "blocks.#.mlp.gate_proj.*"},
    {"v.blk.#.ffn_up.*", "blocks.#.mlp.up_proj.*"},
    {"v.blk.#.ffn_down.*", "blocks.#.mlp.down_proj.*"},
    {"v.post_ln.*", "merger.ln_q.*"},
    {"mm.#.*", "merger.mlp.#.*"},
    {"v.patch_embd.both", "patch_embed.proj.weight"},
}};

// Rows of tensors of one dense type, one after another; f32 of others.
DerivedTensor joined(const std::vector<std::string>& from, const TensorList& all) {
  const TensorInfo& first = all.at(from[0]);
  std::vector<int64_t> shape(first.shape.begin(), first.shape.end());
  shape[0] = 0;
  bool alike = !is_blocked(first.dtype);
  for (const std::string& name : from) shape[0] += all.at(name).shape[0], alike &= all.at(name).dtype == first.dtype;
  const Shape whole = Shape(std::span<const int64_t>(shape));
  if (!alike) return derive_joined(from, whole);
  return derive(from, first.dtype, whole, [whole](std::span<const Tensor> parts) {
    return written_on_host(parts[0].backend(), whole, parts[0].dtype(), [&](Tensor& y) {
      auto* to = y.raw();
      for (const Tensor& x : parts) {
        const size_t bytes = bytes_of(x.dtype(), x.numel());
        std::memcpy(to, x.raw(), bytes), to += bytes;
      }
    });
  });
}

// [C, channels, p, p] of each frame → [C, channels, frames, p, p]
DerivedTensor kernel_of(const std::vector<std::string>& frames, const TensorList& all) {
  const Shape& one = all.at(frames[0]).shape;
  const int64_t C = one[0], channels = one[1], p = one[2], count = std::ssize(frames);
  return derive(frames, DType::f32, {C, channels, count, p, p}, [=](std::span<const Tensor> parts) {
    std::vector<std::vector<float>> each;
    for (const Tensor& x : parts) each.push_back(x.to_vector());
    std::vector<float> values;
    for (int64_t i = 0; i < C * channels; ++i)
      for (const std::vector<float>& frame : each) values.insert(values.end(), frame.begin() + i * p * p, frame.begin() + (i + 1) * p * p);
    return Tensor::from(parts[0].backend(), {C, channels, count, p, p}, values);
  });
}

nlohmann::json config_of(const GgufMetadata& m) {
  const std::string key = m.has("clip.vision.projector_type") ? "clip.vision.projector_type" : "clip.projector_type",
                    type = m.text(key, "");
  if (type != projector) fail<UnsupportedError>("{}: '{}' is \"{}\", expected \"{}\"", m.where(), key, type, projector);
  if (!m.boolean("clip.use_silu", false)) fail<UnsupportedError>("{}: 'clip.use_silu' is false, expected true", m.where());
  const double eps = m.number("clip.vision.attention.layer_norm_epsilon");
  if (std::abs(eps - 1e-6) > 1e-9)
    fail<UnsupportedError>("{}: 'clip.vision.attention.layer_norm_epsilon' = {} is not supported, expected 1e-6", m.where(), eps);
  const int64_t layers = m.integer("clip.vision.block_count"), every = m.integer("clip.vision.n_wa_pattern");
  if (every < 1) fail<WeightError>("{}: 'clip.vision.n_wa_pattern' is {}, expected at least 1", m.where(), every);
  nlohmann::json whole = nlohmann::json::array();
  for (int64_t layer = every - 1; layer < layers; layer += every) whole.push_back(layer);
  return {{"model_type", "qwen2_5_vl"},
          {"depth", layers},
          {"hidden_size", m.integer("clip.vision.embedding_length")},
          {"intermediate_size", m.integer("clip.vision.feed_forward_length")},
          {"num_heads", m.integer("clip.vision.attention.head_count")},
          {"patch_size", m.integer("clip.vision.patch_size")},
          {"spatial_merge_size", m.integer("clip.vision.spatial_merge_size", 2)},
          {"window_size", m.integer("clip.vision.window_size", 112)},
          {"out_hidden_size", m.integer("clip.vision.projection_dim")},
          {"fullatt_block_indexes", whole}};
}

SelfDescribed open_mmproj(const std::shared_ptr<TensorSource>& file) {
  const auto gguf = std::dynamic_pointer_cast<GgufFile>(file);
  if (!gguf) fail<UnsupportedError>("{}: its tensors have the names of GGUF files, but it is not a GGUF file", file->describe());
  const nlohmann::json config = config_of(gguf->metadata());
  const TensorList all = gguf->list();
  const auto require = [&](const std::string& name, int rank) {
    const auto found = all.find(name);
    if (found == all.end() || found->second.shape.rank() != rank)
      fail<WeightError>("{}: has no tensor '{}' of {} axes", file->describe(), name, rank);
  };
  std::map<std::string, DerivedTensor> fused;
  const std::vector<std::string> frames{"v.patch_embd.weight", "v.patch_embd.weight.1"};
  for (const std::string& name : frames) require(name, 4);
  if (all.at(frames[0]).shape != all.at(frames[1]).shape || all.at(frames[0]).shape[2] != all.at(frames[0]).shape[3])
    fail<WeightError>("{}: '{}' is {} and '{}' {}, expected equal shapes with a square", file->describe(), frames[0],
                      all.at(frames[0]).shape, frames[1], all.at(frames[1]).shape);
  fused["v.patch_embd.both"] = kernel_of(frames, all);
  for (int64_t layer = 0, count = config.at("depth"); layer < count; ++layer)
    for (const auto& [end, rank] : {std::pair("weight", 2), {"bias", 1}}) {
      std::vector<std::string> parts;
      for (const char* part : {"q", "k", "v"}) {
        parts.push_back(fmt::format("v.blk.{}.attn_{}.{}", layer, part, end));
        require(parts.back(), rank);
        if (rank == 2 && all.at(parts.back()).shape[1] != all.at(parts[0]).shape[1])
          fail<WeightError>("{}: '{}' has {} columns, expected the {} of '{}'", file->describe(), parts.back(),
                            all.at(parts.back()).shape[1], all.at(parts[0]).shape[1], parts[0]);
      }
      fused[fmt::format("v.blk.{}.attn_qkv.{}", layer, end)] = joined(parts, all);
    }
  return {.tensors = aliased(derived(gguf, std::move(fused)), names), .config = config.dump()};
}

}  // namespace

const NetworkFiles qwen_vision_files{
    .classes = {"Qwen2_5_VisionTransformerPretrainedModel"},
    .spellings = {{.name = "mmproj",
                   .marks = {"v.patch_embd.weight", "v.patch_embd.weight.1", "v.blk.0.attn_q.weight", "mm.0.weight"},
                   .opening = open_mmproj}},
};

}  // namespace hearth::parts
