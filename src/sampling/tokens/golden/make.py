#!/usr/bin/env python3
"""Goldens of src/sampling/tokens.

    python make.py            # numpy, torch, transformers 4.57.1; writes tokens.json beside this file

"processors": one entry per call of a logits processor of transformers: name, parameter, row, context; the ids that are left and,
where they changed, their scores. A chain holds what GenerationMixin builds for the given generation parameters.
"described": XTC, DRY, Mirostat 2 and top-n-sigma, which transformers lacks, from the straightforward descriptions below (f64,
sorting, brute force).
"draws": requests, and the distribution of the tokens drawn.
"log_softmax": f64.
"""

import json
import math
import os

import numpy as np
import torch
import transformers
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM, LogitsProcessorList
from transformers.generation import logits_process as lp

torch.set_num_threads(1)
rng = np.random.default_rng(20240501)
V = 24


def f32(values):
    return [float(np.float32(v)) for v in values]


ROWS = {
    "normal": f32(rng.normal(0, 3, 37)),
    "steps": f32(np.round(rng.normal(0, 1.5, 60) * 2) / 2),  # many equal
    "even": f32([0.0] * 10),  # all equal: 0.1 each, so that bounds are met exactly in f32
    "pairs": f32([0, 0, -1, -1, -2, -2, -3, -3, 4, 4]),
    "peak": f32([-2, 12, -1.5, 0.25, 3, -7, 3.5, 2]),
    "wide": f32(np.round(rng.normal(0, 2.5, 400), 2)),
    "large": f32(rng.normal(0, 40, 50)),
}


def result_of(row, processor, context=()):
    x = torch.tensor([row], dtype=torch.float32)
    ids = torch.tensor([list(context)], dtype=torch.long)
    out = processor(ids, x.clone())[0]
    kept = [i for i in range(len(row)) if out[i] != -math.inf]
    same = all(out[i] == x[0, i] for i in kept)
    return {"kept": kept} if same else {"kept": kept, "scores": [float(out[i]) for i in kept]}


def stable(warper):
    """Which of several equal tokens top-p keeps is up to torch.sort, whose order of equals varies with length and processor. Recorded is
    a sort that keeps their order; how many tokens stay, and with which scores, is the same."""
    def call(ids, x):
        usual = warper(ids, x.clone())
        sort = torch.sort
        torch.sort = lambda values, descending: sort(values, descending=descending, stable=True)
        kept = warper(ids, x)
        torch.sort = sort
        assert torch.equal(usual.sort().values, kept.sort().values)
        return kept
    return call


processors = []


def add(name, parameter, row, processor, context=()):
    processors.append({"name": name, "parameter": parameter, "row": row, "context": list(context),
                       **result_of(ROWS[row], processor, context)})


for row in ROWS:
    size = len(ROWS[row])
    for t in (0.3, 0.7, 1.9):
        add("temperature", t, row, lp.TemperatureLogitsWarper(t))
    for k in (1, 2, 3, 7, 10, 20, 1000):
        add("top_k", k, row, lp.TopKLogitsWarper(k))
    for p in (0.0, 0.1, 0.3, 0.5, 0.7, 0.75, 0.8, 0.9, 0.95, 0.999):
        add("top_p", p, row, stable(lp.TopPLogitsWarper(p)))
    for m in (0.01, 0.05, 0.1, 0.3, 0.5, 1.0):
        add("min_p", m, row, lp.MinPLogitsWarper(m))
    for m in (0.05, 0.2, 0.5, 0.8, 0.9, 0.95, 0.9999):
        add("typical_p", m, row, lp.TypicalLogitsWarper(m))
    for e in (3e-4, 0.02, 0.1, 0.3):
        add("epsilon_cutoff", e, row, lp.EpsilonLogitsWarper(e))
        add("eta_cutoff", e, row, lp.EtaLogitsWarper(e))
    context = [1, 5, 1, 3, 7, 5, 0]
    for r in (0.7, 1.1, 1.5):
        add("repetition_penalty", r, row, lp.RepetitionPenaltyLogitsProcessor(r), context)

# Bounds that a token meets exactly.
for row, token in (("pairs", 0), ("steps", 3), ("normal", 9)):
    p = torch.softmax(torch.tensor(ROWS[row], dtype=torch.float32), 0)[token].item()
    add("epsilon_cutoff", p, row, lp.EpsilonLogitsWarper(p))

CONTEXTS = {"ab": [1, 2, 3, 1, 2, 4, 1, 2, 3, 1, 2], "short": [3], "same": [5, 5, 5, 5], "two": [3, 1]}
for context in CONTEXTS.values():
    for n in (1, 2, 3, 4):
        add("no_repeat_ngram_size", n, "normal", lp.NoRepeatNGramLogitsProcessor(n), context)
    for biases in ([[[4], 2.5], [[2, 6], -3.0], [[1, 2, 6], 1.5], [[3, 9], 4.0]], [[[1, 2, 3, 1, 2, 8], 9.0], [[9], -0.5]]):
        add("sequence_bias", biases, "normal", lp.SequenceBiasLogitsProcessor([list(b) for b in biases]), context)
    words = [[7], [1, 2, 5], [3, 11], [2]]
    add("bad_words_ids", words, "normal", lp.NoBadWordsLogitsProcessor([list(w) for w in words], eos_token_id=[2]), context)

# Whole chains in the order that transformers gives them. An answer of `answer` tokens ends the context.
model = LlamaForCausalLM(LlamaConfig(vocab_size=V, hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=2))
CHAINS = [
    ({"do_sample": True, "temperature": 0.7, "top_k": 0, "top_p": 0.9}, "wide", 0),
    ({"do_sample": True, "temperature": 1.4, "top_k": 20, "top_p": 0.8, "min_p": 0.05}, "wide", 2),
    ({"do_sample": True, "temperature": 0.6, "top_k": 20, "top_p": 0.95, "repetition_penalty": 1.3}, "normal", 3),
    ({"do_sample": True, "top_k": 30, "typical_p": 0.7, "repetition_penalty": 1.2, "no_repeat_ngram_size": 2}, "normal", 3),
    ({"do_sample": True, "top_k": 0, "epsilon_cutoff": 0.01, "eta_cutoff": 0.05, "temperature": 1.2}, "normal", 0),
    ({"do_sample": True, "top_k": 5, "min_new_tokens": 4, "suppress_tokens": [20, 4], "begin_suppress_tokens": [26, 33]}, "normal", 3),
    ({"do_sample": True, "top_k": 5, "min_new_tokens": 3, "suppress_tokens": [20, 4], "begin_suppress_tokens": [26, 33]}, "normal", 3),
    ({"do_sample": True, "top_k": 5, "min_length": 7, "begin_suppress_tokens": [26, 33]}, "normal", 0),
    ({"do_sample": True, "top_k": 5, "min_length": 8, "begin_suppress_tokens": [26, 33]}, "normal", 0),
    ({"do_sample": True, "top_k": 6, "sequence_bias": [[[4], 2.5], [[9, 2, 12], 9.0]], "repetition_penalty": 2.0,
      "bad_words_ids": [[36], [2, 15]]}, "normal", 1),
    ({"do_sample": False, "repetition_penalty": 1.5, "temperature": 0.3, "top_k": 2}, "normal", 2),
]
CHAIN_CONTEXT = [2, 29, 2, 9, 26, 9, 2]
chains = []
for parameters, row, answer in CHAINS:
    config = GenerationConfig(eos_token_id=[int(np.argmax(ROWS[row])), 8], **parameters)
    model._prepare_special_tokens(config, device="cpu")
    built = model._get_logits_processor(config, input_ids_seq_length=len(CHAIN_CONTEXT) - answer, device="cpu", model_kwargs={})
    file = {**parameters, "eos_token_id": config.eos_token_id}
    built = [stable(b) if isinstance(b, lp.TopPLogitsWarper) else b for b in built]
    chains.append({"file": file, "row": row, "context": CHAIN_CONTEXT, "answer": answer,
                   **result_of(ROWS[row], LogitsProcessorList(built), CHAIN_CONTEXT)})


# ---- descriptions -------------------------------------------------------------------------------------------------------------

def softmax(x):
    e = np.exp(np.asarray(x, dtype=np.float64) - max(x))
    return e / e.sum()


def by_probability(x):
    """Token ids, most probable first, lower ids first among equals."""
    return sorted(range(len(x)), key=lambda i: (-x[i], i))


def xtc(x, threshold):
    p = softmax(x)
    above = [i for i in by_probability(x) if p[i] >= threshold]
    return sorted(set(range(len(x))) - set(above[:-1]))


def mirostat(x, mu):
    p = softmax(x)
    kept = [i for i in by_probability(x) if -math.log2(p[i]) <= mu] or by_probability(x)[:1]
    return sorted(kept)


def top_n_sigma(x, n):
    bar = max(x) - n * np.std(np.asarray(x, dtype=np.float64))
    return [i for i in range(len(x)) if x[i] >= bar]


def dry(context, breakers, multiplier, base, allowed, last_n):
    """How much each token loses."""
    if last_n >= 0:
        context = context[max(0, len(context) - last_n):] if last_n else []
    n = len(context)
    limit = n
    for start in reversed(range(n)):
        fits = [len(b) for b in breakers if context[start:start + len(b)] == b]
        if fits:
            limit = n - start - max(fits)
            break
    lost = {}
    for i in range(1, n):
        if [context[i]] in breakers:
            continue
        m = 0
        while m < min(i, limit) and context[i - 1 - m] == context[n - 1 - m]:
            m += 1
        if m >= allowed:
            lost[context[i]] = max(lost.get(context[i], 0.0), multiplier * base ** (m - allowed))
    return sorted(lost.items())


described = {"xtc": [], "mirostat": [], "top_n_sigma": [], "dry": []}
for row in ROWS:
    for t in (0.0, 0.04, 0.1, 0.2, 0.45, 0.5):
        described["xtc"].append({"row": row, "parameter": t, "kept": xtc(ROWS[row], t)})
    for mu in (0.0, 0.4, 2.0, 3.0, 5.5, 10.0):
        described["mirostat"].append({"row": row, "parameter": mu, "kept": mirostat(ROWS[row], mu)})
    for n in (0.5, 1.0, 1.7):
        described["top_n_sigma"].append({"row": row, "parameter": n, "kept": top_n_sigma(ROWS[row], n)})


def add_dry(context, breakers, multiplier=0.8, base=1.75, allowed=2, last_n=-1):
    described["dry"].append({"context": context, "breakers": breakers, "multiplier": multiplier, "base": base, "allowed_length": allowed,
                             "last_n": last_n, "lost": dry(context, breakers, multiplier, base, allowed, last_n)})


add_dry([1, 2, 3, 3, 2, 3, 4, 1, 2, 3], [])
add_dry([1, 2, 3, 3, 2, 3, 4, 1, 2, 3], [], allowed=1, multiplier=2.0)
add_dry([1, 2, 3, 3, 2, 3, 4, 1, 2, 3], [[2]])
add_dry([1, 2, 3, 3, 2, 3, 4, 1, 2, 3], [[1]])
add_dry([1, 2, 3, 4, 5, 1, 2, 3], [[4]])
add_dry([1, 2, 3, 4, 5, 1, 2, 3], [], last_n=6)
add_dry([1, 2, 3, 4, 5, 1, 2, 3], [], last_n=7)
add_dry([7] * 30, [], base=1.2)
for breakers in ([[3]], [[2, 3]], [[3, 9]], [[1]], [[2], [2, 3, 4]]):  # at the end, across it, and longer ones at the same token
    add_dry([1, 2, 3, 4, 1, 2, 3], breakers, allowed=1)
    add_dry([5, 2, 3, 4, 9, 5, 2, 3, 4, 9], breakers, allowed=1)
add_dry([7], [])
add_dry([], [])
for seed in range(12):
    r = np.random.default_rng(seed)
    context = r.integers(0, 3, 40).tolist()
    breakers = [[0]] if seed % 3 == 0 else [[0, 1], [0, 1, 1], [2, 2, 0]] if seed % 3 == 1 else []
    add_dry(context, breakers, multiplier=0.5 + seed / 8, base=1 + seed / 16, allowed=1 + seed % 4, last_n=-1 if seed % 2 else 30)

# ---- whole chains to draw from ------------------------------------------------------------------------------------------------
# A request, the tokens so far, and the distribution that its draws must have.

def run(x, processor, context=()):
    out = processor(torch.tensor([list(context)], dtype=torch.long), torch.tensor([x], dtype=torch.float32))
    return out[0].tolist()


def only(x, kept):
    return [v if i in set(kept) else -math.inf for i, v in enumerate(x)]


def described_on_finite(x, f):
    """A description on the tokens that are left."""
    left = [i for i, v in enumerate(x) if v != -math.inf]
    return only(x, [left[k] for k in f([x[i] for i in left])])


draws = []


def add_draw(request, row, x_of, prompt=(), answer=(), mixture=None):
    x = x_of(ROWS[row])
    p = softmax(x)
    if mixture:
        share, other = mixture
        p = (1 - share) * p + share * softmax(other(x))
    draws.append({"request": request, "row": row, "prompt": list(prompt), "answer": list(answer), "p": [float(v) for v in p]})


add_draw({"temperature": 1.0}, "normal", lambda x: x)
add_draw({"temperature": 2.5}, "wide", lambda x: run(x, lp.TemperatureLogitsWarper(2.5)))
add_draw({"temperature": 0.8, "top_k": 12, "top_p": 0.9, "min_p": 0.03}, "steps", lambda x: run(
    run(run(run(x, lp.TemperatureLogitsWarper(0.8)), lp.TopKLogitsWarper(12)), stable(lp.TopPLogitsWarper(0.9))), lp.MinPLogitsWarper(0.03)))
add_draw({"typical_p": 0.6}, "normal", lambda x: run(x, lp.TypicalLogitsWarper(0.6)))
add_draw({"temperature": 1.5, "epsilon_cutoff": 0.02}, "normal",
         lambda x: run(run(x, lp.TemperatureLogitsWarper(1.5)), lp.EpsilonLogitsWarper(0.02)))
add_draw({"temperature": 1.5, "eta_cutoff": 0.02}, "normal",
         lambda x: run(run(x, lp.TemperatureLogitsWarper(1.5)), lp.EtaLogitsWarper(0.02)))
add_draw({"xtc_probability": 0.3, "xtc_threshold": 0.08}, "normal", lambda x: x,
         mixture=(0.3, lambda x: described_on_finite(x, lambda y: xtc(y, 0.08))))
add_draw({"temperature": 1.5, "mirostat": 2, "mirostat_tau": 2.0, "mirostat_eta": 0.0}, "normal",
         lambda x: described_on_finite(run(x, lp.TemperatureLogitsWarper(1.5)), lambda y: mirostat(y, 4.0)))
add_draw({"temperature": 1.2, "top_n_sigma": 1.3}, "normal",
         lambda x: described_on_finite(run(x, lp.TemperatureLogitsWarper(1.2)), lambda y: top_n_sigma(y, 1.3)))

PROMPT, ANSWER = [26, 29, 15, 2, 29, 15, 20], [26, 26, 30, 29, 15]


def penalties(x):
    x = run(x, lp.RepetitionPenaltyLogitsProcessor(1.4), PROMPT + ANSWER)
    return [v - (0.7 + 0.25 * ANSWER.count(i) if i in ANSWER else 0) for i, v in enumerate(x)]


def dry_penalty(x):
    lost = dict(dry(PROMPT + ANSWER, [[30]], 0.9, 1.5, 1, -1))
    assert lost
    return [v - lost.get(i, 0) for i, v in enumerate(x)]


PENALTIES = {"repetition_penalty": 1.4, "presence_penalty": 0.7, "frequency_penalty": 0.25}
DRY = {"dry_multiplier": 0.9, "dry_base": 1.5, "dry_allowed_length": 1, "dry_breakers": [[30]]}
add_draw({"temperature": 0.9, **PENALTIES, **DRY, "logit_bias": [[4, 3.0], [10, -1.0]]}, "normal",
         lambda x: run(dry_penalty(penalties([v + {4: 3.0, 10: -1.0}.get(i, 0) for i, v in enumerate(x)])), lp.TemperatureLogitsWarper(0.9)),
         PROMPT, ANSWER)


def llama_cpp(x):
    x = dry_penalty(penalties(x))
    x = described_on_finite(x, lambda y: top_n_sigma(y, 2.2))
    x = run(x, lp.TopKLogitsWarper(25))
    x = run(x, lp.TypicalLogitsWarper(0.97))
    x = run(x, stable(lp.TopPLogitsWarper(0.96)))
    return run(x, lp.MinPLogitsWarper(0.02))


def hot(x):
    return run(x, lp.TemperatureLogitsWarper(1.7))


cold = llama_cpp(ROWS["normal"])
draws.append({"request": {"order": "llama.cpp", "repeat_last_n": -1, "temperature": 1.7, "top_n_sigma": 2.2, "top_k": 25, "typical_p": 0.97,
                          "top_p": 0.96, "min_p": 0.02, "xtc_probability": 0.6, "xtc_threshold": 0.05, **PENALTIES, **DRY},
              "row": "normal", "prompt": PROMPT, "answer": ANSWER,
              "p": (0.4 * softmax(hot(cold)) + 0.6 * softmax(hot(described_on_finite(cold, lambda y: xtc(y, 0.05))))).tolist()})

log_softmax = {}
for row in ("normal", "wide", "large"):
    x = torch.tensor(ROWS[row], dtype=torch.float64)
    log_softmax[row] = torch.log_softmax(x, 0).tolist()

here = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(here, "tokens.json"), "w") as f:
    json.dump({"versions": {"transformers": transformers.__version__, "torch": torch.__version__, "numpy": np.__version__},
               "rows": ROWS, "processors": processors, "chains": chains, "described": described, "draws": draws, "log_softmax": log_softmax},
              f, separators=(",", ":"))
    f.write("\n")
