"""Embeddings by textual inversion as PyTorch itself writes them, for the demo model's text encoder (width 128).

    OMP_NUM_THREADS=1 python make_embeddings.py

needs torch, safetensors and numpy. The same two vectors in all files:

    embedding-a1111.pt          what A1111 saves: a dictionary with the vectors as a parameter in string_to_param
    embedding-legacy.pt         the same in the format before PyTorch 1.6, in f16
    embedding-diffusers.bin     what diffusers' training script saves: {token: vectors}
    embedding.safetensors       what A1111 saves as safetensors; the reference of the test
"""

import sys
from pathlib import Path

import torch
from safetensors.torch import save_file

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "tools"))
import name_weights  # noqa: E402

# In steps of 1/64, exact in f16.
vectors = torch.from_numpy((name_weights.tensor("embedding", (2, 128)) * 16 * 64).round() / 64).contiguous()


def a1111(values):
    return {"string_to_token": {"*": 265}, "string_to_param": {"*": values}, "name": "sunset", "step": 3,
            "sd_checkpoint": None, "sd_checkpoint_name": None}


torch.save(a1111(torch.nn.Parameter(vectors)), HERE / "embedding-a1111.pt")
torch.save(a1111(vectors.half()), HERE / "embedding-legacy.pt", _use_new_zipfile_serialization=False)
torch.save({"<sunset>": vectors}, HERE / "embedding-diffusers.bin")
save_file({"emb_params": vectors}, HERE / "embedding.safetensors")
