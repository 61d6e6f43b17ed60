#include "models/deepseek_v2/config.h"

#include <cmath>

#include "parts/config_reading.h"
#include "parts/decoder/reading.h"

namespace hearth::models::deepseek_v2 {
namespace {

parts::ExpertsConfig read_experts(const Config& c, const parts::MlpConfig& mlp, bool third) {
  using namespace parts;
  using Score = RouterConfig::Score;
  ExpertsConfig experts{.router = read_router(c, "n_routed_experts", third ? 256 : 64, third ? 8 : 6), .expert = mlp};
  experts.expert.width = positive_integer(c, "moe_intermediate_size", third ? 2048 : 1407);
  experts.shared = ExpertsConfig::Shared{.mlp = experts.expert, .name = "shared_experts"};
  experts.shared->mlp.width *= positive_integer(c, "n_shared_experts", third ? 1 : 2);

  RouterConfig& r = experts.router;
  // A GGUF file says 1 for softmax, 2 for sigmoid.
  const int64_t gating = c.integer("gating_func", third ? 2 : 1);
  if (gating != 1 && gating != 2) fail<UnsupportedError>("{}: 'gating_func' = {} is not supported, expected 1 or 2", c.where(), gating);
  c.means("gating_func", std::to_string(gating));
  const bool sigmoid = gating == 2;
  c.only("scoring_func", {sigmoid ? "sigmoid" : "softmax"});
  r.score = sigmoid ? Score::sigmoid : Score::softmax;
  r.choice_bias = r.group_score_of_two = sigmoid;
  r.scale = float(c.number("routed_scaling_factor", third ? 2.5 : 1.0));
  r.epsilon = 1e-20;
  r.renormalize = c.boolean("norm_topk_prob", third);
  if (r.renormalize && !sigmoid) fail<UnsupportedError>("{}: 'norm_topk_prob' = true is not supported, only false", c.where());

  const std::string method = c.text("topk_method", sigmoid ? "noaux_tc" : c.has("gating_func") ? "group_limited_greedy" : "greedy");
  if (method != "greedy" && method != (sigmoid ? "noaux_tc" : "group_limited_greedy"))
    fail<UnsupportedError>("{}: 'topk_method' = \"{}\" is not supported, expected greedy or {}", c.where(), method,
                           sigmoid ? "noaux_tc" : "group_limited_greedy");
  c.no_effect({"topk_method"});
  r.groups = c.integer("n_group", third ? 8 : 1), r.chosen_groups = c.integer("topk_group", third ? 4 : 1);
  if (method == "greedy") r.groups = r.chosen_groups = 1, c.no_effect({"n_group", "topk_group"});
  if (r.groups < 1 || r.chosen_groups < 1 || r.chosen_groups > r.groups || r.experts % r.groups != 0 ||
      r.chosen > r.experts / r.groups * r.chosen_groups)
    fail<WeightError>("{}: 'topk_group' = {} of 'n_group' = {} cannot supply {} of {} experts", c.where(), r.chosen_groups, r.groups,
                      r.chosen, r.experts);
  return experts;
}

}  // namespace

parts::DecoderConfig read_config(const Config& c) {
  using namespace parts;
  c.only("model_type", {"deepseek_v2", "deepseek_v3"});
  const bool third = c.text("model_type", "deepseek_v2") == "deepseek_v3";
  c.no_effect({"model_type"});
  DecoderKeys defaults{.vocabulary = 32000, .width = 4096, .mlp_width = 11008, .layers = 32, .heads = 32};
  if (third) defaults = {.vocabulary = 129280, .width = 7168, .mlp_width = 18432, .layers = 61, .heads = 128, .positions = 4096};
  defaults.head = 64;
  defaults.names.head = "qk_rope_head_dim";  // the part of a head with positions
  DecoderKeys keys = DecoderKeys::read(c, defaults);
  const int64_t turned = keys.head;
  // Every head has its own keys, made of one latent vector; the reference derives its head_dim and qk_head_dim from the others.
  c.no_effect({"num_key_value_heads", "head_dim"});
  keys.rotary.pairs = !third || c.boolean("rope_interleave", true) ? RotaryPairs::neighbors : RotaryPairs::halves;
  c.means("rope_scaling", keys.rotary.spelled_with_score_factor());

  // A GGUF file states the size of a query, with and without positions.
  const bool whole = c.has("qk_head_dim") && !c.has("qk_nope_head_dim");
  const int64_t head = whole ? positive_integer(c, "qk_head_dim", 1) : positive_integer(c, "qk_nope_head_dim", 128) + turned;
  if (head <= turned) fail<WeightError>("{}: 'qk_head_dim' = {}, expected more than 'qk_rope_head_dim' = {}", c.where(), head, turned);
  c.no_effect({"qk_nope_head_dim"});
  LatentAttentionConfig attention{.heads = keys.heads,
                                  .latent = positive_integer(c, "kv_lora_rank", 512),
                                  .plain = head - turned,
                                  .turned = turned,
                                  .value = positive_integer(c, "v_head_dim", 128),
                                  .query_latent = is_null(c, "q_lora_rank") ? 0 : c.integer("q_lora_rank", c.has("gating_func") ? 0 : 1536),
                                  .scale = float(keys.rotary.score_factor() / std::sqrt(double(head))),
                                  .bias = c.boolean("attention_bias", false),
                                  .norm = {.eps = 1e-6f}};  // whatever rms_norm_eps says
  if (attention.query_latent < 0)
    fail<WeightError>("{}: 'q_lora_rank' = {}, expected null or at least 1", c.where(), attention.query_latent);
  c.means("qk_head_dim", std::to_string(head));
  c.means("cache_size", std::to_string(attention.latent + turned));
  c.means("cache_heads", "1");
  if (attention.query_latent == 0) c.no_effect({"q_lora_rank"});

  MlpConfig mlp = keys.mlp();
  if (!third) mlp.bias = c.boolean("mlp_bias", false);
  const ExpertsConfig experts = read_experts(c, mlp, third);
  const int64_t dense = c.integer("first_k_dense_replace", third ? 3 : 0);
  DecoderConfig d = keys.decoder();
  for (int64_t i = 0; i < keys.layers; ++i) {
    if (i < dense) d.layers.push_back(pre_norm(keys.rms_norm(), attention, mlp));
    else d.layers.push_back(pre_norm(keys.rms_norm(), attention, experts));
  }
  c.only_number("moe_layer_freq", 1);
  c.no_effect({"seq_aux", "ep_size", "num_nextn_predict_layers"});
  keys.finish(c);
  return d;
}

}  // namespace hearth::models::deepseek_v2
