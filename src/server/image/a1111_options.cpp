#include "server/image/a1111_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace hearth::server {
namespace {

// Options of A1111 that change images, and that hearth has at their defaults only.
struct Fixed {
  const char *key, *value;  // in JSON
};
constexpr Fixed fixed[] = {
    {"sd_vae", "\"Automatic\""},
    {"sd_unet", "\"Automatic\""},
    {"sd_hypernetwork", "\"None\""},
    {"sd_lora", "\"None\""},
    {"sd_vae_encode_method", "\"Full\""},
    {"sd_vae_decode_method", "\"Full\""},
    {"sd_noise_schedule", "\"Default\""},
    {"k_sched_type", "\"Automatic\""},
    {"sigma_min", "0.0"},
    {"sigma_max", "0.0"},
    {"rho", "0.0"},
    {"upcast_attn", "false"},
    {"tiling", "false"},
    {"face_restoration", "false"},
    {"initial_noise_multiplier", "1.0"},
    {"img2img_extra_noise", "0.0"},
    {"img2img_color_correction", "false"},
    {"img2img_fix_steps", "false"},
    {"img2img_background_color", "\"#ffffff\""},
    {"inpainting_mask_weight", "1.0"},
    {"return_mask", "false"},
    {"return_mask_composite", "false"},
    {"comma_padding_backtrack", "20"},
    {"s_min_uncond", "0.0"},
    {"s_min_uncond_all", "false"},
    {"skip_early_cond", "0.0"},
    {"token_merging_ratio", "0.0"},
    {"token_merging_ratio_img2img", "0.0"},
    {"token_merging_ratio_hr", "0.0"},
    {"pad_cond_uncond", "false"},
    {"uni_pc_variant", "\"bh1\""},
    {"uni_pc_skip_type", "\"time_uniform\""},
    {"uni_pc_order", "3"},
    {"uni_pc_lower_order_final", "true"},
    {"sdxl_crop_top", "0"},
    {"sdxl_crop_left", "0"},
    {"sdxl_refiner_low_aesthetic_score", "2.5"},
    {"sdxl_refiner_high_aesthetic_score", "6.0"},
    {"hires_fix_use_firstpass_conds", "false"},
    {"use_old_emphasis_implementation", "false"},
    {"use_old_karras_scheduler_sigmas", "false"},
    {"use_old_hires_fix_width_height", "false"},
    {"use_old_scheduling", "false"},
    {"no_dpmpp_sde_batch_determinism", "false"},
    {"dont_fix_second_order_samplers_schedule", "false"},
    {"sgm_noise_multiplier", "false"},
    {"enable_pnginfo", "true"},
};

constexpr std::string_view rngs[] = {"NV", "CPU"};
constexpr std::string_view emphases[] = {"Original", "No norm", "Ignore", "None"};
constexpr std::string_view formats[] = {"png", "jpg", "jpeg", "webp"};

Emphasis emphasis_named(const std::string& name) {
  if (name == "No norm") return Emphasis::no_norm;
  if (name == "Ignore") return Emphasis::ignore;
  return name == "None" ? Emphasis::none : Emphasis::original;
}

template <class T> void take(T& to, std::optional<T> value) {
  if (value) to = *std::move(value);
}

}  // namespace

std::string checkpoint_of(const std::string& name, const std::vector<OfferedModel>& models) {
  const auto offered = [&](std::string_view id) {
    return std::ranges::any_of(models, [&](const OfferedModel& m) { return m.kind == OfferedModel::Kind::image && m.id == id; });
  };
  std::string id = name;
  if (offered(id)) return id;
  if (const size_t bracket = id.rfind(" ["); bracket != id.npos && id.ends_with(']')) id.resize(bracket);
  if (offered(id)) return id;
  for (const std::string_view extension : {".safetensors", ".ckpt", ".gguf"})
    if (id.ends_with(extension)) id.resize(id.size() - extension.size());
  if (offered(id)) return id;
  throw ApiError(404, fmt::format("sd_model_checkpoint: the model '{}' does not exist", name), "sd_model_checkpoint", "model_not_found");
}

Json A1111Options::json() const {
  Json all{{"sd_model_checkpoint", checkpoint},
           {"sd_checkpoint_hash", ""},
           {"CLIP_stop_at_last_layers", clip_skip},
           {"eta_noise_seed_delta", ensd},
           {"always_discard_next_to_last_sigma", discard_penultimate},
           {"randn_source", rng},
           {"emphasis", emphasis},
           {"samples_format", samples_format},
           {"jpeg_quality", jpeg_quality},
           {"webp_lossless", webp_lossless},
           {"eta_ddim", eta_ddim},
           {"eta_ancestral", eta_ancestral},
           {"s_churn", s_churn},
           {"s_tmin", s_tmin},
           {"s_tmax", s_tmax},
           {"s_noise", s_noise},
           {"live_previews_enable", live_previews},
           {"show_progress_every_n_steps", preview_every}};
  for (const Fixed& f : fixed) all[f.key] = Json::parse(f.value);
  return all;
}

void A1111Options::set(const Fields& fields, const std::vector<OfferedModel>& models) {
  for (const Fixed& f : fixed) {
    const Json* value = fields.value(f.key);
    const bool no_vae = std::string_view(f.key) == "sd_vae" && value && *value == "None";  // the checkpoint's own, too
    if (value && *value != Json::parse(f.value) && !no_vae)
      fields.refuse(f.key,
                    fmt::format("{} is not supported, expected {}", value->dump(-1, ' ', false, Json::error_handler_t::replace), f.value),
                    "unsupported");
  }
  if (const auto name = fields.text("sd_model_checkpoint"); name && !name->empty()) checkpoint = checkpoint_of(*name, models);
  take(clip_skip, fields.integer("CLIP_stop_at_last_layers", 1, 12));
  take(ensd, fields.integer("eta_noise_seed_delta", std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()));
  take(discard_penultimate, fields.flag("always_discard_next_to_last_sigma"));
  if (fields.text("randn_source") != "GPU") take(rng, fields.word("randn_source", rngs));
  else rng = "NV";  // whose values NV reproduces
  take(emphasis, fields.word("emphasis", emphases));
  take(samples_format, fields.word("samples_format", formats));
  take(jpeg_quality, fields.integer("jpeg_quality", 1, 100));
  take(webp_lossless, fields.flag("webp_lossless"));
  constexpr double most = std::numeric_limits<double>::infinity();
  take(eta_ddim, fields.number("eta_ddim", 0, 1));
  take(eta_ancestral, fields.number("eta_ancestral", 0, most));
  take(s_churn, fields.number("s_churn", 0, most));
  take(s_tmin, fields.number("s_tmin", 0, most));
  take(s_tmax, fields.number("s_tmax", 0, most));
  take(s_noise, fields.number("s_noise", 0, most));
  take(live_previews, fields.flag("live_previews_enable"));
  if (const auto every = fields.integer("show_progress_every_n_steps", -1, 1000)) preview_every = *every;  // -1: only at the end
}

ImageForm A1111Options::form() const {
  return {.format = samples_format == "jpg" ? "jpeg" : samples_format, .quality = int(jpeg_quality), .lossless = webp_lossless};
}

void A1111Options::apply(Request& request) const {
  request.compat = Compat::a1111;
  if (rng == "CPU") request.rng = Rng::cpu;
  if (emphasis != "Original") request.emphasis = emphasis_named(emphasis);
  if (clip_skip > 1) request.options["clip_skip"] = clip_skip;
  request.eta_noise_seed_delta = ensd;
  request.discard_penultimate = discard_penultimate;
}

}  // namespace hearth::server
