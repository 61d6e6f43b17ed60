"""Textual inversion in the files that people have, as the programs that make them write it.   python golden/embeddings/make.py

Needs torch and safetensors. Every file holds the vectors of plain.safetensors, those with one vector its first.
"""
from pathlib import Path

import torch
from safetensors.torch import save_file

HERE = Path(__file__).parent
torch.manual_seed(0)
vectors, others = torch.randn(2, 4), torch.randn(2, 6)


def a1111(param):
    return {"string_to_token": {"*": 265}, "string_to_param": param, "name": "cat", "step": 99, "sd_checkpoint": "81761151", "sd_checkpoint_name": "v1-5"}


save_file({"emb_params": vectors}, HERE / "plain.safetensors")
torch.save(a1111({"*": vectors}), HERE / "a1111.pt")
torch.save(a1111({"*": torch.nn.Parameter(vectors)}), HERE / "a1111_legacy.pt", _use_new_zipfile_serialization=False)
# The first programs kept modules of torch's in their files.
torch.save({"string_to_token": {"*": torch.tensor(265)}, "string_to_param": torch.nn.ParameterDict({"*": torch.nn.Parameter(vectors)})},
           HERE / "original.pt")
torch.save({"<cat>": vectors[0]}, HERE / "learned_embeds.bin")
save_file({"<cat>": vectors[0].clone()}, HERE / "learned_embeds.safetensors")
save_file({"clip_l": vectors, "clip_g": others}, HERE / "two_encoders.safetensors")
save_file({"text_encoders_0": vectors, "text_encoders_1": others}, HERE / "advanced.safetensors")  # diffusers' pivotal tuning
