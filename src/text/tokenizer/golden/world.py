"""A part of RWKV's world vocabulary, and the ids that the authors' tokenizer gives with it.
python src/text/tokenizer/golden/world.py

The part is every 97th token, all tokens of one byte, and those of the texts below, under their published ids.
Made with rwkv 0.8.32.
"""
import json
from pathlib import Path

import rwkv.rwkv_tokenizer as reference

HERE = Path(__file__).parent / "world"
PUBLISHED = Path(reference.__file__).parent / "rwkv_vocab_v20230424.txt"
TEXTS = ["", "Hello, world!", "The quick brown fox jumps over the lazy dog.\n\n", "User: it's \"quoted\"\n\nAssistant:", "    def f(x):\n\t\treturn x ** 2\r\n",
         "naïve café, Ångström", "你好，世界！今天天气很好。", "日本語のテキスト", "Привет, мир", "😀👩‍👩‍👧 ok", "a\u2003b\u00a0c", "0123456789 3.14159", "\\n 'x' \"y\" '\"'"]

whole = reference.TRIE_TOKENIZER(PUBLISHED)
kept = {id for id, token in whole.idx2token.items() if len(token) == 1 or id % 97 == 0}
for text in TEXTS:
    kept.update(whole.encode(text) if text else [])
with open(PUBLISHED, encoding="utf-8") as f:
    lines = [line for line in f if int(line.split(" ")[0]) in kept]
(HERE / "rwkv_vocab_v20230424.txt").write_text("".join(lines), encoding="utf-8", newline="\n")
part = reference.TRIE_TOKENIZER(HERE / "rwkv_vocab_v20230424.txt")
golden = [{"text": text, "ids": part.encode(text) if text else []} for text in TEXTS]
assert all(part.decode(sample["ids"]) == sample["text"] for sample in golden)
(HERE / "golden.json").write_text(json.dumps(golden, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
(HERE / "tokenizer_config.json").write_text(json.dumps({
    "add_bos_token": False, "add_prefix_space": False, "clean_up_tokenization_spaces": False, "tokenizer_class": "RwkvTokenizer",
    "added_tokens_decoder": {"0": {"content": "<|rwkv_tokenizer_end_of_text|>", "lstrip": False, "normalized": False, "rstrip": False,
                                   "single_word": False, "special": True}},
    "bos_token": "<|rwkv_tokenizer_end_of_text|>", "eos_token": "<|rwkv_tokenizer_end_of_text|>", "unk_token": "<|rwkv_tokenizer_end_of_text|>",
}, indent=1) + "\n")
