"""The shapes of tokenizers that few families have, each trained small."""
from patterns import DEEPSEEK_LLM, DEEPSEEK_V3_SEQUENCE, LLAMA3, O200K
from shapes import save, special, split, train_byte_level
from tokenizers import AddedToken, Regex, normalizers, pre_tokenizers, processors


def o200k(folder, lines):
    """gpt-oss."""
    tokens = [special(t) for t in ("<|startoftext|>", "<|endoftext|>", "<|return|>", "<|start|>", "<|end|>", "<|message|>", "<|channel|>")]
    tokenizer = train_byte_level(lines, 900, split(O200K), tokens)
    save(folder, tokenizer, {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<|startoftext|>", "eos_token": "<|return|>", "pad_token": "<|endoftext|>", "clean_up_tokenization_spaces": False})


def cohere(folder, lines):
    """Command R: NFC, single digits, GPT-2's pattern; the class adds BOS."""
    steps = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)])
    tokens = [special(t) for t in ("<PAD>", "<UNK>", "<BOS_TOKEN>", "<EOS_TOKEN>", "<|START_OF_TURN_TOKEN|>", "<|END_OF_TURN_TOKEN|>")] + [AddedToken("<|USER_TOKEN|>", normalized=False)]
    tokenizer = train_byte_level(lines, 900, steps, tokens, normalizers.NFC())
    save(folder, tokenizer, {"tokenizer_class": "CohereTokenizer", "add_bos_token": True, "add_eos_token": False, "add_prefix_space": False, "bos_token": "<BOS_TOKEN>", "eos_token": "<|END_OF_TURN_TOKEN|>", "pad_token": "<PAD>", "unk_token": None,
                             "clean_up_tokenization_spaces": False, "legacy": True, "use_default_system_prompt": False})


def deepseek_tokens():
    return [special("<｜begin▁of▁sentence｜>"), special("<｜end▁of▁sentence｜>"), AddedToken("<｜User｜>", normalized=False)]


def deepseek_config(**more):
    token = {"__type": "AddedToken", "lstrip": False, "normalized": True, "rstrip": False, "single_word": False}
    return {"tokenizer_class": "LlamaTokenizerFast", "bos_token": {**token, "content": "<｜begin▁of▁sentence｜>"}, "eos_token": {**token, "content": "<｜end▁of▁sentence｜>"}, "unk_token": None, "add_bos_token": True, "add_eos_token": False, "legacy": True,
            "clean_up_tokenization_spaces": False, **more}


def deepseek_llm(folder, lines):
    """DeepSeek 1 and 2: letters with case, wide punctuation, white space at the end, East Asian runs, single digits."""
    steps = [pre_tokenizers.Split(Regex(r), "isolated") for r in DEEPSEEK_LLM]
    steps += [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    save(folder, train_byte_level(lines, 900, pre_tokenizers.Sequence(steps), deepseek_tokens()), deepseek_config())


def deepseek_v3(folder, lines):
    save(folder, train_byte_level(lines, 900, split(*DEEPSEEK_V3_SEQUENCE), deepseek_tokens()), deepseek_config(legacy=False))


def glm4(folder, lines):
    """Two tokens in front."""
    tokens = [special(t) for t in ("<|endoftext|>", "[MASK]", "[gMASK]", "[sMASK]", "<sop>", "<eop>", "<|system|>", "<|user|>", "<|assistant|>", "<|observation|>")]
    tokenizer = train_byte_level(lines, 900, split(LLAMA3), tokens)
    front = [(t, tokenizer.token_to_id(t)) for t in ("[gMASK]", "<sop>")]
    template = processors.TemplateProcessing(single="[gMASK] <sop> $A", pair="[gMASK] <sop> $A:0 $B:1", special_tokens=front)
    tokenizer.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), template])
    save(folder, tokenizer, {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|endoftext|>", "pad_token": "<|endoftext|>", "clean_up_tokenization_spaces": False, "do_lower_case": False, "padding_side": "left", "remove_space": False})


def neox(folder, lines):
    """StableLM 3B: NFC and GPT-2's pattern, no BOS."""
    tokens = [special("<|endoftext|>"), special("<|padding|>"), AddedToken("    ", normalized=True), AddedToken("  ", normalized=True)]
    tokenizer = train_byte_level(lines, 900, pre_tokenizers.ByteLevel(add_prefix_space=False), tokens, normalizers.NFC())
    save(folder, tokenizer, {"tokenizer_class": "GPTNeoXTokenizer", "add_prefix_space": False, "bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>", "unk_token": "<|endoftext|>", "clean_up_tokenization_spaces": True})


SHAPES = {"o200k": o200k, "cohere": cohere, "deepseek_llm": deepseek_llm, "deepseek_v3": deepseek_v3, "glm4": glm4, "neox": neox}
