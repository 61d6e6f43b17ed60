"""The keys that llama.cpp's converter writes for each family (converted.py): functions of a gguf.GGUFWriter and what config.json says."""
import math

import gguf
import numpy as np


def base_keys(w, c):
    """TextModel.set_gguf_parameters."""
    rope = c.get("rope_scaling") or {}
    kind = rope.get("rope_type", rope.get("type"))
    w.add_context_length(c["max_position_embeddings"])
    w.add_embedding_length(c["hidden_size"])
    w.add_feed_forward_length(c["intermediate_size"])
    w.add_head_count(c["num_attention_heads"])
    w.add_head_count_kv(c["num_key_value_heads"])
    if kind == "yarn":
        w.add_rope_scaling_type(gguf.RopeScalingType.YARN)
        w.add_rope_scaling_factor(rope["factor"])
        w.add_rope_scaling_orig_ctx_len(rope["original_max_position_embeddings"])
        w.add_rope_scaling_yarn_beta_fast(rope["beta_fast"])
        w.add_rope_scaling_yarn_beta_slow(rope["beta_slow"])
    if kind == "linear":
        w.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
        w.add_rope_scaling_factor(rope["factor"])
    w.add_rope_freq_base(c["rope_theta"])
    for name, add in (("rms_norm_eps", w.add_layer_norm_rms_eps), ("layer_norm_eps", w.add_layer_norm_eps), ("num_experts_per_tok", w.add_expert_used_count), ("n_group", w.add_expert_group_count),
                      ("topk_group", w.add_expert_group_used_count)):
        if c.get(name) is not None:
            add(c[name])
    for name in ("num_local_experts", "num_experts"):
        if c.get(name) is not None:
            w.add_expert_count(c[name])
    if c.get("scoring_func"):
        w.add_expert_gating_func({"softmax": gguf.ExpertGatingFuncType.SOFTMAX, "sigmoid": gguf.ExpertGatingFuncType.SIGMOID}[c["scoring_func"]])
    if c.get("head_dim") is not None:
        w.add_key_length(c["head_dim"])
        w.add_value_length(c["head_dim"])


def head_dim(c):
    return c.get("head_dim") or c["hidden_size"] // c["num_attention_heads"]


def llama_keys(w, c):
    base_keys(w, c)
    w.add_vocab_size(c["vocab_size"])
    w.add_rope_dimension_count(head_dim(c))


def expert_keys(w, c):
    base_keys(w, c)
    w.add_expert_feed_forward_length(c["moe_intermediate_size"])
    if c.get("shared_expert_intermediate_size"):
        w.add_expert_shared_feed_forward_length(c["shared_expert_intermediate_size"])


def gpt_oss_keys(w, c):
    base_keys(w, c)
    w.add_sliding_window(c["sliding_window"])
    w.add_expert_feed_forward_length(c["intermediate_size"])


def gemma2_keys(w, c):
    w.add_context_length(c["max_position_embeddings"])
    w.add_embedding_length(c["hidden_size"])
    w.add_feed_forward_length(c["intermediate_size"])
    w.add_head_count(c["num_attention_heads"])
    w.add_head_count_kv(c["num_key_value_heads"])
    w.add_layer_norm_rms_eps(c["rms_norm_eps"])
    w.add_key_length(c["head_dim"])
    w.add_value_length(c["head_dim"])
    w.add_attn_logit_softcapping(c["attn_logit_softcapping"])
    w.add_final_logit_softcapping(c["final_logit_softcapping"])
    w.add_sliding_window(c["sliding_window"])


def gemma3_keys(w, c):
    base_keys(w, c)
    w.add_sliding_window(c["sliding_window"])


def phi3_keys(w, c):
    original = c["original_max_position_embeddings"]
    w.add_context_length(c["max_position_embeddings"])
    w.add_rope_scaling_orig_ctx_len(original)
    w.add_embedding_length(c["hidden_size"])
    w.add_feed_forward_length(c["intermediate_size"])
    w.add_head_count(c["num_attention_heads"])
    w.add_head_count_kv(c["num_key_value_heads"])
    w.add_layer_norm_rms_eps(c["rms_norm_eps"])
    w.add_rope_dimension_count(int(c.get("partial_rotary_factor", 1.0) * c["hidden_size"]) // c["num_attention_heads"])
    w.add_rope_freq_base(c["rope_theta"])
    w.add_sliding_window(c["sliding_window"] or 0)
    scale = c["max_position_embeddings"] / original
    w.add_rope_scaling_attn_factors(math.sqrt(1 + math.log(scale) / math.log(original)))
    for name in ("long", "short"):
        w.add_tensor(f"rope_factors_{name}.weight", np.array(c["rope_scaling"][f"{name}_factor"], dtype=np.float32))


def phimoe_keys(w, c):
    phi3_keys(w, c)
    w.add_expert_used_count(c["num_experts_per_tok"])
    w.add_expert_count(c["num_local_experts"])


def deepseek_keys(w, c):
    base_keys(w, c)
    w.add_rope_dimension_count(head_dim(c))
    w.add_rope_scaling_type(gguf.RopeScalingType.NONE)
    w.add_leading_dense_block_count(c["first_k_dense_replace"])
    w.add_vocab_size(c["vocab_size"])
    w.add_expert_feed_forward_length(c["moe_intermediate_size"])
    w.add_expert_weights_scale(1.0)
    w.add_expert_count(c["n_routed_experts"])
    w.add_expert_shared_count(c["n_shared_experts"])


def deepseek2_keys(w, c):
    base_keys(w, {**c, "num_key_value_heads": 1, "head_dim": None})
    w.add_leading_dense_block_count(c["first_k_dense_replace"])
    w.add_vocab_size(c["vocab_size"])
    if c["q_lora_rank"] is not None:
        w.add_q_lora_rank(c["q_lora_rank"])
    w.add_kv_lora_rank(c["kv_lora_rank"])
    w.add_key_length(c["kv_lora_rank"] + c["qk_rope_head_dim"])
    w.add_value_length(c["kv_lora_rank"])
    w.add_key_length_mla(c["qk_nope_head_dim"] + c["qk_rope_head_dim"])
    w.add_value_length_mla(c["v_head_dim"])
    w.add_expert_feed_forward_length(c["moe_intermediate_size"])
    w.add_expert_count(c["n_routed_experts"])
    w.add_expert_shared_count(c["n_shared_experts"])
    w.add_expert_weights_scale(c["routed_scaling_factor"])
    if c["norm_topk_prob"]:
        w.add_expert_weights_norm(True)
    w.add_rope_dimension_count(c["qk_rope_head_dim"])
    if c["rope_scaling"]:
        w.add_rope_scaling_yarn_log_mul(0.1 * c["rope_scaling"]["mscale_all_dim"])


def granite_keys(w, c):
    llama_keys(w, c)
    w.add_attention_scale(c["attention_multiplier"])
    w.add_embedding_scale(c["embedding_multiplier"])
    w.add_residual_scale(c["residual_multiplier"])
    w.add_logit_scale(c["logits_scaling"])


def stablelm_keys(w, c):
    w.add_context_length(c["max_position_embeddings"])
    w.add_embedding_length(c["hidden_size"])
    w.add_feed_forward_length(c["intermediate_size"])
    w.add_rope_dimension_count(int(c["partial_rotary_factor"] * (c["hidden_size"] // c["num_attention_heads"])))
    w.add_head_count(c["num_attention_heads"])
    w.add_head_count_kv(c["num_key_value_heads"])
    w.add_parallel_residual(True)  # whatever the network does, where config.json has no such key; the tensors show it
    w.add_layer_norm_eps(c["layer_norm_eps"])


def cohere_keys(w, c):
    base_keys(w, c)
    w.add_logit_scale(c["logit_scale"])
    w.add_rope_scaling_type(gguf.RopeScalingType.NONE)


def cohere2_keys(w, c):
    cohere_keys(w, c)
    w.add_sliding_window(c["sliding_window"])
    w.add_vocab_size(c["vocab_size"])
    w.add_rope_dimension_count(c["hidden_size"] // c["num_attention_heads"])


def chatglm_keys(w, c):
    w.add_context_length(c["max_position_embeddings"])
    w.add_embedding_length(c["hidden_size"])
    w.add_feed_forward_length(c["intermediate_size"])
    w.add_head_count(c["num_attention_heads"])
    w.add_head_count_kv(c["num_key_value_heads"])
    w.add_layer_norm_rms_eps(1e-5)
    w.add_rope_dimension_count(int(c["hidden_size"] // c["num_attention_heads"] * 0.5))
    w.add_add_bos_token(False)
    w.add_rope_freq_base(10000)


def glm4_keys(w, c):
    base_keys(w, c)
    w.add_rope_dimension_count(int(head_dim(c) * c["partial_rotary_factor"]))


def state_space_keys(w, c):
    """Of layers without attention."""
    w.add_context_length(2**20)
    w.add_embedding_length(c["hidden_size"])
    w.add_feed_forward_length(0)
    w.add_head_count(0)
    w.add_ssm_conv_kernel(c["conv_kernel"])
    w.add_ssm_inner_size(2 * c["hidden_size"])
    w.add_ssm_state_size(c["state_size"])
    w.add_layer_norm_rms_eps(c["layer_norm_epsilon"])


def mamba_keys(w, c):
    state_space_keys(w, c)
    w.add_ssm_time_step_rank(c["time_step_rank"])
    w.add_ssm_dt_b_c_rms(c["model_type"] == "falcon_mamba")


def mamba2_keys(w, c):
    state_space_keys(w, c)
    w.add_ssm_time_step_rank(2 * c["hidden_size"] // c["head_dim"])
    w.add_ssm_group_count(c["n_groups"])


def jamba_keys(w, c):
    attends = [i % c["attn_layer_period"] == c["attn_layer_offset"] for i in range(c["num_hidden_layers"])]
    w.add_context_length(c["max_position_embeddings"])
    w.add_embedding_length(c["hidden_size"])
    w.add_feed_forward_length(c["intermediate_size"])
    w.add_head_count(c["num_attention_heads"])
    w.add_head_count_kv([c["num_key_value_heads"] * int(a) for a in attends])
    w.add_ssm_conv_kernel(c["mamba_d_conv"])
    w.add_ssm_inner_size(c["mamba_expand"] * c["hidden_size"])
    w.add_ssm_state_size(c["mamba_d_state"])
    w.add_ssm_time_step_rank(c["mamba_dt_rank"])
    w.add_layer_norm_rms_eps(c["rms_norm_eps"])
    w.add_expert_count(c["num_experts"])
    w.add_expert_used_count(c["num_experts_per_tok"])


def qwen3_next_keys(w, c):
    expert_keys(w, c)
    w.add_ssm_conv_kernel(c["linear_conv_kernel_dim"])
    w.add_ssm_state_size(c["linear_key_head_dim"])
    w.add_ssm_group_count(c["linear_num_key_heads"])
    w.add_ssm_time_step_rank(c["linear_num_value_heads"])
    w.add_ssm_inner_size(c["linear_value_head_dim"] * c["linear_num_value_heads"])
    w.add_full_attention_interval(c.get("full_attention_interval", 4))
    w.add_rope_dimension_count(int(head_dim(c) * c["partial_rotary_factor"]))


def recurrence_keys(w, c, eps, head_size):
    w.add_context_length(1048576)
    w.add_embedding_length(c["hidden_size"])
    w.add_layer_norm_eps(eps)
    w.add_wkv_head_size(head_size)
    w.add_feed_forward_length(c["intermediate_size"])
    w.add_head_count(0)


def rwkv6_keys(w, c):
    recurrence_keys(w, c, c["layer_norm_epsilon"], c["head_size"])
    w.add_rescale_every_n_layers(c["rescale_every"])
    w.add_time_mix_extra_dim(64 if c["hidden_size"] == 4096 else 32)  # whatever config.json says
    w.add_time_decay_extra_dim(128 if c["hidden_size"] == 4096 else 64)


def rwkv7_keys(w, c):
    recurrence_keys(w, c, c["norm_eps"], c["head_dim"])
    w.add_decay_lora_rank(c["decay_low_rank_dim"])
    w.add_iclr_lora_rank(c["a_low_rank_dim"])
    w.add_value_residual_mix_lora_rank(c["v_low_rank_dim"])
    w.add_gate_lora_rank(c["gate_low_rank_dim"])
