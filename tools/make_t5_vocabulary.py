#!/usr/bin/env python3
"""Write assets/t5/spiece.model, Google's SentencePiece model of T5 (Apache License 2.0), from a package that carries it.

Run: pip download --no-deps diffsynth==1.1.9 && python3 tools/make_t5_vocabulary.py diffsynth-1.1.9-py3-none-any.whl assets/t5

The file is the one that google/t5-v1_1-xxl and the model folders of Stable Diffusion 3 and FLUX.1 hold: 32000 pieces (Unigram, nmt_nfkc),
of which <pad> is 0, </s> is 1 and <unk> is 2. The 100 tokens <extra_id_0> … are not in it.
"""
import hashlib
import pathlib
import sys
import zipfile

MEMBER = "diffsynth/tokenizer_configs/stable_diffusion_3/tokenizer_3/spiece.model"
SHA256 = "d60acb128cf7b7f2536e8f38a5b18a05535c9e14c7a355904270e15b0945ea86"


def main(wheel, folder):
    model = zipfile.ZipFile(wheel).read(MEMBER)
    digest = hashlib.sha256(model).hexdigest()
    assert digest == SHA256, f"{MEMBER} has the digest {digest}, expected {SHA256}"
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "spiece.model").write_bytes(model)


if __name__ == "__main__":
    main(*sys.argv[1:])
