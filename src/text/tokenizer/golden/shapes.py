"""The shapes of published tokenizers, each trained small. A shape writes the files of a checkpoint's folder."""
import json
import os

import patterns
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers


def write(folder, name, value):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        json.dump(value, file, ensure_ascii=False, separators=(",", ":"))


def save(folder, tokenizer, config, change=None):
    """tokenizer.json without white space, after `change`, and tokenizer_config.json."""
    value = json.loads(tokenizer.to_str())
    if change:
        change(value)
    write(folder, "tokenizer.json", value)
    write(folder, "tokenizer_config.json", config)


def special(content, **flags):
    return AddedToken(content, **{"normalized": False, "special": True, **flags})


def train_byte_level(lines, size, pre_tokenizer, tokens, normalizer=None, words=()):
    """`words`: further tokens that no merge makes, which only ignore_merges finds."""
    tokenizer = Tokenizer(models.BPE())
    if normalizer:
        tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    trainer = trainers.BpeTrainer(vocab_size=size, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    tokenizer.train_from_iterator(lines, trainer)
    if words:
        value = json.loads(tokenizer.to_str())
        value["model"]["ignore_merges"] = True
        for word in words:
            value["model"]["vocab"].setdefault(word, len(value["model"]["vocab"]))
        tokenizer = Tokenizer.from_str(json.dumps(value))
    tokenizer.add_tokens(tokens)
    return tokenizer


def split(*regexes):
    steps = [pre_tokenizers.Split(Regex(r), "isolated") for r in regexes]
    return pre_tokenizers.Sequence(steps + [pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def gpt2(folder, lines):
    tokenizer = train_byte_level(lines, 900, pre_tokenizers.ByteLevel(add_prefix_space=False), [special("<|endoftext|>")])
    save(folder, tokenizer, {"tokenizer_class": "GPT2Tokenizer", "add_prefix_space": False, "model_max_length": 1024})


def llama3(folder, lines):
    tokens = [special(t) for t in ("<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<|reserved_special_token_0|>")]
    words = ["Ġthirteen", "ĠQX", "ä½łå¥½", "Ġcamel", "ĠĠĠĠĠĠĠ", "HTTPServer", "123"]
    tokenizer = train_byte_level(lines, 900, split(patterns.LLAMA3), tokens, words=words)
    bos = tokenizer.token_to_id("<|begin_of_text|>")
    template = processors.TemplateProcessing(single="<|begin_of_text|> $A", pair="<|begin_of_text|> $A <|begin_of_text|>:1 $B:1", special_tokens=[("<|begin_of_text|>", bos)])
    tokenizer.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), template])
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<|begin_of_text|>", "eos_token": "<|eot_id|>", "clean_up_tokenization_spaces": True, "add_bos_token": False,
              "model_input_names": ["input_ids", "attention_mask"]}
    save(folder, tokenizer, config)


def qwen2(folder, lines):
    tokens = [special("<|endoftext|>"), special("<|im_start|>"), special("<|im_end|>"), AddedToken("<tool_call>", normalized=False), AddedToken("</tool_call>", normalized=False)]
    tokenizer = train_byte_level(lines, 900, split(patterns.QWEN2), tokens, normalizers.NFC())
    decoder = {str(tokenizer.token_to_id(t.content)): {"content": t.content, "lstrip": False, "normalized": False, "rstrip": False, "single_word": False, "special": t.special} for t in tokens}
    config = {"tokenizer_class": "Qwen2Tokenizer", "bos_token": None, "eos_token": "<|im_end|>", "pad_token": "<|endoftext|>", "unk_token": None, "add_bos_token": False, "add_prefix_space": False,
              "additional_special_tokens": ["<|im_start|>", "<|im_end|>"], "added_tokens_decoder": decoder, "clean_up_tokenization_spaces": False, "split_special_tokens": False, "errors": "replace"}
    save(folder, tokenizer, config)


def tekken(folder, lines):
    tokens = [special(t) for t in ("<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[TOOL_CALLS]")]
    tokenizer = train_byte_level(lines, 900, split(patterns.TEKKEN), tokens, words=["ĠSerVer", "ãģĵãĤĵ", "!!//"])
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", tokenizer.token_to_id("<s>"))])
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "add_bos_token": True, "add_eos_token": False}
    save(folder, tokenizer, config)


def deepseek(folder, lines):
    tokens = [special("<｜begin▁of▁sentence｜>"), special("<｜end▁of▁sentence｜>"), AddedToken("<｜fim▁hole｜>", normalized=False)]
    tokenizer = train_byte_level(lines, 900, split(*patterns.DEEPSEEK_CODER), tokens)
    config = {"tokenizer_class": "LlamaTokenizerFast", "bos_token": {"__type": "AddedToken", "content": "<｜begin▁of▁sentence｜>", "lstrip": False, "normalized": True, "rstrip": False, "single_word": False},
              "eos_token": {"__type": "AddedToken", "content": "<｜end▁of▁sentence｜>", "lstrip": False, "normalized": True, "rstrip": False, "single_word": False},
              "pad_token": None, "unk_token": None, "add_bos_token": True, "add_eos_token": False, "legacy": True, "clean_up_tokenization_spaces": False}
    save(folder, tokenizer, config)


def bert(folder, lines):
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer.train_from_iterator(lines, trainers.WordPieceTrainer(vocab_size=1500, special_tokens=names, show_progress=False))
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    save(folder, tokenizer, {"tokenizer_class": "BertTokenizer", "do_lower_case": True, "mask_token": {"__type": "AddedToken", "content": "[MASK]", "lstrip": True, "normalized": False, "rstrip": False, "single_word": False, "special": True}})


def bert_cased(folder, lines):
    """tokenizer_config.json overrules the normalizer of the file."""
    bert(folder, lines)
    write(folder, "tokenizer_config.json", {"tokenizer_class": "BertTokenizer", "do_lower_case": False, "strip_accents": False, "tokenize_chinese_chars": False})


def slow(folder, lines, config):
    with open(os.path.join(folder, "tokenizer.json"), encoding="utf-8") as file:
        model = json.load(file)["model"]
    os.remove(os.path.join(folder, "tokenizer.json"))
    write(folder, "vocab.json", model["vocab"])
    with open(os.path.join(folder, "merges.txt"), "w", encoding="utf-8") as file:
        file.write("#version: 0.2\n" + "".join(f"{a} {b}\n" for a, b in model["merges"]))
    write(folder, "tokenizer_config.json", config)


def gpt2_slow(folder, lines):
    """vocab.json and merges.txt, the older side files, and a BOS."""
    gpt2(folder, lines)
    slow(folder, lines, {"tokenizer_class": "GPT2Tokenizer", "add_bos_token": True, "add_prefix_space": True})
    vocab_path = os.path.join(folder, "vocab.json")
    with open(vocab_path, encoding="utf-8") as file:
        vocab = json.load(file)
    vocab["<|endoftext|>"] = len(vocab)
    write(folder, "vocab.json", vocab)
    write(folder, "added_tokens.json", {"<|extra|>": len(vocab), " dogs": len(vocab) + 1})
    write(folder, "special_tokens_map.json", {"bos_token": "<|endoftext|>", "eos_token": {"content": "<|endoftext|>", "lstrip": False, "normalized": True, "rstrip": False, "single_word": False}, "unk_token": "<|endoftext|>",
                                              "additional_special_tokens": ["<|extra|>"]})


def qwen2_slow(folder, lines):
    qwen2(folder, lines)
    with open(os.path.join(folder, "tokenizer_config.json"), encoding="utf-8") as file:
        config = json.load(file)
    slow(folder, lines, config)


SHAPES = {"bert": bert, "bert_cased": bert_cased, "gpt2_slow": gpt2_slow, "qwen2_slow": qwen2_slow, "gpt2": gpt2, "llama3": llama3, "qwen2": qwen2, "tekken": tekken, "deepseek": deepseek}
