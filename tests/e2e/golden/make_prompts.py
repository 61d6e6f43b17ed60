"""Goldens of weighted, long, edited and composed prompts, and of textual inversion, on the checkpoint `pndm`.

    OMP_NUM_THREADS=1 python make_prompts.py

needs what make.py needs. Prompts are given as tokens with weights, cut into chunks by hand; what A1111 and ComfyUI do with the states
is computed here from their definitions, the networks are transformers' and diffusers', the sampler is diffusers' Euler. It writes

    prompts.json            the cases: what the command gets
    prompts.safetensors     per case the final latents [1, c, h, w]
    prompts-tiny.safetensors, prompts-token.safetensors    embeddings as A1111 and as diffusers write them
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
from diffusers import EulerDiscreteScheduler, StableDiffusionPipeline  # noqa: E402
from safetensors.torch import save_file  # noqa: E402

HERE = Path(__file__).resolve().parent
torch.set_num_threads(1)
pipe = StableDiffusionPipeline.from_pretrained(HERE / "pndm", torch_dtype=torch.float32, safety_checker=None)
scheduler = EulerDiscreteScheduler.from_config(pipe.scheduler.config)
tokenizer, clip, unet = pipe.tokenizer, pipe.text_encoder, pipe.unet
WIDTH = clip.config.hidden_size
VECTORS = torch.randn(2, WIDTH, generator=torch.Generator().manual_seed(5)) * clip.get_input_embeddings().weight.std()
STEPS, SIZE = 6, 64


def ids_of(text):
    return tokenizer(text, add_special_tokens=False)["input_ids"]


def chunk(*parts):
    """(text, weight) …, or (tensor [n, C], weight) → 77 rows of the token table and 77 weights."""
    table = clip.get_input_embeddings().weight
    rows, weights = [table[[tokenizer.bos_token_id]]], [1.0]
    for what, weight in parts:
        row = table[ids_of(what)] if isinstance(what, str) else what
        rows.append(row)
        weights += [weight] * len(row)
    rows = torch.cat(rows)
    assert len(rows) <= 76
    return torch.cat([rows, table[[tokenizer.eos_token_id] * (77 - len(rows))]]), torch.tensor(weights + [1.0] * (77 - len(weights)))


def encode(rows, skip):
    """[77, C] of the table → [77, C] of states."""
    model = clip.text_model if hasattr(clip, "text_model") else clip
    positions = model.embeddings.position_embedding.weight[:77]
    hidden = (rows + positions)[None]
    mask = torch.full((77, 77), float("-inf")).triu(1)[None, None]
    for layer in model.encoder.layers[: len(model.encoder.layers) - skip + 1]:
        out = layer(hidden, attention_mask=mask, causal_attention_mask=None) if TWO_MASKS else layer(hidden, attention_mask=mask)
        hidden = out[0] if isinstance(out, tuple) else out
    return model.final_layer_norm(hidden)[0]


import inspect  # noqa: E402

TWO_MASKS = "causal_attention_mask" in inspect.signature((clip.text_model if hasattr(clip, "text_model") else clip).encoder.layers[0].forward).parameters


def a1111(entries, skip=1, keep_mean=True):
    """Texts of one schedule, each a list of chunks → states of each: the mean is that of one chunk of all of them."""
    columns = []
    for column in zip(*entries):
        z = torch.stack([encode(rows, skip) for rows, _ in column])
        weighted = z * torch.stack([weights for _, weights in column])[..., None]
        columns.append(weighted * (z.mean() / weighted.mean()) if keep_mean else weighted)
    return list(torch.cat(columns, 1))


def comfyui(chunks):
    empty = encode(chunk()[0], 1)
    return torch.cat([(encode(rows, 1) - empty) * weights[:, None] + empty for rows, weights in chunks])


def draw(prompt, negative, guidance, seed=1):
    """prompt(step) → [(states, weight)], negative(step) → states."""
    scheduler.set_timesteps(STEPS)
    x = torch.randn(1, unet.config.in_channels, SIZE // 8, SIZE // 8, generator=torch.Generator().manual_seed(seed)) * scheduler.init_noise_sigma
    for i, t in enumerate(scheduler.timesteps):
        scaled = scheduler.scale_model_input(x, t)
        ask = lambda states: unet(scaled, t, encoder_hidden_states=states[None]).sample  # noqa: E731
        base = ask(negative(i))
        x = scheduler.step(base + sum(guidance * w * (ask(s) - base) for s, w in prompt(i)), t, x).prev_sample
    return x


def at(schedule, states):
    """[last step of each entry], [states of each] → states by step, A1111's count."""
    return lambda step: next(s for end, s in zip(schedule, states) if step <= end)


def one(states, weight=1.0):
    return lambda step: [(states, weight)]


NOTHING = a1111([[chunk()]])[0]
CASES, LATENTS = {}, {}


def case(name, latents, **request):
    CASES[name] = dict(width=SIZE, height=SIZE, steps=STEPS, guidance=7.5, seed=1, sampler="euler", prompt_syntax="a1111") | request
    LATENTS[name] = latents.contiguous()


with torch.no_grad():
    reference = clip(tokenizer("a red house", padding="max_length", return_tensors="pt")["input_ids"]).last_hidden_state[0]
    assert (encode(chunk(("a red house", 1))[0], 1) - reference).abs().max() < 1e-5
    still = lambda states: lambda step: states  # noqa: E731
    weighted = chunk(("a", 1), ("red", 1.4), ("house on", 1), ("green", 1 / 1.1), ("hills", 1))
    case("weights", draw(one(a1111([[weighted]])[0]), still(NOTHING), 7.5), prompt="a (red:1.4) house on [green] hills")
    case("no_norm", draw(one(a1111([[weighted]], keep_mean=False)[0]), still(NOTHING), 7.5), prompt="a (red:1.4) house on [green] hills", emphasis="no-norm")
    plain = a1111([[chunk(("a red house on green hills", 1))]])[0]
    case("ignored", draw(one(plain), still(NOTHING), 7.5), prompt="a (red:1.4) house on [green] hills", emphasis="ignore")
    towards = chunk(("a", 1), ("red", 1.4), ("house on", 1), ("green", 1.1), ("hills", 1))
    case("comfyui", draw(one(comfyui([towards])), still(comfyui([chunk(("snow", 0.5))])), 7.5), prompt="a (red:1.4) house on (green) hills",
         negative="(snow:0.5)", prompt_syntax="comfyui")
    # ten tokens each here; the chunk of 75 ends behind the comma before them where that is among its last 20
    words = " ".join(["house"] * 60)
    tail = " ".join(["red"] * 30)
    n, m, comma = len(ids_of(words)), len(ids_of(tail)), len(ids_of(","))
    assert n + comma <= 75 < n + comma + m and 75 - n <= 20, (n, m, comma)
    long = [chunk((words + ",", 1)), chunk((tail, 1))]
    case("long", draw(one(a1111([long])[0]), still(NOTHING), 7.5), prompt=words + ", " + tail)
    pair = [chunk(("a red house", 1)), chunk(("green hills", 1), ("at night", 0.7))]
    case("break", draw(one(a1111([pair])[0]), still(NOTHING), 7.5), prompt="a red house BREAK green hills (at night:0.7)")
    skipped = a1111([[weighted]], skip=2)[0]
    case("clip_skip", draw(one(skipped), still(a1111([[chunk()]], skip=2)[0]), 7.5), prompt="a (red:1.4) house on [green] hills", clip_skip=2)
    inverted = chunk(("a", 1), (VECTORS, 1.2), ("house", 1))
    case("embedding", draw(one(a1111([[inverted]])[0]), still(NOTHING), 7.5), prompt="a (tiny:1.2) house", embedding="tiny=prompts-tiny.safetensors")
    case("embedding_comfyui", draw(one(comfyui([inverted])), still(comfyui([chunk()])), 7.5), prompt="a (embedding:prompts-tiny:1.2) house",
         prompt_syntax="comfyui", embedding="prompts-tiny.safetensors")
    bare = chunk(("a", 1), (VECTORS[:1], 1), ("house", 1))
    case("embedding_plain", draw(one(encode(bare[0], 1)), still(NOTHING), 7.5), prompt="a <tiny> house", prompt_syntax="plain",
         embedding="prompts-token.safetensors")
    first, second = chunk(("a", 1), ("red", 1.5), ("house", 1)), chunk(("a green house", 1))
    edited = at([3, 6], a1111([[first], [second]]))
    case("edited", draw(lambda i: [(edited(i), 1)], still(NOTHING), 7.5), prompt="a [(red:1.5):green:0.5] house")
    both = a1111([[first], [second]] * 3)
    turns = at([1, 2, 3, 4, 5, 6], both)
    case("alternating", draw(lambda i: [(turns(i), 1)], still(NOTHING), 7.5), prompt="a [(red:1.5)|green] house")
    house = a1111([[chunk(("a red house", 1))]])[0]
    night = at([2, 6], a1111([[chunk(("night", 1))], [chunk(("snow", 1))]]))
    case("edited_negative", draw(one(house), night, 7.5), prompt="a red house", negative="[night:snow:2]")
    hills = a1111([[chunk(("green hills", 1))]])[0]
    parts = [(house, 1.0), (hills, -0.6)]
    case("composed", draw(lambda i: parts, still(a1111([[chunk(("night", 1))]])[0]), 5), prompt="a red house AND green hills :-0.6", negative="night", guidance=5)
    case("composed_unguided", draw(lambda i: parts, still(NOTHING), 1), prompt="a red house AND green hills :-0.6", guidance=1)
    last = a1111([pair])[0]
    padded = torch.cat([house, house[-1:].expand(77, -1)])
    case("composed_lengths", draw(lambda i: [(last, 1), (padded, 0.5)], still(NOTHING), 5), prompt="a red house BREAK green hills (at night:0.7) AND a red house:0.5",
         guidance=5)
    case("own_weight", draw(one(house, 0.5), still(NOTHING), 7.5), prompt="a red house:0.5")

save_file({"emb_params": VECTORS}, HERE / "prompts-tiny.safetensors")
save_file({"<tiny>": VECTORS[0].contiguous()}, HERE / "prompts-token.safetensors")
save_file({f"{name}.latents": x for name, x in LATENTS.items()}, HERE / "prompts.safetensors")
versions = {"diffusers": diffusers.__version__, "torch": torch.__version__, "transformers": transformers.__version__}
(HERE / "prompts.json").write_text(json.dumps({"versions": versions, "cases": CASES}, indent=1, ensure_ascii=False) + "\n")
print({name: round(float(x.norm()), 3) for name, x in LATENTS.items()})
