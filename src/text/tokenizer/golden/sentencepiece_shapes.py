"""Shapes that come from SentencePiece: trained by its own trainer, and written as model files or as tokenizer.json."""
import os
import tempfile

import sentencepiece
from shapes import special, write
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers


def train(folder, lines, name="tokenizer.model", **options):
    with tempfile.TemporaryDirectory() as scratch:
        text = os.path.join(scratch, "text")
        with open(text, "w", encoding="utf-8") as file:
            file.write("\n".join(line.replace("\n", " ").replace("\x00", "") for line in lines))
        sentencepiece.SentencePieceTrainer.Train(input=text, model_prefix=os.path.join(scratch, "m"), minloglevel=2, num_threads=1, **options)
        os.replace(os.path.join(scratch, "m.model"), os.path.join(folder, name))


LLAMA = dict(model_type="bpe", byte_fallback=True, vocab_size=1300, split_digits=True, normalization_rule_name="identity", remove_extra_whitespaces=False, character_coverage=0.99, max_sentence_length=100000)


def llama_model(folder, lines):
    """A folder without tokenizer.json, legacy."""
    train(folder, lines, user_defined_symbols=["[INST]", "▁▁▁▁"], **LLAMA)
    write(folder, "tokenizer_config.json", {"tokenizer_class": "LlamaTokenizer", "add_bos_token": True, "add_eos_token": False, "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": None})


def llama_model_new(folder, lines):
    """The same, not legacy, with EOS."""
    llama_model(folder, lines)
    write(folder, "tokenizer_config.json", {"tokenizer_class": "LlamaTokenizer", "legacy": False, "add_bos_token": True, "add_eos_token": True, "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"})


def via_model(folder, lines, shape, config):
    """tokenizer.json as transformers converts a model, with another configuration beside it."""
    from transformers import AutoTokenizer

    with tempfile.TemporaryDirectory() as scratch:
        shape(scratch, lines)
        AutoTokenizer.from_pretrained(scratch).backend_tokenizer.save(os.path.join(folder, "tokenizer.json"), pretty=False)
    write(folder, "tokenizer_config.json", config)


def llama2(folder, lines):
    via_model(folder, lines, llama_model, {"tokenizer_class": "LlamaTokenizer", "add_bos_token": False, "bos_token": {"__type": "AddedToken", "content": "<s>", "lstrip": False, "normalized": False, "rstrip": False, "single_word": False},
                                           "eos_token": "</s>", "unk_token": "<unk>", "legacy": None, "clean_up_tokenization_spaces": False})


def mistral(folder, lines):
    """As Phi-3: tokens that take white space behind them, and a class that leaves the post-processor alone."""
    decoder = {"1300": {"content": "<|user|>", "lstrip": False, "normalized": False, "rstrip": True, "single_word": False, "special": True},
               "1301": {"content": "<|end|>", "lstrip": True, "normalized": False, "rstrip": False, "single_word": False, "special": True},
               "1302": {"content": "dogs", "lstrip": False, "normalized": True, "rstrip": False, "single_word": True, "special": False},
               "1303": {"content": "Hello", "lstrip": False, "normalized": False, "rstrip": False, "single_word": True, "special": False}}
    via_model(folder, lines, llama_model_new, {"tokenizer_class": "PreTrainedTokenizerFast", "add_bos_token": False, "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "added_tokens_decoder": decoder})


def gemma(folder, lines):
    train(folder, lines, user_defined_symbols=["<start_of_turn>", "<end_of_turn>", "\n\n", "\n\n\n", "▁▁", "▁▁▁"], pad_id=0, eos_id=1, bos_id=2, unk_id=3, eos_piece="<eos>", bos_piece="<bos>", add_dummy_prefix=False, allow_whitespace_only_pieces=True,
          split_by_number=True, **LLAMA)
    write(folder, "tokenizer_config.json", {"tokenizer_class": "GemmaTokenizer", "add_bos_token": True, "add_eos_token": False, "bos_token": "<bos>", "eos_token": "<eos>", "pad_token": "<pad>", "unk_token": "<unk>",
                                            "additional_special_tokens": ["<start_of_turn>", "<end_of_turn>"]})


def t5(folder, lines):
    rules = []
    for rule in ("e9>65", "fb01>66 69", "ff21>41", "ff11>31", "2126>3a9", "1f468 200d>1f4bb", "301>", "a0>20", "3000>20", "9>20", "a>20", "d>20", "200b>20", "ad>", "65 301>65", "304b 3099>304c", "1100 1161>ac00", "df>73 73", "2026>2e 2e 2e", "ff01>21", "2160>49", "1>", "7f>",
                 "6f 323>6f", "1ead>61", "61 308>e4"):
        rules.append(rule.replace(">", "\t"))
    with tempfile.TemporaryDirectory() as scratch:
        tsv = os.path.join(scratch, "rules.tsv")
        with open(tsv, "w", encoding="utf-8") as file:
            file.write("\n".join(rules) + "\n")
        train(folder, lines, name="spiece.model", model_type="unigram", vocab_size=1200, normalization_rule_tsv=tsv, pad_id=0, eos_id=1, unk_id=2, bos_id=-1, character_coverage=0.99, max_sentence_length=100000)
    write(folder, "tokenizer_config.json", {"tokenizer_class": "T5Tokenizer", "extra_ids": 10, "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>", "model_max_length": 512})


def t5_json(folder, lines):
    via_model(folder, lines, t5, {"tokenizer_class": "T5TokenizerFast", "extra_ids": 10, "additional_special_tokens": [f"<extra_id_{i}>" for i in range(10)]})


SHAPES = {"llama_model": llama_model, "llama_model_new": llama_model_new, "llama2": llama2, "mistral": mistral, "gemma": gemma, "t5": t5, "t5_json": t5_json}


# Models that SentencePiece itself answers for.
SENTENCEPIECE = {
    "spm_bpe": dict(model_type="bpe", byte_fallback=True, vocab_size=900, normalization_rule_name="identity", remove_extra_whitespaces=False, character_coverage=0.99),
    "spm_bpe_unk": dict(model_type="bpe", vocab_size=600, normalization_rule_name="identity", remove_extra_whitespaces=False, character_coverage=0.98),
    "spm_unigram": dict(model_type="unigram", vocab_size=900, character_coverage=0.99),
}


def golden_ids(folder):
    processor = sentencepiece.SentencePieceProcessor(model_file=os.path.join(folder, "sentencepiece.model"))
    return processor.encode
