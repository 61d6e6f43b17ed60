"""What T5TokenizerFast of transformers makes of prompts, with T5's own vocabulary.
python src/models/t5/golden/make.py FOLDER

FOLDER is the tokenizer of a published model (tokenizer_3 of Stable Diffusion 3, tokenizer_2 of FLUX.1: tokenizer.json, spiece.model,
tokenizer_config.json). Its two files, and assets/t5/spiece.model alone, must agree. Made with transformers 4.57.1, tokenizers 0.22.2.

rows of the syntax plain are those of diffusers' _get_t5_prompt_embeds; in the other syntaxes the parts of a prompt, which text/prompt/golden
covers, are written out here, and each is tokenized as ComfyUI's SDTokenizer and stable-diffusion-webui's Sd3T5 do.
"""
import json
import sys
import tempfile
from pathlib import Path

import tokenizers
import transformers
from transformers import T5TokenizerFast

HERE = Path(__file__).parent
ASSET = HERE.parents[3] / "assets" / "t5" / "spiece.model"

TEXTS = [
    "", " ", "  ", "\n", "\t \r\n", "a cat", " a cat", "a cat ", "a  cat", "a\ncat", "a\r\ncat\n\n", "a\tcat", "A photo of an astronaut riding a horse on Mars, 4k",
    "</s>", "a</s>b", "a </s> b", "</s></s>", "<pad>", "a <pad> b", "<unk>", "<extra_id_0>", "a <extra_id_0> b<extra_id_99>c", "<extra_id_100>", "< /s>", "</S>",
    "🦊", "a 🦊🦊 b", "👨‍👩‍👧‍👦 family", "🇩🇪🇯🇵", "❤️ vs ❤", "一只猫坐在窗台上", "猫が座っている。", "고양이 한 마리", "кошка на окне", "قطة تجلس", "בחתול", "แมวน้อย", "बिल्ली",
    "naïve café", "nai\u0308ve cafe\u0301", "ﬁne ﬂower", "①②③ ½ ㎏ ℃ Ⅷ", "ＦＵＬＬ ｗｉｄｔｈ", "x² + y₃ = ∞", "“quotes” ‘single’ … — –", "a\u00a0b\u2003c\u3000d\u200be\ufefff",
    "soft\u00adhyphen", "zero\u200bwidth\u200djoiner", "tab\u0009bell\u0007nul\u0001end", "ß ẞ ﬀ Å Å", "ﷺ", "\u0301 alone", "\ud7a3\u1100\u1161\u11a8", "Ǆ ǅ ǆ", "℡ № ™ ®",
    "1234567890", "3.14159 1,000,000", "v1.2.3-rc4", "https://example.org/a?b=c&d=%20#e", "snake_case camelCase kebab-case", "def f(x): return x**2  # comment", "{\"a\": [1, 2, {\"b\": null}]}",
    "(a:1.3) [b] {c}", "\\(a\\)", "a,b;c:d!e?f", "!!!???...", "####", "--- ***", "a" * 60, "ab" * 40, "the " * 30, "Donaudampfschifffahrtsgesellschaft", "\u2581 low line \u2581\u2581x", "▁", "�", "\U0010ffff", "\x00",
    "A painting of a squirrel eating a burger, highly detailed, " * 12, "word " * 600, "one</s>" * 40,
]
LENGTHS = [1, 2, 5, 77, 256]

# prompt: [part, weight] …, and BREAK in stable-diffusion-webui
COMFYUI = [
    ("a cat", [["a cat", 1.0]]),
    ("", []),
    ("a (red:1.3) house", [["a ", 1.0], ["red", 1.3], [" house", 1.0]]),
    ("(a)((b)) (c:0)", [["a", 1.1], ["b", 1.1 * 1.1], [" ", 1.0], ["c", 0.0]]),
    ("(masterpiece:1.2), best \\(quality\\), (dark:-0.5)", [["masterpiece", 1.2], [", best (quality), ", 1.0], ["dark", -0.5]]),
    ("a </s> (b <extra_id_0>:1.5)", [["a </s> ", 1.0], ["b <extra_id_0>", 1.5]]),
    ("(" + "long " * 90 + ":0.8) end", [["long " * 90, 0.8], [" end", 1.0]]),
]
A1111 = [
    ("a cat", [["a cat", 1.0]]),
    ("a (red:1.3) house", [["a ", 1.0], ["red", 1.3], [" house", 1.0]]),
    ("a [blue] BREAK sky", [["a ", 1.0], ["blue", 1 / 1.1], [" ", 1.0], ["BREAK", -1], ["sky", 1.0]]),
    ("long " * 90, [["long " * 90, 1.0]]),
]


def readers(folder):
    with tempfile.TemporaryDirectory() as scratch:
        # As published: add_prefix_space makes transformers convert spiece.model.
        published = T5TokenizerFast.from_pretrained(folder)
        plain = Path(scratch) / "json"
        plain.mkdir()
        (plain / "tokenizer.json").write_bytes((Path(folder) / "tokenizer.json").read_bytes())
        config = json.loads((Path(folder) / "tokenizer_config.json").read_text())
        config.pop("add_prefix_space", None)
        (plain / "tokenizer_config.json").write_text(json.dumps(config))
        alone = Path(scratch) / "model"
        alone.mkdir()
        (alone / "spiece.model").write_bytes(ASSET.read_bytes())
        return {"published": published, "json": T5TokenizerFast.from_pretrained(plain), "model": T5TokenizerFast.from_pretrained(alone)}


def padded(ids, length):
    return ids + [0] * (length - len(ids))


def main(folder):
    all_readers = readers(folder)
    t5 = all_readers["model"]
    whole = [t5(text).input_ids for text in TEXTS]
    for name, other in all_readers.items():
        assert [other(text).input_ids for text in TEXTS] == whole, name
        assert len(other) == 32100 and other.pad_token_id == 0 and other.eos_token_id == 1, name
    rows = {str(n): [t5(text, padding="max_length", max_length=n, truncation=True, add_special_tokens=True).input_ids for text in TEXTS] for n in LENGTHS}
    # Row of `length`: its ids up to the padding.
    cut = {n: [len(t5(text, max_length=int(n), truncation=True).input_ids) for text in TEXTS] for n in rows}
    comfyui = []
    for prompt, parts in COMFYUI:
        pairs = [(i, w) for part, w in parts for i in t5(part).input_ids[:-1]] + [(1, 1.0)]
        pairs += [(0, 1.0)] * (77 - len(pairs))
        comfyui.append({"prompt": prompt, "ids": [i for i, _ in pairs], "weights": [w for _, w in pairs]})
    a1111 = []
    for prompt, parts in A1111:
        ids = [i for part, w in parts if (part, w) != ("BREAK", -1) for i in t5(part, add_special_tokens=False).input_ids] + [1]
        a1111.append({"prompt": prompt, "ids": padded(ids, 77)[:77]})
    golden = {"reference": f"transformers {transformers.__version__}, tokenizers {tokenizers.__version__}", "texts": TEXTS, "whole": whole,
              "rows": {n: [row[:k] for row, k in zip(rows[n], cut[n])] for n in rows}, "decoded": [t5.decode(ids) for ids in whole], "comfyui": comfyui, "a1111": a1111}
    for n, table in rows.items():
        assert all(row == padded(row[:k], int(n)) for row, k in zip(table, cut[n]))
    (HERE / "rows.json").write_text(json.dumps(golden, ensure_ascii=True, separators=(",", ":")).replace("],[", "],\n[") + "\n")


main(sys.argv[1])
