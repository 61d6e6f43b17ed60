"""Goldens of weighted and long prompts, of prompts for each text encoder, and of textual inversion for both, on the checkpoint `xl`.

    OMP_NUM_THREADS=1 python make_xl_prompts.py

As make_prompts.py, which says more: tokens with weights in chunks cut by hand, A1111's and ComfyUI's definitions here, the networks are
transformers' and diffusers'. It writes xl_prompts.json, xl_prompts.safetensors (the final latents) and prompts-both.safetensors (an embedding).
"""

import json
import os
import warnings
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"
warnings.filterwarnings("ignore")

import diffusers  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402
from diffusers import StableDiffusionXLPipeline  # noqa: E402
from safetensors.torch import save_file  # noqa: E402

HERE = Path(__file__).resolve().parent
torch.set_num_threads(1)
pipe = StableDiffusionXLPipeline.from_pretrained(HERE / "xl", torch_dtype=torch.float32, add_watermarker=False)
pipe.set_progress_bar_config(disable=True)
STEPS, SIZE, GUIDANCE = 6, 64, 5.0


class Tower:
    """One text encoder: chunks of (text or vectors, weight) → states of the last layer but one, and the projected vector of the first chunk."""

    def __init__(self, tokenizer, clip, seed):
        self.tokenizer, self.clip = tokenizer, clip
        self.table = clip.get_input_embeddings().weight
        self.vectors = torch.randn(2, self.table.shape[1], generator=torch.Generator().manual_seed(seed)) * self.table.std()

    def chunk(self, parts):
        rows, weights, ids = [self.table[[self.tokenizer.bos_token_id]]], [1.0], [self.tokenizer.bos_token_id]
        for what, weight in parts:
            tokens = self.tokenizer(what, add_special_tokens=False)["input_ids"] if isinstance(what, str) else [0] * len(self.vectors)
            rows.append(self.table[tokens] if isinstance(what, str) else self.vectors)
            weights += [weight] * len(tokens)
            ids += tokens
        assert len(ids) <= 76
        fill = [self.tokenizer.eos_token_id] + [self.tokenizer.pad_token_id] * (76 - len(ids))
        return torch.cat([*rows, self.table[fill]]), torch.tensor(weights + [1.0] * len(fill)), ids + fill

    def encode(self, rows, ids):
        """The encoder itself, with these rows in place of its table's."""
        hook = self.clip.get_input_embeddings().register_forward_hook(lambda *_: rows[None])
        out = self.clip(torch.tensor([ids]), output_hidden_states=True)
        hook.remove()
        return out.hidden_states[-2][0], getattr(out, "text_embeds", None)

    def states(self, chunks, how):
        columns, pooled = [], None
        empty, _ = self.encode(*[self.chunk([])[i] for i in (0, 2)])
        for k, parts in enumerate(chunks):
            rows, weights, ids = self.chunk(parts)
            z, vector = self.encode(rows, ids)
            pooled = vector if k == 0 else pooled
            if how == "comfyui":
                z = (z - empty) * weights[:, None] + empty
            else:
                weighted = z * weights[:, None]
                z = weighted * (z.mean() / weighted.mean())
            columns.append(z)
        return torch.cat(columns)[None], pooled


TOWERS = [Tower(pipe.tokenizer, pipe.text_encoder, 5), Tower(pipe.tokenizer_2, pipe.text_encoder_2, 6)]
CASES, LATENTS = {}, {}


def both(first, second, how):
    """Chunks for each tower; the shorter one is filled up with chunks of no text."""
    n = max(len(first), len(second))
    sides = [tower.states(chunks + [[]] * (n - len(chunks)), how) for tower, chunks in zip(TOWERS, (first, second))]
    return torch.cat([states for states, _ in sides], 2), sides[1][1]


def case(name, prompt, chunks, how, second=None, negative=None, **also):
    states, pooled = both(chunks, second or chunks, how)
    without = (torch.zeros_like(states), torch.zeros_like(pooled)) if negative is None else both(negative, negative, how)
    noise = torch.randn(1, 4, SIZE // 8, SIZE // 8, generator=torch.Generator().manual_seed(1))
    assert states.shape == without[0].shape
    LATENTS[name] = pipe(prompt_embeds=states, pooled_prompt_embeds=pooled, negative_prompt_embeds=without[0], negative_pooled_prompt_embeds=without[1],
                         latents=noise, num_inference_steps=STEPS, guidance_scale=GUIDANCE, width=SIZE, height=SIZE, output_type="latent").images
    if negative is not None:
        also["negative"] = " ".join(f"({text}:{weight})" for text, weight in negative[0])
    CASES[name] = dict(width=SIZE, height=SIZE, steps=STEPS, guidance=GUIDANCE, seed=1, sampler="", prompt_syntax=how, prompt=prompt) | also


with torch.no_grad():
    states, pooled = both([[("a red house", 1)]], [[("a red house", 1)]], "a1111")
    reference = pipe.encode_prompt("a red house", device="cpu", num_images_per_prompt=1, do_classifier_free_guidance=False)
    assert (states - reference[0]).abs().max() < 1e-5 and (pooled - reference[2]).abs().max() < 1e-5
    weighted = [[("a", 1), ("red", 1.4), ("house on", 1), ("green", 1 / 1.1), ("hills", 1)]]
    case("a1111", "a (red:1.4) house on [green] hills", weighted, "a1111")
    case("comfyui", "a (red:1.4) house", [[("a", 1), ("red", 1.4), ("house", 1)]], "comfyui", negative=[[("snow", 0.5)]])
    pair = [[("a red house", 1)], [("green hills", 1), ("at night", 0.7)]]
    case("chunks", "a red house BREAK green hills (at night:0.7)", pair, "a1111")
    case("two_prompts", "a red house BREAK green hills (at night:0.7)", pair, "a1111", second=[[("a", 1), ("boat", 1.3)]], prompt_2="a (boat:1.3)")
    case("embedding", "a (both:1.2) house", [[("a", 1), (None, 1.2), ("house", 1)]], "a1111", embedding="both=prompts-both.safetensors")

save_file({"clip_l": TOWERS[0].vectors, "clip_g": TOWERS[1].vectors}, HERE / "prompts-both.safetensors")
save_file({f"{name}.latents": x.contiguous() for name, x in LATENTS.items()}, HERE / "xl_prompts.safetensors")
versions = {"diffusers": diffusers.__version__, "torch": torch.__version__, "transformers": transformers.__version__}
(HERE / "xl_prompts.json").write_text(json.dumps({"versions": versions, "cases": CASES}, indent=1, ensure_ascii=False) + "\n")
print({name: round(float(x.norm()), 3) for name, x in LATENTS.items()})
