#!/usr/bin/env python3
"""Goldens of src/text/clip: what transformers makes of prompts. Run from the repository root:

    python src/text/clip/golden/make.py                  # transformers 4.57.1, ftfy 6.3.1: corpus.json, code_points.json, cases.json
    python src/text/clip/golden/make.py transformers5    # transformers 5.x: transformers5/ (a saved tokenizer folder and its ids)

The slow CLIPTokenizer calls ftfy.fix_text; here with fix_encoding=False, because hearth leaves mis-decoded text alone
(../README.md). Without ftfy it calls BasicTokenizer: that is `basic`. CLIPTokenizerFast is `fast`.
"""
import json
import pathlib
import random
import sys
import tempfile
import unicodedata

import transformers
from transformers import CLIPTokenizer

import corpus

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[3]
OFFICIAL = ROOT / "assets/clip-vit-l-14"
DEMO = ROOT / "assets/demo-model/tokenizer"
FILES = ["vocab.json", "merges.txt", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "tokenizer.json"]


def versions():
    import ftfy
    import regex
    import tokenizers

    return {
        "transformers": transformers.__version__,
        "tokenizers": tokenizers.__version__,
        "ftfy": ftfy.__version__,
        "regex": regex.__version__,
        "unicodedata": unicodedata.unidata_version,
    }


def load(folder):
    import ftfy
    from transformers import CLIPTokenizerFast
    from transformers.models.clip.tokenization_clip import BasicTokenizer

    with_ftfy = CLIPTokenizer.from_pretrained(folder, model_max_length=77) if folder == OFFICIAL else CLIPTokenizer.from_pretrained(folder)
    with_ftfy.fix_text = lambda text: ftfy.fix_text(text, fix_encoding=False)
    without = CLIPTokenizer.from_pretrained(folder)
    without.fix_text = None
    without.nlp = BasicTokenizer(strip_accents=False, do_split_on_punc=False)
    return {"ftfy": with_ftfy, "basic": without, "fast": CLIPTokenizerFast.from_pretrained(folder)}


def ids(tokenizer, prompt):
    return tokenizer(prompt, add_special_tokens=False).input_ids


def fnv(numbers, h=0x811C9DC5):
    """FNV-1a, 32 bits, over each number's four bytes and a final 0xff."""
    for n in numbers:
        for b in n.to_bytes(4, "little"):
            h = (h ^ b) * 0x01000193 & 0xFFFFFFFF
    return (h ^ 0xFF) * 0x01000193 & 0xFFFFFFFF


def write(name, value, rows=()):
    """JSON with one line per entry of the lists named in `rows`, so that a change shows as one line."""
    parts = []
    for key, entry in value.items():
        if key in rows:
            parts.append(f"{json.dumps(key)}: [\n" + ",\n".join(json.dumps(e, ensure_ascii=True) for e in entry) + "\n]")
        else:
            parts.append(f"{json.dumps(key)}: {json.dumps(entry, ensure_ascii=True)}")
    (HERE / name).write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="ascii")


def newer_marks():
    """Combining marks that tokenizers' normalization (Unicode 9) does not know: it would order them otherwise."""
    from tokenizers.normalizers import NFC

    nfc = NFC()
    tries = [lambda c: c, lambda c: "a\u0301" + c, lambda c: "a" + c + "\u0323", lambda c: "a\u0315" + c]
    return {
        c
        for c in corpus.ASSIGNED
        if any(nfc.normalize_str(t(chr(c))) != unicodedata.normalize("NFC", t(chr(c))) for t in tries)
    }


def make_corpus(excluded):
    tokenizers = load(OFFICIAL)
    prompts = [p for p in corpus.prompts(11200) if not any(ord(c) in excluded for c in p)]
    entries = [[p, *(fnv(ids(t, p)) for t in tokenizers.values())] for p in prompts]
    broken = []
    for raw in corpus.broken_utf8(1200):
        text = raw.decode("utf-8", "replace")
        if not any(ord(c) in excluded for c in text):
            broken.append([raw.hex(), *(fnv(ids(t, text)) for t in tokenizers.values())])
    print(len(entries), "prompts,", len(broken), "broken")
    write("corpus.json", {"versions": versions(), "columns": ["prompt", *tokenizers], "prompts": entries, "broken": broken}, ("prompts", "broken"))


CONTEXTS = ["a%b", "1%!", "A\u03a3%\u03a3"]


def make_code_points(excluded):
    tokenizers = load(DEMO)
    private = {0xE000, 0xF8FF, 0xF0000, 0xFFFFD, 0x100000, 0x10FFFD}
    points = [c for c in corpus.ASSIGNED if c not in excluded and (c in private or unicodedata.category(chr(c)) != "Co")]
    ranges = []
    for c in points:
        if ranges and c == ranges[-1][1] + 1:
            ranges[-1][1] = c
        else:
            ranges.append([c, c])
    hashes = {}
    for context in CONTEXTS:
        for name, tokenizer in tokenizers.items():
            row = []
            for start in range(0, len(points), 256):
                h = 0x811C9DC5
                for c in points[start : start + 256]:
                    h = fnv(ids(tokenizer, context.replace("%", chr(c))), h)
                row.append(h)
            hashes[f"{name} {context}"] = row
    print(len(points), "code points")
    write("code_points.json", {"versions": versions(), "chunk": 256, "ranges": ranges, **hashes})


def added(content, **flags):
    return {"content": content, "lstrip": False, "normalized": False, "rstrip": False, "single_word": False, "special": False, **flags}


def config_of(folder):
    return json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))


PROMPTS = [
    "a red house on green hills at sunset, two pine trees", "black cat, city skyline, night, moon", "A WHITE sailing boat at sea at night!!",
    "", "!", "!! wow!", "a! b !c", "x<|endoftext|>y <|startoftext|>", "<|ENDOFTEXT|> <|EndOfText|>!", "&lt;|endoftext|&gt; !", "don't, it's we'LL .",
    "<mine>", "a <mine> b", "a<mine>b", "<mine> <mine2><mine>", "a  <l>  b", "a  <r>  b", "a <w> b", "a<w> b", "a <w>b", "<w><w>", "(<w>)", "é<w>", " <w>\t<w>",
    "<MINE> <Mixed> <mixed> <MIXED>", "<l><r>", "<r>  <l>", "a ‹ſ› ‹ẞ› b", "a\x1c<l>b", "a <r>\x1f\u2028b", "3<w>",
    "<w>3", "x\u200c<w>", "a \u200d<w> b", "_<w>", "\u0301<w>", "<w>\u0903", "\u24b6<w>", "\u00b2<w>", "-<w>.", "<r>\t<w>", "<r>\x1c<w>",
    "<mine>x <mine> x", "photo of cat</w> here", "hello <unk> ünïcode 猫",
]  # fmt: skip


# What no ids can show, because white space collapses and the vocabulary has no surrogates.
FIX_TEXT = [
    "a\r\nb", "a\rb", "a\r\r\nb\r", "a\u2028b\u2029c\u0085d", "&NewLine;&Tab;&nbsp;|", " a  b ", "&#xD83D;&#xDE00;", "&#xD7FF;&#xE000;", "\uff07\uff02\u3000\uffa1\uff9e",
    "\x91a\x92\x93b\x94\x85\x81\x8d\x8f\x90\x9d", "\x1b[1;31mred\x1b[0m\x1b[;m\x1b[1\n\x1b]x", "&amp;amp;lt;b&gt;", "<i>&amp;\n&amp;", "&amp;\n<&amp;", "&EACUTE;&eacute;&Eacute;&EaCUTE;",
    "&#13;&#10;&#9;&#12;&#11;x", "e\u0301\u0323&#x301;", "&fjlig;&nGt;&NotEqualTilde;", "\ufb05\u017f\u0149\u01c5\ufb00", "&DOWNARROWBAR;&CLOCKWISECONTOURINTEGRAL;&CounterClockwiseContourIntegral;",
]  # fmt: skip


def make_cases():
    demo = config_of(DEMO)
    ids_of_demo = json.loads((DEMO / "vocab.json").read_text(encoding="utf-8"))
    n = len(ids_of_demo)
    specials = {ids_of_demo[t]: added(t, normalized=True, special=True) for t in ("<|startoftext|>", "<|endoftext|>")}
    flags = [
        added("<mine>"), added("<mine>x"), added("<mine2>"), added("<l>", lstrip=True), added("<r>", rstrip=True), added("<w>", single_word=True),
        added("<Mixed>", normalized=True), added("‹ſ›"), added("‹ẞ›", special=True),
    ]  # fmt: skip
    decoder = {**specials, **{n + i: token for i, token in enumerate(flags)}}
    toy = "a b c x a</w> b</w> c</w> x</w> ab abc abca ab</w> abca</w>".split() + ["<|startoftext|>", "<|endoftext|>"]
    short = {**demo, "model_max_length": 10, "clean_up_tokenization_spaces": True}
    plain = {k: v for k, v in demo.items() if not k.endswith("_token")}
    cases = {
        "demo": ("demo", {}),
        "exclamation mark pads": ("demo", {"tokenizer_config.json": {**demo, "pad_token": "!"}, "special_tokens_map.json": None}),
        "exclamation mark pads, official": ("official", {"tokenizer_config.json": {"pad_token": "!", "model_max_length": 77}}),
        "the map overrides": ("demo", {"special_tokens_map.json": {"pad_token": {"content": "!", "lstrip": True}, "additional_special_tokens": ["cat</w>"]}}),
        "added_tokens_decoder": ("demo", {"tokenizer_config.json": {**demo, "added_tokens_decoder": decoder}}),
        "decoder hides the map": ("demo", {"tokenizer_config.json": {**plain, "added_tokens_decoder": decoder}, "special_tokens_map.json": {"pad_token": "!"}}),
        "added_tokens.json": ("demo", {"added_tokens.json": {"<mine>": n, "<mine2>": n + 1, "<Mixed>": n + 2}}),
        "additional specials": ("demo", {"added_tokens.json": {"<mine>": n}, "special_tokens_map.json": {"additional_special_tokens": ["<mine>"]}}),
        "short": ("demo", {"tokenizer_config.json": short, "special_tokens_map.json": None}),
        "unknown bytes, merges out of order": (
            None,
            {
                "vocab.json": {t: i for i, t in enumerate(toy)},
                "merges.txt": "#version: 0.2\nabc a\nab c\na b\na b</w>\nabc a</w>\n",
                "tokenizer_config.json": {"model_max_length": 77, "tokenizer_class": "CLIPTokenizer"},
            },
        ),
    }  # fmt: skip
    results = []
    for name, (base, files) in cases.items():
        prompts = list(PROMPTS)
        if base is None:
            prompts = ["abcabx", "abcabxabcab", "abcab abca ca", "q abq a", "abcaabcabcabc"]
        texts = {k: None if v is None else v if isinstance(v, str) else json.dumps(v) for k, v in files.items()}
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            source = {"demo": DEMO, "official": OFFICIAL}.get(base)
            for file in FILES:
                if file in texts:
                    text = texts[file]
                else:
                    text = (source / file).read_text(encoding="utf-8") if source and (source / file).exists() else None
                if text is not None:
                    (folder / file).write_text(text, encoding="utf-8")
            tokenizers = load(folder)
        slow = tokenizers["ftfy"]
        length = slow.model_max_length
        rows = []
        for prompt in prompts:
            all_ids = slow(prompt).input_ids
            encoded = slow(prompt, padding="max_length", max_length=length, truncation=True).input_ids
            rows.append(
                {
                    "prompt": prompt,
                    **{k: ids(t, prompt) for k, t in tokenizers.items()},
                    "pieces": slow.tokenize(prompt),
                    "decoded": slow.decode(all_ids),
                    "encoded": encoded,
                    "removed": slow.batch_decode([all_ids[length - 1 : -1]])[0] if len(all_ids) > length else "",
                }
            )
        results.append({"name": name, "base": base, "files": texts, "special": [slow.bos_token_id, slow.eos_token_id, slow.pad_token_id, slow.unk_token_id], "rows": rows})

    # Prompts that just fit and do not (G-12), on the official vocabulary.
    tokenizers = load(OFFICIAL)
    slow = tokenizers["ftfy"]
    r = random.Random(4)
    words = "cat dog house river tree cloud painting light stone bird".split()
    rows = []
    for count in (74, 75, 76, 77, 78, 200):
        prompt = " ".join(r.choice(words) for _ in range(count))
        all_ids = slow(prompt).input_ids
        assert len(all_ids) == count + 2
        encoded = slow(prompt, padding="max_length", max_length=77, truncation=True).input_ids
        rows.append({"prompt": prompt, "encoded": encoded, "removed": slow.batch_decode([all_ids[76:-1]])[0] if len(all_ids) > 77 else ""})
    import ftfy

    fixed = [[t, ftfy.fix_text(t, fix_encoding=False)] for t in FIX_TEXT]
    write("cases.json", {"versions": versions(), "cases": results, "lengths": rows, "fix_text": fixed}, ("cases", "lengths", "fix_text"))


def make_transformers5():
    """transformers 5 saves a folder with tokenizer.json alone; every class of it is `fast`."""
    import tokenizers

    folder = HERE / "transformers5"
    tokenizer = CLIPTokenizer.from_pretrained(DEMO)
    tokenizer.save_pretrained(folder)
    saved = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    (folder / "tokenizer.json").write_text(json.dumps(saved, ensure_ascii=True, separators=(",", ":")) + "\n", encoding="ascii")
    again = CLIPTokenizer.from_pretrained(folder)
    prompts = [*PROMPTS, "!<|endoftext|>!", "a<|STARTOFTEXT|>.", "x|>!", "<|endoftext|", "<|ENDOFTEXT|>!?", "?<|ENDOFTEXT|>!"]
    rows = [[p, ids(again, p)] for p in prompts]
    own = {"transformers": transformers.__version__, "tokenizers": tokenizers.__version__}
    write("transformers5/ids.json", {"versions": own, "rows": rows}, ("rows",))


if __name__ == "__main__":
    transformers.logging.set_verbosity_error()
    if sys.argv[1:] == ["transformers5"]:
        make_transformers5()
    else:
        marks = newer_marks()
        make_cases()
        make_corpus(marks)
        make_code_points(marks)
