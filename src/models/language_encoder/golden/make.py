"""Goldens of language models as text encoders: hidden states of prompts with and without padding, from transformers.
python src/models/language_encoder/golden/make.py

Made with torch 2.15.0, transformers 4.57.1. Attention is `sdpa`, which gives zeros to a token that attends to nothing; of Gemma 2 it is `eager`, because
sdpa does not apply attn_logit_softcapping.
"""
import json
import sys
from pathlib import Path

import torch
import transformers
from transformers import Gemma2Config, Gemma2ForCausalLM, MistralConfig, MistralForCausalLM, Qwen3Config, Qwen3ForCausalLM
from transformers.models.qwen2_5_vl.modeling_qwen2_5_vl import Qwen2_5_VLTextConfig, Qwen2_5_VLTextModel

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[3] / "tools"))
sys.path.insert(0, str(HERE.parents[2] / "parts/decoder/golden"))
import golden  # noqa: E402
import recipe  # noqa: E402

VERSIONS = f"transformers {transformers.__version__}, torch {torch.__version__}"
SMALL = dict(vocab_size=59, hidden_size=20, intermediate_size=36, num_hidden_layers=3, num_attention_heads=6, num_key_value_heads=2, head_dim=8,
             max_position_embeddings=1024, rope_theta=1000.0)
QWEN = (Qwen3ForCausalLM, Qwen3Config(**SMALL))
GEMMA = (Gemma2ForCausalLM, Gemma2Config(**SMALL, query_pre_attn_scalar=7, sliding_window=40, attn_logit_softcapping=2.0, tie_word_embeddings=False))
MISTRAL = (MistralForCausalLM, MistralConfig(**SMALL, sliding_window=None))
PAD = 3

# name: (model, tokens of the prompt, padding in front, padding behind, states, every k-th row of which is kept)
CASES = {
    "qwen3": (*QWEN, 21, 0, 0, [0, 1, 2, 3], 1),
    "qwen3_behind": (*QWEN, 21, 0, 12, [0, 1, 2, 3], 1),
    "qwen3_in_front": (*QWEN, 17, 7, 0, [0, 2, 3], 1),
    "qwen3_long": (*QWEN, 600, 0, 100, [2], 25),
    "gemma2": (*GEMMA, 31, 0, 6, [0, 1, 2, 3], 1),
    "mistral": (*MISTRAL, 23, 9, 4, [1, 3], 1),
}


def cases():
    for name, (model, config, count, in_front, behind, states, thin) in CASES.items():
        net = golden.prepare(model._from_config(config, attn_implementation="eager" if model is Gemma2ForCausalLM else "sdpa")).model
        ids = [PAD] * in_front + [int(i) for i in recipe.tokens(count, 59)] + [PAD] * behind
        mask = torch.tensor([[0] * in_front + [1] * count + [0] * behind])
        with torch.no_grad():
            hidden = net(input_ids=torch.tensor([ids]), attention_mask=mask, output_hidden_states=True).hidden_states
        assert len(hidden) == 4 and all(torch.isfinite(h).all() for h in hidden)
        golden.save(HERE, name, {f"state.{i}": hidden[i][0, ::thin].float().numpy() for i in states}, json.loads(config.to_json_string()), VERSIONS,
                    ids=ids, begin=in_front, end=in_front + count, states=states, thin=thin, factor=1.0)


def images():
    """A text with an image of 2 × 3 rows behind its fifth token, as Qwen 2.5 VL reads it."""
    config = Qwen2_5_VLTextConfig(vocab_size=59, hidden_size=24, intermediate_size=36, num_hidden_layers=3, num_attention_heads=3, num_key_value_heads=1,
                                  max_position_embeddings=1024, max_window_layers=3, rope_theta=1000.0,
                                  rope_scaling={"type": "mrope", "mrope_section": [1, 2, 1]})
    whole = torch.nn.Module()
    whole.model = Qwen2_5_VLTextModel(config)
    net = golden.prepare(whole).model
    ids, rows, columns, at = [int(i) for i in recipe.tokens(18, 59)], 2, 3, 5
    places = [[i] * 3 for i in range(at)] + [[at, at + y, at + x] for y in range(rows) for x in range(columns)]
    places += [[at + max(rows, columns) + i] * 3 for i in range(len(ids) - len(places))]
    with torch.no_grad():
        embeddings = net.embed_tokens(torch.tensor([ids]))
        embeddings[0, at:at + rows * columns] = torch.from_numpy(golden.values("input.rows", rows * columns, 24)).double()
        hidden = net(inputs_embeds=embeddings, position_ids=torch.tensor(places).T.unsqueeze(1), output_hidden_states=True).hidden_states
    golden.save(HERE, "images", {f"state.{i}": hidden[i][0].float().numpy() for i in (0, 1, 3)}, json.loads(config.to_json_string()), VERSIONS, ids=ids,
                begin=0, end=len(ids), states=[0, 1, 3], thin=1, factor=1.0, at=at, rows=rows * columns, positions=places)


cases()
images()
