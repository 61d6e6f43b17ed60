"""A made-up vocabulary in the form of RWKV's world vocabulary, and the ids that the authors' tokenizer gives with it.
python src/text/tokenizer/golden/world.py

Its tokens are all bytes, words and parts of words of fragments.py, parts of characters, and runs of up to 128 bytes; some ids have no token.
Made with rwkv 0.8.32.
"""
import json
from pathlib import Path

import fragments
import rwkv.rwkv_tokenizer as reference

HERE = Path(__file__).parent / "world"
FILE = HERE / "rwkv_vocab_v20230424.txt"
TEXTS = ["", "Hello, world!", "The quick brown fox jumps over the lazy dog.\n\n", "User: it's \"quoted\"\n\nAssistant:", "    def f(x):\n\t\treturn x ** 2\r\n",
         "naïve café, Ångström", "你好，世界！今天天气很好。", "日本語のテキスト", "Привет, мир", "😀👩‍👩‍👧 ok", "'😀' '\"👍 \\\n🫠", "a\u2003b\u00a0c", "0123456789 3.14159", "\\n 'x' \"y\" '\"'",
         "=" * 300 + "\n" + " " * 77 + "x" + "\n" * 9, "\x00\x01\x7f\u0080\ufeff\ufffd", "它 它们 hellohello HELLO hell he"]
TEXTS += [text for text in fragments.PHRASES + fragments.CODE + fragments.EMOJI if text != "<s>"]  # id 0 of GGUF files


def made_tokens():
    """Bytes of more than one byte, each once. Not <s>: see above."""
    words = [word for word in fragments.WORDS if len(word.encode()) > 1]
    texts = set(words[::2]) | {" " + word for word in words[::3]} | {word[:n] for word in words[::5] for n in (2, 3, 4)}
    texts |= {f"{n:02}" for n in range(0, 100, 3)} | {c * n for c in " \n\t=-*" for n in (2, 3, 4, 8, 16, 31, 64, 128)}
    texts |= {"it's", "'\"", "\"'\"", "\\'", "\\n", "\"\"\"", " \"", " '", "\r\n", "\x00\x01", "\u2003", "\ufffd", "Assistant:", "User:"}
    texts |= set(fragments.SPACE) | set(fragments.CODE[::4]) | set(fragments.EMOJI[::3]) | set(fragments.PHRASES[::6])
    tokens = {text.encode() for text in texts}
    for text in fragments.EMOJI + [word for word in words if ord(word[0]) > 0x7ff]:  # parts of characters
        whole = text.encode()
        tokens |= {whole[:2], b" " + whole[:2], b"'" + whole[:2], b"'\"" + whole[:1], b"\\\n" + whole[:1], whole[:len(whole) - 1]}
    return sorted((token for token in tokens if 1 < len(token) <= 128 and token != b"<s>"), key=lambda token: (len(token), token))


def literal(token):
    try:
        return repr(token.decode())
    except UnicodeDecodeError:
        return repr(token)


lines, id = [], 0
for token in [bytes([byte]) for byte in range(256)] + made_tokens():
    id += 2 if id > 256 and id % 50 == 0 else 1
    lines.append(f"{id} {literal(token)} {len(token)}\n")
FILE.write_text("".join(lines), encoding="utf-8", newline="\n")
tokenizer = reference.TRIE_TOKENIZER(FILE)
golden = [{"text": text, "ids": tokenizer.encode(text) if text else []} for text in TEXTS]
assert all(tokenizer.decode(sample["ids"]) == sample["text"] for sample in golden)
(HERE / "golden.json").write_text("[\n" + ",\n".join(json.dumps(sample, ensure_ascii=False) for sample in golden) + "\n]\n", encoding="utf-8")
(HERE / "tokenizer_config.json").write_text(json.dumps({
    "add_bos_token": False, "add_prefix_space": False, "clean_up_tokenization_spaces": False, "tokenizer_class": "RwkvTokenizer",
    "added_tokens_decoder": {"0": {"content": "<|rwkv_tokenizer_end_of_text|>", "lstrip": False, "normalized": False, "rstrip": False,
                                   "single_word": False, "special": True}},
    "bos_token": "<|rwkv_tokenizer_end_of_text|>", "eos_token": "<|rwkv_tokenizer_end_of_text|>", "unk_token": "<|rwkv_tokenizer_end_of_text|>",
}, indent=1) + "\n")
