#include "weights/layout/sections.h"

#include <algorithm>
#include <array>

#include "weights/listing.h"
#include "weights/name_pattern.h"
#include "weights/published_names.h"

namespace hearth {
namespace {

struct Kind {
  std::string_view network;  // "unet", "vae", "text"
  Naming naming;
  std::array<std::string_view, 3> marks;  // names that must all be there, behind the prefix
};
constexpr std::array<Kind, 9> kinds{{
    {"unet", Naming::compvis, {"input_blocks.0.0.weight", "time_embed.0.weight", "out.2.weight"}},
    {"unet", Naming::diffusers, {"conv_out.weight", "time_embedding.linear_1.weight", "down_blocks.0.resnets.0.conv1.weight"}},
    {"vae", Naming::compvis, {"decoder.conv_in.weight", "decoder.mid.block_1.conv1.weight", "decoder.up.0.block.0.conv1.weight"}},
    {"vae",
     Naming::diffusers,
     {"decoder.conv_in.weight", "decoder.mid_block.resnets.0.conv1.weight", "decoder.up_blocks.0.resnets.0.conv1.weight"}},
    {"vae", Naming::tiny, {"decoder.layers.0.weight", "decoder.layers.2.conv.0.weight", "decoder.layers.2.conv.4.weight"}},
    {"vae", Naming::tiny_numbers, {"1.weight", "3.conv.0.weight", "3.conv.4.weight"}},
    {"text", Naming::open_clip, {"token_embedding.weight", "positional_embedding", "transformer.resblocks.0.ln_1.weight"}},
    {"text",
     Naming::transformers,
     {"text_model.embeddings.token_embedding.weight", "text_model.embeddings.position_embedding.weight",
      "text_model.encoder.layers.0.layer_norm1.weight"}},
    {"text",
     Naming::transformers,
     {"embeddings.token_embedding.weight", "embeddings.position_embedding.weight", "encoder.layers.0.layer_norm1.weight"}},
}};

struct Place {
  std::string_view prefix, network, component;
};
constexpr std::array<Place, 16> places{{
    {"model.diffusion_model.", "unet", "unet"},
    {"diffusion_model.", "unet", "unet"},
    {"unet.", "unet", "unet"},
    {"", "unet", "unet"},
    {"first_stage_model.", "vae", "vae"},
    {"vae.", "vae", "vae"},
    {"", "vae", "vae"},
    {"cond_stage_model.transformer.", "text", "text_encoder"},
    {"cond_stage_model.model.", "text", "text_encoder"},
    {"conditioner.embedders.0.transformer.", "text", "text_encoder"},
    {"conditioner.embedders.0.model.", "text", "text_encoder_2"},  // the refiner's only one
    {"conditioner.embedders.1.model.", "text", "text_encoder_2"},
    {"conditioner.embedders.1.transformer.", "text", "text_encoder_2"},
    {"text_encoders.clip_l.transformer.", "text", "text_encoder"},
    {"text_encoders.clip_g.transformer.", "text", "text_encoder_2"},
    {"", "text", "text_encoder"},
}};

// The moving average of `model.diffusion_model.A.B` is `model_ema.diffusion_modelAB`.
std::string average_of(std::string_view name) {
  std::string flat = "model_ema.";
  for (char c : name.substr(name.find('.') + 1))
    if (c != '.') flat += c;
  return flat;
}

}  // namespace

std::vector<Section> find_sections(const TensorList& tensors, const std::string& where) {
  std::vector<Section> found;
  for (const Place& place : places)
    for (const Kind& kind : kinds) {
      if (kind.network != place.network) continue;
      const auto there = [&](std::string_view mark) { return tensors.contains(std::string(place.prefix) + std::string(mark)); };
      if (!std::ranges::all_of(kind.marks, there)) continue;
      const auto same = std::ranges::find(found, place.component, &Section::component);
      if (same != found.end())
        fail<UnsupportedError>("{}: holds two sets of tensors for the component '{}', with the prefixes '{}' and '{}'", where,
                               place.component, same->prefix, place.prefix);
      found.push_back({std::string(place.component), kind.naming, std::string(place.prefix)});
    }
  return found;
}

std::string_view autoencoder_class(const Section& section) {
  return section.naming == Naming::tiny || section.naming == Naming::tiny_numbers ? "AutoencoderTiny" : "AutoencoderKL";
}

std::shared_ptr<TensorSource> open_section(std::shared_ptr<TensorSource> source, const Section& section, const SectionOptions& options) {
  const TensorList all = source->list();
  const TensorList inside = inside_of(all, section.prefix);
  NameMap map;
  if (section.component == "unet") {
    if (section.naming == Naming::compvis) {
      UnetBlocks blocks = blocks_of_original(inside);
      blocks.class_embedding = options.class_embedding;
      map = unet_names(blocks);
    }
  } else if (section.component == "vae") {
    if (section.naming == Naming::compvis) map = autoencoder_kl_names(levels_of_original_autoencoder(inside));
    if (section.naming == Naming::tiny_numbers) map = tiny_decoder_names();
  } else {
    map = section.naming == Naming::open_clip ? open_clip_names() : clip_names();
  }
  Pieces pieces;
  if (section.naming == Naming::diffusers || section.naming == Naming::tiny) {
    const auto aliases = published_aliases(section.component == "vae" ? autoencoder_class(section) : "UNet2DConditionModel");
    for (const auto& [stored, official] : official_names(inside, aliases))
      pieces.emplace(official, Piece{section.prefix + stored, form::same, inside.at(stored)});
  } else {
    pieces = official_pieces(all, section.prefix, map);
  }
  if (options.averaged) {
    std::vector<std::string> lacking;
    for (auto& [name, piece] : pieces) {
      piece.stored = average_of(piece.stored);
      const auto average = all.find(piece.stored);
      if (average == all.end()) lacking.push_back("'" + piece.stored + "'");
      else if (average->second.shape != piece.info.shape)
        piece.info.unreadable = fmt::format("has an average of shape {}, needed {}", average->second.shape, piece.info.shape);
      else piece.info = average->second;
    }
    if (lacking.size() == pieces.size()) fail<WeightError>("{}: holds no averaged weights (model_ema.…)", source->describe());
    if (!lacking.empty()) fail<WeightError>("{}: lacks {} of the averaged weights", source->describe(), shortened_list(lacking));
  }
  return source_of(std::move(source), std::move(pieces));
}

bool is_leftover(std::string_view name) {
  static const std::vector<std::string> known{"betas",
                                              "alphas_cumprod*",
                                              "sqrt_alphas_cumprod",
                                              "sqrt_one_minus_alphas_cumprod",
                                              "sqrt_recip*_alphas_cumprod",
                                              "sqrt_recipm1_alphas_cumprod",
                                              "log_one_minus_alphas_cumprod",
                                              "posterior_*",
                                              "logvar",
                                              "lvlb_weights",
                                              "scale_factor",
                                              "denoiser.*",
                                              "model_ema.*",
                                              "first_stage_model.loss.*",
                                              "loss.*",
                                              "first_stage_model.model_ema.*",
                                              "cond_stage_model.logit_scale",
                                              "cond_stage_model.vision_model.*",
                                              "cond_stage_model.transformer.vision_model.*",
                                              "v_pred",
                                              "ztsnr",
                                              "edm_mean",
                                              "edm_std",
                                              "edm_vpred.sigma_m*",
                                              "*scaled_fp8",
                                              "global_step",
                                              "epoch"};
  return matches_any(known, name);
}

}  // namespace hearth
