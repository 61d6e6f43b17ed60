"""Goldens of the tokenizers: small tokenizers in every published shape, and what the reference makes of some ten thousand strings.

    python make.py            writes NAME/ (the files of a checkpoint's folder) and NAME.bin beside this file, for every shape
    python make.py NAME …     only those

Needs tokenizers 0.22.2, transformers 4.57.1, sentencepiece 0.2 and protobuf. The vocabularies are trained on fragments.json and the
Python library's sources. NAME.bin: for each string the 32-bit hash of all that the reference answers, little-endian.
"""
import array
import glob
import json
import os
import random as python_random
import shutil
import sys
import sysconfig

import family_shapes
import sentencepiece_shapes
import shapes
import strings

FOLDER = os.path.dirname(os.path.abspath(__file__))
COUNT = 10240


def corpus():
    fragments = strings.load_fragments(os.path.join(FOLDER, "fragments.json"))
    lines = []
    mixer = python_random.Random(3)
    for kind in ("words", "emoji", "code", "marks"):
        lines += fragments[kind] * 3
    for _ in range(3000):
        lines.append(" ".join(mixer.choices(fragments["words"], k=8)))
    for path in sorted(glob.glob(os.path.join(sysconfig.get_paths()["stdlib"], "*.py")))[:40]:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines += file.read().splitlines(keepends=True)[:400]
    return lines


def write_hashes(name, hashes):
    values = array.array("I", hashes)
    if sys.byteorder == "big":
        values.byteswap()
    with open(os.path.join(FOLDER, name + ".bin"), "wb") as file:
        values.tofile(file)


def golden(name, tokenizer, fragments):
    ranges = fragments["ranges"]
    special = list(tokenizer.get_added_vocab())[:40]
    hashes = []
    for index in range(COUNT):
        text = strings.string(index, fragments, ranges, special).decode("utf-8", errors="replace")
        ids = tokenizer(text)["input_ids"]
        h = strings.hash_ids(ids)
        h = strings.hash_ids(tokenizer(text, add_special_tokens=False)["input_ids"], h)
        h = strings.hash_text(tokenizer.decode(ids), h)
        h = strings.hash_text(tokenizer.decode(ids[::-1], skip_special_tokens=True, clean_up_tokenization_spaces=index % 2 == 1), h)
        hashes.append(h)
    write_hashes(name, hashes)
    with open(os.path.join(FOLDER, name, "golden.json"), "w", encoding="utf-8") as file:
        json.dump({"special": special, "strings": COUNT}, file, ensure_ascii=False)


def main():
    from transformers import AutoTokenizer

    fragments = strings.load_fragments(os.path.join(FOLDER, "fragments.json"))
    lines = corpus()
    names = sys.argv[1:]
    for name, options in sentencepiece_shapes.SENTENCEPIECE.items():
        if names and name not in names:
            continue
        folder = os.path.join(FOLDER, name)
        os.makedirs(folder, exist_ok=True)
        sentencepiece_shapes.train(folder, lines, name="sentencepiece.model", max_sentence_length=100000, **options)
        encode = sentencepiece_shapes.golden_ids(folder)
        write_hashes(name, [strings.hash_ids(encode(strings.string(i, fragments, fragments["ranges"], []).decode("utf-8", errors="replace"))) for i in range(COUNT)])
        print(name, flush=True)
    makers = {**shapes.SHAPES, **family_shapes.SHAPES, **sentencepiece_shapes.SHAPES}
    for name in names or makers:
        if name not in makers:
            continue
        folder = os.path.join(FOLDER, name)
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        makers[name](folder, lines)
        tokenizer = AutoTokenizer.from_pretrained(folder)
        golden(name, tokenizer, fragments)
        print(name, type(tokenizer).__name__, len(tokenizer), sum(os.path.getsize(os.path.join(folder, f)) for f in os.listdir(folder)), flush=True)


if __name__ == "__main__":
    main()
