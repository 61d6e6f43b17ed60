"""GGUF files by the rules of llama.cpp's converter (conversion/*.py, autumn 2026), one tiny model of each family, and transformers' logits.
python src/models/golden/converted.py [FAMILY …]

Keys are written by the methods of the gguf package and tensors named by its tables; what the converter does beyond that is in the functions
of converted_keys.py and converted_tensors.py. Matrices are f16, as the converter writes by default, and the reference computes with the
rounded values.
converted/<family>.gguf, converted/<family>.safetensors; of gpt-oss also a folder. Made with gguf 0.19.0, torch 2.15.0, transformers 4.57.1, rwkv 0.8.32.
"""
import importlib.util
import json
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "parts/decoder/golden"))
sys.path.insert(0, str(HERE.parents[2] / "tools"))
import authors_rwkv as authors  # noqa: E402  # in front of torch
from converted_keys import (base_keys, chatglm_keys, cohere2_keys, cohere_keys, deepseek2_keys, deepseek_keys, expert_keys, gemma2_keys, gemma3_keys,  # noqa: E402
                            glm4_keys, gpt_oss_keys, granite_keys, jamba_keys, llama_keys, mamba2_keys, mamba_keys, phi3_keys, phimoe_keys,
                            qwen3_next_keys, rwkv6_keys, rwkv7_keys, stablelm_keys)
from converted_tensors import (by_kind, columns_and_groups, fused, fused_shifts, ggml_blocks, gguf_name, halves_of_kv_b, interleaved, llama_rows,  # noqa: E402
                               plus_one, shifts_of_6, shifts_of_7, squeezed, stacked, state_space, without_biases)
import golden  # noqa: E402
import name_weights  # noqa: E402
import recipe  # noqa: E402

import gguf  # noqa: E402
import numpy as np  # noqa: E402
import safetensors.torch  # noqa: E402
import torch  # noqa: E402
import transformers as t  # noqa: E402


def network_of(family):
    """The module network.py beside a family's recipe."""
    spec = importlib.util.spec_from_file_location(f"{family}_network", HERE.parent / family / "golden/network.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


deepseek, deepseek_v2, mamba2 = network_of("deepseek"), network_of("deepseek_v2"), network_of("mamba2")
rwkv6, rwkv7 = network_of("rwkv6"), network_of("rwkv7")
recipe.execute_in_double(t.models.qwen3_next.modeling_qwen3_next)

# It would reset the biases that layer norms of heads do not have.
t.models.stablelm.modeling_stablelm.StableLmPreTrainedModel._init_weights = lambda self, module: None

V, IDS = 40, recipe.tokens(24, 40, 7)
COMMON = dict(vocab_size=V, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=128, rope_theta=1000.0, tie_word_embeddings=False,
              pad_token_id=0, bos_token_id=1, eos_token_id=2)


YARN = dict(rope_type="yarn", factor=4.0, beta_fast=32.0, beta_slow=1.0, original_max_position_embeddings=16)
LONG = dict(type="longrope", short_factor=[1.0, 1.5], long_factor=[2.0, 3.0])
MLA = dict(num_key_value_heads=4, kv_lora_rank=16, qk_nope_head_dim=8, qk_rope_head_dim=4, v_head_dim=6, n_routed_experts=4, n_shared_experts=2, num_experts_per_tok=2, moe_intermediate_size=12, first_k_dense_replace=1,
           rope_scaling=dict(YARN, type="yarn", mscale=0.707, mscale_all_dim=0.707))

SSM = dict(state_size=5, intermediate_size=32, expand=2)

# family: (architecture, class, configuration's class, its own values, keys, change of tensors, what else config.json says)
FAMILIES = {
    "mixtral": (gguf.MODEL_ARCH.LLAMA, t.MixtralForCausalLM, t.MixtralConfig, dict(num_local_experts=4, num_experts_per_tok=2), llama_keys, llama_rows, {}),
    "qwen2_moe": (gguf.MODEL_ARCH.QWEN2MOE, t.Qwen2MoeForCausalLM, t.Qwen2MoeConfig, dict(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=12, shared_expert_intermediate_size=20), expert_keys, squeezed, {}),
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
    "mamba": (gguf.MODEL_ARCH.MAMBA, t.MambaForCausalLM, t.MambaConfig, dict(SSM, time_step_rank=3, tie_word_embeddings=True), mamba_keys, state_space, {}),
    "mamba_falcon": (gguf.MODEL_ARCH.MAMBA, t.FalconMambaForCausalLM, t.FalconMambaConfig, dict(SSM, time_step_rank=3), mamba_keys, state_space, {"model_type": "falcon_mamba"}),
    "mamba2": (gguf.MODEL_ARCH.MAMBA2, mamba2.Network, t.Mamba2Config, dict(SSM, num_heads=4, head_dim=8, n_groups=2, chunk_size=16), mamba2_keys, columns_and_groups, {}),
    "jamba": (gguf.MODEL_ARCH.JAMBA, t.JambaForCausalLM, t.JambaConfig,
              dict(num_hidden_layers=4, attn_layer_period=3, attn_layer_offset=1, expert_layer_period=2, expert_layer_offset=1, num_experts=4, num_experts_per_tok=2, mamba_d_state=5, mamba_dt_rank=3, use_mamba_kernels=False),
              jamba_keys, state_space, {}),
    "qwen3_next": (gguf.MODEL_ARCH.QWEN3NEXT, t.Qwen3NextForCausalLM, t.Qwen3NextConfig,
                   dict(num_hidden_layers=4, head_dim=8, partial_rotary_factor=0.5, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=12, shared_expert_intermediate_size=14, linear_num_key_heads=2,
                        linear_num_value_heads=4, linear_key_head_dim=6, linear_value_head_dim=5), qwen3_next_keys, by_kind, {}),
    "rwkv6": (gguf.MODEL_ARCH.RWKV6, rwkv6, None,
              dict(hidden_size=16, num_hidden_layers=2, vocab_size=V, head_size=4, head_size_divisor=8, intermediate_size=24, layer_norm_epsilon=1e-5, rescale_every=1, tie_word_embeddings=False, time_mix_extra_dim=32,
                   time_decay_extra_dim=64), rwkv6_keys, shifts_of_6, {}),
    "rwkv7": (gguf.MODEL_ARCH.RWKV7, rwkv7, None,
              dict(hidden_size=16, num_hidden_layers=2, vocab_size=V, head_dim=4, intermediate_size=24, norm_eps=1e-5, norm_first=True, norm_bias=True, tie_word_embeddings=False, decay_low_rank_dim=5, a_low_rank_dim=7,
                   v_low_rank_dim=3, gate_low_rank_dim=9), rwkv7_keys, shifts_of_7, {}),
}


def write_gguf(family, arch, layers, keys, c, tensors, renamed=False):
    """converted/<family>.gguf of (published name, values) or of (published name, bytes of MXFP4 blocks); `renamed`: the names are GGUF's."""
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
    for name, x in stacked(tensors, ("experts", "norms")):
        new = name if renamed or name.startswith("blk.") else gguf_name(arch, name, layers)
        if x.dtype == np.uint8:
            w.add_tensor(new, x, raw_dtype=gguf.GGMLQuantizationType.MXFP4)
            continue
        exact = x.ndim < 2 or "_norm." in new or not new.endswith(".weight") or any(part in new for part in EXACT)
        w.add_tensor(new, np.ascontiguousarray(x.astype(np.float32 if exact else np.float16)))
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    print(f"  {path.stat().st_size} bytes")


def network(cls, config_cls, own, more):
    """What config.json says, the logits, and the tensors by published name, matrices rounded to f16."""
    if config_cls is None:  # a module of the authors' package
        published = {name: x.half().float() if x.dim() >= 2 else x for name, x in authors.tensors(cls.shapes(own)).items()}
        return own, authors.logits(cls.network(own, published), IDS), published
    config = config_cls(**{**COMMON, **own})
    net = recipe.network(cls, config)
    with torch.no_grad():
        for value in net.state_dict().values():
            if value.dim() >= 2:
                value.copy_(value.half().double())
    published = {name: value.float() for name, value in net.state_dict().items() if not (name == "lm_head.weight" and config.tie_word_embeddings)}
    return {**recipe.config_json(net), **own, **more}, recipe.logits(net, IDS), published


# What the converter leaves in f32, beside vectors, norms and what is not called a weight.
EXACT = ("ffn_gate_inp.", "ffn_gate_inp_shexp.", "ssm_conv1d.", "time_mix_first.", "time_mix_w1.", "time_mix_w2.", "time_mix_decay_w1.", "time_mix_decay_w2.", "time_mix_lerp_fused.")


def write(family, arch, cls, config_cls, own, keys, change, more):
    c, logits, published = network(cls, config_cls, own, more)
    tensors = {name: value.numpy() for name, value in published.items()}
    if family == "glm_fused":
        tensors = fused(tensors)
    tensors = [pair for name, x in tensors.items() for pair in (change(name, x, c) if change else [(name, x)])]
    if config_cls is None:
        tensors = fused_shifts(tensors, {"rwkv6": "wkvrg", "rwkv7": "rwkvag"}[family])

    write_gguf(family, arch, c["num_hidden_layers"], keys, c, tensors, renamed=config_cls is None)
    versions = authors.VERSIONS if config_cls is None else recipe.VERSIONS
    golden.save(HERE / "converted", family, {"logits": logits}, {}, f"{versions}, gguf 0.19.0", ids=IDS)


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
