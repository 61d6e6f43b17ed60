"""GGUF files by the rules of llama.cpp's converter (conversion/*.py, autumn 2026), one tiny model of each family, and transformers' logits.
python src/models/golden/converted.py [FAMILY …]

Keys are written by the methods of the gguf package and tensors named by its tables; what the converter does beyond that is in the
functions below. Matrices are f16, as the converter writes by default, and the reference computes with the rounded values.
converted/<family>.gguf, converted/<family>.safetensors; of gpt-oss also a folder. Made with gguf 0.19.0, torch 2.15.0, transformers 4.57.1.
"""
import importlib.util
import json
import math
import sys
from pathlib import Path

import gguf
import numpy as np
import safetensors.torch
import torch
import transformers as t

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "parts/decoder/golden"))
sys.path.insert(0, str(HERE.parents[2] / "tools"))
import golden  # noqa: E402
import name_weights  # noqa: E402
import recipe  # noqa: E402


def network_of(family):
    """The module network.py beside a family's recipe."""
    spec = importlib.util.spec_from_file_location(f"{family}_network", HERE.parent / family / "golden/network.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


deepseek, deepseek_v2 = network_of("deepseek"), network_of("deepseek_v2")

# It would reset the biases that layer norms of heads do not have.
t.models.stablelm.modeling_stablelm.StableLmPreTrainedModel._init_weights = lambda self, module: None

V, IDS = 40, recipe.tokens(24, 40, 7)
COMMON = dict(vocab_size=V, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=128, rope_theta=1000.0, tie_word_embeddings=False,
              pad_token_id=0, bos_token_id=1, eos_token_id=2)


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


def permuted(x, heads):
    return x.reshape(heads, 2, x.shape[0] // heads // 2, *x.shape[1:]).swapaxes(1, 2).reshape(x.shape)


def llama_rows(name, x, c):
    """Halves of rotated heads side by side."""
    for part, heads in (("q_proj", c["num_attention_heads"]), ("k_proj", c["num_key_value_heads"])):
        if f".{part}." in name:
            yield name, permuted(x, heads)
            return
    yield name, x


def plus_one(name, x, c):
    if name != "lm_head.weight":
        yield name, x + 1 if name.endswith("norm.weight") else x


def without_biases(name, x, c):
    if not name.endswith(".bias"):
        yield name, x


def halves_of_kv_b(name, x, c):
    name = name.replace("e_score_correction_bias", "e_score_correction.bias")
    if not name.endswith("kv_b_proj.weight"):
        yield name, x
        return
    both = x.reshape(c["num_attention_heads"], c["v_head_dim"] + c["qk_nope_head_dim"], x.shape[-1])
    yield name.replace("kv_b_proj", "k_b_proj"), both[:, : c["qk_nope_head_dim"]].swapaxes(1, 2)
    yield name.replace("kv_b_proj", "v_b_proj"), both[:, c["qk_nope_head_dim"] :]


def interleaved(name, x, c):
    """gpt-oss: gate and up in turn, experts' matrices [in, out]."""
    if "sinks" in name:
        yield name + ".weight", x
    elif "gate_up_proj" in name:
        x = x if name.endswith("_bias") else x.swapaxes(1, 2)
        kind = "bias" if name.endswith("_bias") else "weight"
        stem = name.split("gate_up_proj")[0]
        yield f"{stem}gate_proj.{kind}", x[:, ::2]
        yield f"{stem}up_proj.{kind}", x[:, 1::2]
    elif name.endswith("down_proj_bias"):
        yield name.replace("down_proj_bias", "down_proj.bias"), x
    elif name.endswith("down_proj"):
        yield name + ".weight", x.swapaxes(1, 2)
    else:
        yield name, x


def stacked(tensors, names):
    """Numbered tensors (NAME with # for the number) as one, in the place of the last."""
    left = {}
    for name, x in tensors:
        parts = name.split(".")
        at = [i for i, p in enumerate(parts) if p.isdigit()]
        pattern = ".".join(parts[: at[1]] + parts[at[1] + 1 :]) if len(at) == 2 and parts[at[1] - 1] in names else None
        if not pattern:
            yield name, x
            continue
        left.setdefault(pattern, {})[int(parts[at[1]])] = x
    for pattern, all_of in left.items():
        yield pattern, np.stack([all_of[i] for i in range(len(all_of))])


YARN = dict(rope_type="yarn", factor=4.0, beta_fast=32.0, beta_slow=1.0, original_max_position_embeddings=16)
LONG = dict(type="longrope", short_factor=[1.0, 1.5], long_factor=[2.0, 3.0])
MLA = dict(num_key_value_heads=4, kv_lora_rank=16, qk_nope_head_dim=8, qk_rope_head_dim=4, v_head_dim=6, n_routed_experts=4, n_shared_experts=2, num_experts_per_tok=2, moe_intermediate_size=12, first_k_dense_replace=1,
           rope_scaling=dict(YARN, type="yarn", mscale=0.707, mscale_all_dim=0.707))

# family: (architecture, class, configuration's class, its own values, keys, change of tensors, what else config.json says)
FAMILIES = {
    "mixtral": (gguf.MODEL_ARCH.LLAMA, t.MixtralForCausalLM, t.MixtralConfig, dict(num_local_experts=4, num_experts_per_tok=2), llama_keys, llama_rows, {}),
    "qwen2_moe": (gguf.MODEL_ARCH.QWEN2MOE, t.Qwen2MoeForCausalLM, t.Qwen2MoeConfig, dict(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=12, shared_expert_intermediate_size=20), expert_keys, None, {}),
    "qwen3_moe": (gguf.MODEL_ARCH.QWEN3MOE, t.Qwen3MoeForCausalLM, t.Qwen3MoeConfig, dict(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=12, norm_topk_prob=True, head_dim=6), expert_keys, None, {}),
    "phimoe": (gguf.MODEL_ARCH.PHIMOE, t.PhimoeForCausalLM, t.PhimoeConfig,
               dict(num_local_experts=4, num_experts_per_tok=2, attention_bias=True, lm_head_bias=True, sliding_window=128, original_max_position_embeddings=64, max_position_embeddings=64,
                    rope_scaling=dict(LONG, short_mscale=1.0, long_mscale=1.0, original_max_position_embeddings=64)), phimoe_keys, None, {}),
    "gpt_oss": (gguf.MODEL_ARCH.GPT_OSS, t.GptOssForCausalLM, t.GptOssConfig, dict(num_local_experts=4, num_experts_per_tok=2, head_dim=8, sliding_window=7, rope_scaling=dict(YARN, truncate=False)), gpt_oss_keys, interleaved, {}),
    "gemma2": (gguf.MODEL_ARCH.GEMMA2, t.Gemma2ForCausalLM, t.Gemma2Config, dict(head_dim=6, query_pre_attn_scalar=6, sliding_window=7, rope_theta=10000.0, tie_word_embeddings=True), gemma2_keys, plus_one, {}),
    "gemma3": (gguf.MODEL_ARCH.GEMMA3, t.Gemma3ForCausalLM, t.Gemma3TextConfig,
               dict(head_dim=6, query_pre_attn_scalar=6, sliding_window=7, num_hidden_layers=6, rope_scaling=dict(rope_type="linear", factor=8.0), tie_word_embeddings=True), gemma3_keys, plus_one, {}),
    "phi3": (gguf.MODEL_ARCH.PHI3, t.Phi3ForCausalLM, t.Phi3Config, dict(original_max_position_embeddings=64, rope_scaling=LONG, sliding_window=None), phi3_keys, None, {}),
    "deepseek2_yarn": (gguf.MODEL_ARCH.DEEPSEEK2, deepseek_v2.Corrected, t.DeepseekV2Config, dict(MLA, q_lora_rank=None), deepseek2_keys, halves_of_kv_b, {"scoring_func": "softmax"}),
    "deepseek3": (gguf.MODEL_ARCH.DEEPSEEK2, t.DeepseekV3ForCausalLM, t.DeepseekV3Config, dict(MLA, q_lora_rank=10, n_group=2, topk_group=1, n_shared_experts=1, routed_scaling_factor=2.5, norm_topk_prob=True), deepseek2_keys,
                  halves_of_kv_b, {"scoring_func": "sigmoid"}),
    "smollm3": (gguf.MODEL_ARCH.SMOLLM3, t.SmolLM3ForCausalLM, t.SmolLM3Config, dict(num_hidden_layers=4), llama_keys, llama_rows, {}),
    "granite": (gguf.MODEL_ARCH.GRANITE, t.GraniteForCausalLM, t.GraniteConfig, dict(attention_multiplier=0.2, embedding_multiplier=12.0, residual_multiplier=0.5, logits_scaling=8.0), granite_keys, llama_rows, {}),
    "olmo2": (gguf.MODEL_ARCH.OLMO2, t.Olmo2ForCausalLM, t.Olmo2Config, {}, base_keys, None, {}),
    "stablelm": (gguf.MODEL_ARCH.STABLELM, t.StableLmForCausalLM, t.StableLmConfig, dict(partial_rotary_factor=0.5, use_qkv_bias=True, rope_theta=10000.0), stablelm_keys, None, {}),
    "stablelm_parallel": (gguf.MODEL_ARCH.STABLELM, t.StableLmForCausalLM, t.StableLmConfig, dict(partial_rotary_factor=0.5, qk_layernorm=True, use_parallel_residual=True, rope_theta=10000.0), stablelm_keys, None, {}),
    "cohere": (gguf.MODEL_ARCH.COMMAND_R, t.CohereForCausalLM, t.CohereConfig, dict(use_qk_norm=True, logit_scale=0.25, tie_word_embeddings=True), cohere_keys, None, {}),
    "cohere2": (gguf.MODEL_ARCH.COHERE2, t.Cohere2ForCausalLM, t.Cohere2Config, dict(num_hidden_layers=4, sliding_window=7, logit_scale=0.25, tie_word_embeddings=True), cohere2_keys, without_biases, {}),
    "internlm2": (gguf.MODEL_ARCH.INTERNLM2, t.LlamaForCausalLM, t.LlamaConfig, {}, base_keys, llama_rows, {}),
    "glm": (gguf.MODEL_ARCH.CHATGLM, t.GlmForCausalLM, t.GlmConfig, dict(partial_rotary_factor=0.5, head_dim=4, rms_norm_eps=1e-5, rope_theta=10000.0), chatglm_keys, None, {}),
    "glm_fused": (gguf.MODEL_ARCH.CHATGLM, t.GlmForCausalLM, t.GlmConfig, dict(partial_rotary_factor=0.5, head_dim=4, rms_norm_eps=1e-5, rope_theta=10000.0), chatglm_keys, None, {}),
    "glm4": (gguf.MODEL_ARCH.GLM4, t.Glm4ForCausalLM, t.Glm4Config, dict(partial_rotary_factor=0.5, head_dim=8), glm4_keys, None, {}),
    "deepseek": (gguf.MODEL_ARCH.DEEPSEEK, deepseek.DeepseekForCausalLM, deepseek.DeepseekConfig,
                 dict(n_routed_experts=4, n_shared_experts=2, num_experts_per_tok=2, moe_intermediate_size=12, first_k_dense_replace=1, norm_topk_prob=False), deepseek_keys, llama_rows, {"scoring_func": "softmax"}),
}


def fused(net):
    """The tensors of ChatGLM's own checkpoints: queries, keys and values in one matrix."""
    all_of = dict(net)
    for name in [n for n in all_of if ".q_proj." in n]:
        parts = [all_of.pop(name.replace("q_proj", p)) for p in ("q_proj", "k_proj", "v_proj")]
        all_of[name.replace("self_attn.q_proj", "self_attn.qkv_proj")] = np.concatenate(parts)
    return all_of


def write_gguf(family, arch, layers, keys, c, tensors):
    """converted/<family>.gguf of (published name, values) or of (published name, bytes of MXFP4 blocks)."""
    path = HERE / "converted" / f"{family}.gguf"
    path.parent.mkdir(exist_ok=True)
    w = gguf.GGUFWriter(path, gguf.MODEL_ARCH_NAMES[arch])
    w.add_type("model")
    w.add_name(family)
    w.add_file_type(1)
    w.add_quantization_version(2)
    w.add_block_count(layers)
    keys(w, c)
    w.add_tokenizer_model("none")
    names = gguf.get_tensor_name_map(arch, layers)
    for name, x in stacked(tensors, ("experts", "norms")):
        new = names.get_name(name.replace(".norms.weight", ".weight"), try_suffixes=(".weight", ".bias")) or names.get_name(name)
        assert new, name
        if x.dtype == np.uint8:
            w.add_tensor(new, x, raw_dtype=gguf.GGMLQuantizationType.MXFP4)
            continue
        x = x.squeeze()
        exact = x.ndim < 2 or "_norm." in new or "ffn_gate_inp." in new
        w.add_tensor(new, x.astype(np.float32 if exact else np.float16))
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    print(f"  {path.stat().st_size} bytes")


def write(family, arch, cls, config_cls, own, keys, change, more):
    config = config_cls(**{**COMMON, **own})
    net = recipe.network(cls, config)
    with torch.no_grad():
        for value in net.state_dict().values():
            if value.dim() >= 2:
                value.copy_(value.half().double())
    c = {**recipe.config_json(net), **own, **more}
    logits = recipe.logits(net, IDS)
    tensors = {name: value.float().numpy() for name, value in net.state_dict().items() if not (name == "lm_head.weight" and config.tie_word_embeddings)}
    if family == "glm_fused":
        tensors = fused(tensors)
    tensors = [pair for name, x in tensors.items() for pair in (change(name, x, c) if change else [(name, x)])]
    write_gguf(family, arch, config.num_hidden_layers, keys, c, tensors)
    golden.save(HERE / "converted", family, {"logits": logits}, {}, f"{recipe.VERSIONS}, gguf 0.19.0", ids=IDS)


def ggml_blocks(blocks, scales):
    """MXFP4 as GGUF files have it, 17 bytes for 32 values: the exponent; in byte i the value i and, above it, the value i + 16. In the
    published tensors byte i has the values 2 i and 2 i + 1."""
    codes = np.stack([blocks & 15, blocks >> 4], axis=-1).reshape(*blocks.shape[:-1], 32)
    y = np.concatenate([scales[..., None], codes[..., :16] | codes[..., 16:] << 4], axis=-1).astype(np.uint8)
    return y.reshape(*y.shape[:-2], -1)


def write_mxfp4():
    """gpt-oss as it is published: converted/gpt_oss_mxfp4 is a folder whose experts are MXFP4, which the reference itself reads, and
    gpt_oss_mxfp4.gguf has the same blocks. All values are exact in bf16, the type of the folder's other tensors, and in f16."""
    family, arch = "gpt_oss_mxfp4", gguf.MODEL_ARCH.GPT_OSS
    own = {**FAMILIES["gpt_oss"][3], "hidden_size": 64, "intermediate_size": 32}
    plain = recipe.network(t.GptOssForCausalLM, t.GptOssConfig(**{**COMMON, **own}))
    stored, converted = {}, []
    for name, value in plain.state_dict().items():
        if name.endswith(("gate_up_proj", "down_proj")):
            experts, inputs, outputs = value.shape
            blocks = (256 * name_weights.uniforms(f"{name}_blocks", value.numel() // 2)).astype(np.uint8).reshape(experts, outputs, inputs // 32, 16)
            scales = (121 + 4 * name_weights.uniforms(f"{name}_scales", value.numel() // 32)).astype(np.uint8).reshape(experts, outputs, inputs // 32)
            stored |= {f"{name}_blocks": torch.from_numpy(blocks), f"{name}_scales": torch.from_numpy(scales)}
            both, gate_up = ggml_blocks(blocks, scales), name.endswith("gate_up_proj")
            parts = {"gate_proj": both[:, ::2], "up_proj": both[:, 1::2]} if gate_up else {"down_proj": both}
            converted += [(name.replace("gate_up_proj" if gate_up else "down_proj", part) + ".weight", np.ascontiguousarray(x)) for part, x in parts.items()]
        else:
            exact = (128 * value.float()).round() / 128
            stored[name] = exact.bfloat16()
            converted += interleaved(name, exact.numpy(), {})

    folder = HERE / "converted" / family
    folder.mkdir(parents=True, exist_ok=True)
    config = {**recipe.config_json(plain), "dtype": "bfloat16", "quantization_config": {
        "quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"]}}
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    safetensors.torch.save_file(stored, folder / "model.safetensors", metadata={"format": "pt"})
    read = t.GptOssForCausalLM.from_pretrained(folder, quantization_config=t.Mxfp4Config(dequantize=True)).state_dict()
    plain.load_state_dict({name: value.double() for name, value in read.items()})
    write_gguf(family, arch, plain.config.num_hidden_layers, gpt_oss_keys, config, converted)
    golden.save(HERE / "converted", family, {"logits": recipe.logits(plain, IDS)}, {}, f"{recipe.VERSIONS}, gguf 0.19.0", ids=IDS)


for name, row in FAMILIES.items():
    if len(sys.argv) == 1 or name in sys.argv[1:]:
        write(name, *row)
if len(sys.argv) == 1 or "gpt_oss_mxfp4" in sys.argv[1:]:
    write_mxfp4()
