"""What transformers makes of the demo language model: complete.json.

    OMP_NUM_THREADS=1 python make.py [CHECKPOINT]

The weights are widened to float64, so the numbers carry no rounding of their own.
"""

import json
import sys
from pathlib import Path

import torch
import transformers
from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig

HERE = Path(__file__).parent
DEMO = HERE.parents[2] / "assets/demo-language-model"
PROMPTS = {
    "story": "The lighthouse stood",
    "once": "Once upon a time there was a keeper called Zoë.",
    "chat": "<|im_start|>user\nWho are you?<|im_end|>\n<|im_start|>assistant\n",
}
# As a file's bytes.
TEXTS = {
    "plain": b"The sea was calm.\n",
    "byte_order_mark": b"\xef\xbb\xbfThe sea",
    "carriage_returns": b"One\r\ntwo\rthree\n\n",
    "invalid": b"The \xff sea \xe2\x82 and \xf0\x9f\x98 fire \xc0\xaf \xed\xa0\x80\xf4\x90\x80\x80 end \xe2",
    "special": b"a<|end_of_text|> b <|im_start|>user\n<|im_end|",
    "unicode": "Zoë 🌊 21 °C — 灯台 مرحبا 👩‍🚀 e\u0301\t٣".encode(),
    "spaces": b"  two  spaces\n \n\tand 12345 don't I'LL",
    "nul": b"a\x00b",
}


def load(folder):
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).double().eval()
    ends = model.generation_config.eos_token_id
    model.generation_config = GenerationConfig()
    return model, AutoTokenizer.from_pretrained(folder), ends


@torch.no_grad()
def logits_of(model, ids):
    return model(input_ids=torch.tensor([ids])).logits[0]


def greedy(model, tokenizer, ids, count, ends=None, **more):
    settings = GenerationConfig(do_sample=False, max_new_tokens=count, eos_token_id=ends, pad_token_id=tokenizer.pad_token_id, **more)
    rows = torch.tensor([ids])
    tokens = model.generate(rows, attention_mask=torch.ones_like(rows), generation_config=settings, tokenizer=tokenizer)[0, len(ids):].tolist()
    return {"tokens": tokens, "text": tokenizer.decode(tokens, skip_special_tokens=True)}


def margin(model, ids, tokens):
    """The smallest distance between the best and the second best logit along the way."""
    top = logits_of(model, ids + tokens)[len(ids) - 1:-1].topk(2).values
    return float((top[:, 0] - top[:, 1]).min())


def prompt_logprobs(model, ids):
    rows = logits_of(model, ids).log_softmax(-1)
    return [None] + [float(rows[i, ids[i + 1]]) for i in range(len(ids) - 1)]


def answer_logprobs(model, ids, tokens, k=5):
    rows = logits_of(model, ids + tokens)[len(ids) - 1:-1].log_softmax(-1)
    made = []
    for token, row in zip(tokens, rows):
        top = row.topk(k)
        made.append({"token": token, "logprob": float(row[token]), "top": [[int(i), float(x)] for i, x in zip(top.indices, top.values)]})
    return made


def main():
    torch.set_num_threads(1)
    model, tokenizer, ends = load(sys.argv[1] if len(sys.argv) > 1 else DEMO)
    made = {"reference": {"transformers": transformers.__version__, "torch": torch.__version__}}

    made["greedy"] = {}
    for name, prompt in PROMPTS.items():
        ids = tokenizer(prompt).input_ids
        case = {"prompt": prompt, "prompt_tokens": ids, **greedy(model, tokenizer, ids, 256)}
        case["margin"] = margin(model, ids, case["tokens"])
        case["prompt_logprobs"] = prompt_logprobs(model, ids)
        case["logprobs"] = answer_logprobs(model, ids, case["tokens"][:32])
        case["ended"] = greedy(model, tokenizer, ids, 256, ends)
        case["penalised"] = greedy(model, tokenizer, ids, 64, repetition_penalty=1.3)
        made["greedy"][name] = case

    # Whole tokens, parts of tokens, across tokens, several at once; the text of transformers keeps what ends it.
    made["stops"] = []
    ids = tokenizer(PROMPTS["story"]).input_ids
    text = greedy(model, tokenizer, ids, 64)["text"]
    for stop in ([text[30:36]], [text[41]], [text[57:59]], [text[90:94], text[70:80]], [" the sea", "nowhere"]):
        made["stops"].append({"prompt_tokens": ids, "stop": stop, **greedy(model, tokenizer, ids, 64, ends, stop_strings=stop)})

    made["texts"] = []
    for name, text in TEXTS.items():
        ids = tokenizer(text.decode("utf-8", errors="replace")).input_ids
        made["texts"].append({"name": name, "bytes": text.hex(), "prompt_tokens": ids,
                              "plain_tokens": tokenizer(text.decode("utf-8", errors="replace"), add_special_tokens=False).input_ids,
                              **greedy(model, tokenizer, ids, 16)})

    # More tokens than one chunk of the prompt, twice, and more than the row count of one block of logits.
    long = []
    for name in PROMPTS:
        long += made["greedy"][name]["prompt_tokens"] + made["greedy"][name]["tokens"]
    long = (long + long)[:701]
    case = {"prompt_tokens": long, "prompt_logprobs": prompt_logprobs(model, long), **greedy(model, tokenizer, long, 64)}
    case["margin"] = margin(model, long, case["tokens"])
    made["long"] = case

    def short(x):
        return float(f"{x:.9g}") if isinstance(x, float) else x

    def rounded(x):
        if isinstance(x, dict):
            return {k: rounded(v) for k, v in x.items()}
        return [rounded(v) for v in x] if isinstance(x, list) else short(x)

    text = json.dumps(rounded(made), indent=None, separators=(",", ":"), ensure_ascii=True)
    (HERE / "complete.json").write_text(text.replace('},"', '},\n"') + "\n")


if __name__ == "__main__":
    main()
