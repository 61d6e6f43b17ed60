#!/usr/bin/env python3
"""Write assets/clip-vit-l-14/{vocab.json,merges.txt} from OpenAI's bpe_simple_vocab_16e6.txt.gz (github.com/openai/CLIP, MIT;
also inside the PyPI package open_clip_torch).

Run: python3 tools/make_clip_vocabulary.py path/to/bpe_simple_vocab_16e6.txt.gz assets/clip-vit-l-14
"""
import gzip
import json
import pathlib
import sys


def byte_symbols():
    """The 256 characters that stand for bytes: first the printable ones, then the others from U+0100 on."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [b for b in range(256) if b not in printable]
    return [chr(b) for b in printable] + [chr(256 + i) for i in range(len(rest))]


def main(source, folder):
    lines = gzip.open(source, "rt", encoding="utf-8").read().split("\n")
    merges = lines[1 : 49152 - 256 - 2 + 1]
    symbols = byte_symbols()
    tokens = symbols + [s + "</w>" for s in symbols] + [m.replace(" ", "") for m in merges]
    tokens += ["<|startoftext|>", "<|endoftext|>"]
    assert len(tokens) == 49408 and len(set(tokens)) == 49408
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = {token: i for i, token in enumerate(tokens)}
    (folder / "vocab.json").write_text(json.dumps(vocabulary, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")
    (folder / "merges.txt").write_text("#version: 0.2\n" + "\n".join(merges) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
