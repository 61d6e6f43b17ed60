"""Goldens of single stages: stages.json holds stages as a tokenizer.json spells them, and hashes of what tokenizers 0.22.2 makes of
strings.py's strings (COUNT of them, one hash for GROUP) and, where "all" is true, of every character of fragments.json between others
(one hash for 256)."""
import json
import os

import patterns
import strings
from tokenizers import Tokenizer

COUNT, GROUP = 3200, 16
FOLDER = os.path.dirname(os.path.abspath(__file__))

NORMALIZERS = [
    {"type": "NFC"}, {"type": "NFD"}, {"type": "NFKC"}, {"type": "NFKD"}, {"type": "Lowercase"}, {"type": "Nmt"}, {"type": "ByteLevel"}, {"type": "StripAccents"},
    {"type": "Strip", "strip_left": True, "strip_right": True}, {"type": "Strip", "strip_left": True, "strip_right": False}, {"type": "Strip", "strip_left": False, "strip_right": True},
    {"type": "Prepend", "prepend": "▁x"}, {"type": "Replace", "pattern": {"String": "e"}, "content": "<E>"}, {"type": "Replace", "pattern": {"String": "  "}, "content": ""},
    {"type": "Replace", "pattern": {"Regex": "\\s+"}, "content": " "}, {"type": "Replace", "pattern": {"Regex": "(?<=[aeiou])[^\\p{L}]|$"}, "content": "|"}, {"type": "Replace", "pattern": {"Regex": "x*"}, "content": "-"},
    {"type": "Sequence", "normalizers": [{"type": "NFD"}, {"type": "StripAccents"}, {"type": "Lowercase"}, {"type": "NFC"}]},
] + [{"type": "BertNormalizer", "clean_text": a, "handle_chinese_chars": b, "strip_accents": c, "lowercase": d} for a, b, c, d in ((True, True, None, True), (True, False, None, False), (False, True, True, False), (False, False, False, True), (True, True, False, True))]

BEHAVIORS = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"]
PRE_TOKENIZERS = [
    {"type": "ByteLevel", "add_prefix_space": p, "trim_offsets": True, "use_regex": r} for p, r in ((False, True), (True, True), (True, False))
] + [{"type": "Split", "pattern": {"Regex": "\\s|\\p{P}+"}, "behavior": b, "invert": i} for b in BEHAVIORS for i in (False, True)] + [
    {"type": "Split", "pattern": {"String": "e"}, "behavior": b, "invert": False} for b in BEHAVIORS
] + [{"type": "Punctuation", "behavior": b} for b in BEHAVIORS] + [
    {"type": "Metaspace", "replacement": "▁", "prepend_scheme": p, "split": s} for p in ("always", "first", "never") for s in (False, True)
] + [
    {"type": "Metaspace", "replacement": "▁", "add_prefix_space": True}, {"type": "Metaspace", "replacement": "_", "prepend_scheme": "always", "split": True},
    {"type": "Whitespace"}, {"type": "WhitespaceSplit"}, {"type": "BertPreTokenizer"}, {"type": "UnicodeScripts"}, {"type": "FixedLength", "length": 3},
    {"type": "Digits", "individual_digits": True}, {"type": "Digits", "individual_digits": False}, {"type": "CharDelimiterSplit", "delimiter": "e"}, {"type": "CharDelimiterSplit", "delimiter": " "},
    {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": True}]},
    {"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": True}, {"type": "Punctuation", "behavior": "Isolated"}, {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}]},
] + [{"type": "Split", "pattern": {"Regex": r}, "behavior": "Isolated", "invert": False} for r in (patterns.LLAMA3, patterns.QWEN2, patterns.TEKKEN, patterns.DEEPSEEK_V3)]

DECODERS = [
    None, {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}, {"type": "ByteFallback"}, {"type": "Fuse"}, {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True},
    {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "never", "split": True}, {"type": "WordPiece", "prefix": "##", "cleanup": True}, {"type": "WordPiece", "prefix": "##", "cleanup": False},
    {"type": "BPEDecoder", "suffix": "</w>"}, {"type": "CTC", "pad_token": "<pad>", "word_delimiter_token": "|", "cleanup": True}, {"type": "CTC", "pad_token": "e", "word_delimiter_token": " ", "cleanup": False},
    {"type": "Strip", "content": "e", "start": 2, "stop": 0}, {"type": "Strip", "content": "e", "start": 0, "stop": 2}, {"type": "Replace", "pattern": {"String": "ee"}, "content": "<>"}, {"type": "Replace", "pattern": {"Regex": "[a-f]+"}, "content": "_"},
    {"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
    {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"}, {"type": "Replace", "pattern": {"String": "e e"}, "content": "E"}, {"type": "Strip", "content": "e", "start": 1, "stop": 2}]},
    {"type": "Sequence", "decoders": [{"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}, {"type": "Replace", "pattern": {"Regex": "\\s+"}, "content": " "}]},
]
EVERY_CHARACTER = {"NFC", "NFD", "NFKC", "NFKD", "Lowercase", "Nmt", "StripAccents", "BertNormalizer", "Whitespace", "BertPreTokenizer", "UnicodeScripts", "Digits"}


def tokenizer_with(**stages):
    value = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None, "pre_tokenizer": None, "post_processor": None, "decoder": None,
             "model": {"type": "WordLevel", "vocab": {"[UNK]": 0}, "unk_token": "[UNK]"}}
    return Tokenizer.from_str(json.dumps({**value, **stages}))


def tokens_of(index, fragments):
    """A row of tokens for a decoder, of at least three characters."""
    random = strings.Random(index * 104729 + 7)
    tokens = []
    for _ in range(1 + random.below(10)):
        kind = random.below(12)
        if kind < 3:
            token = f"<0x{random.below(256):02X}>"
        elif kind == 3:
            token = ["<0x41>", "<0xe3>", "<0x81>", "<0x82>", "<pad>", "##ing", "low</w>", "do not", " n't", "a ' b", "e e", "eee", "|||", " . "][random.below(14)]
        elif kind == 4 and tokens:
            token = tokens[-1]
        elif kind == 5:
            token = "ĠĊâĢ" + "ĵīģĤ"[random.below(4)]
        elif kind == 6:
            token = "▁ee" + "▁e"[random.below(2)]
        else:
            token = fragments["words"][random.below(len(fragments["words"]))]
        tokens.append(token if len(token) >= 3 else token * 3)
    return tokens


def grouped(count, group, value):
    hashes = []
    for begin in range(0, count, group):
        h = 0x811C9DC5
        for index in range(begin, min(begin + group, count)):
            for text in value(index):
                h = strings.hash_text(text, h)
            h = strings.fnv(b"\xfe", h)
        hashes.append(h)
    return hashes


def main():
    fragments = strings.load_fragments(os.path.join(FOLDER, "fragments.json"))
    every = [chr(c) for low, high in fragments["ranges"] for c in range(low, high + 1)]
    text_of = lambda index: strings.string(index, fragments, fragments["ranges"], []).decode("utf-8", errors="replace")
    around = lambda index: "a" + every[index] + "b 1" + every[index] * 2 + "."
    stages = []
    for kind, list_of in (("normalizer", NORMALIZERS), ("pre_tokenizer", PRE_TOKENIZERS), ("decoder", DECODERS)):
        for stage in list_of:
            tokenizer = tokenizer_with(**{kind: stage})
            if kind == "normalizer":
                answer = lambda text: [tokenizer.normalizer.normalize_str(text)]
            else:
                answer = lambda text: [piece for piece, _ in tokenizer.pre_tokenizer.pre_tokenize_str(text)]
            if kind == "decoder":
                decode = (lambda tokens: " ".join(tokens)) if stage is None else tokenizer.decoder.decode
                entry = {"hashes": grouped(COUNT, GROUP, lambda index: [decode(tokens_of(index, fragments))])}
            else:
                entry = {"hashes": grouped(COUNT, GROUP, lambda index: answer(text_of(index)))}
                if stage["type"] in EVERY_CHARACTER:
                    entry["every"] = grouped(len(every), 256, lambda index: answer(around(index)))
            stages.append({"kind": kind, "stage": stage, **entry})
    with open(os.path.join(FOLDER, "stages.json"), "w", encoding="utf-8") as file:
        json.dump({"count": COUNT, "group": GROUP, "stages": stages}, file, ensure_ascii=False, separators=(",", ":"))
    print(len(stages), "stages")


if __name__ == "__main__":
    main()
